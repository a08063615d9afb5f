package identity

import (
	"context"
	"time"
)

// How long a session at the console lasts.
const (
	SessionLength = 12 * time.Hour // from signing in
	SessionIdle   = 2 * time.Hour  // from the last request
)

// Session is a person's stay at the console.
type Session struct {
	Hash    string // of the cookie, which is kept nowhere
	Name    string
	Role    Role
	Created time.Time
	Expires time.Time // whatever the person does
	Seen    time.Time // to a minute
	Seal    string    // proves that the person signed in here: a database can be copied
}

// Person is who signed in.
func (s Session) Person() Person { return Person{Name: s.Name, Role: s.Role} }

// Over tells whether the session has ended by itself.
func (s Session) Over(now time.Time) bool {
	return !now.Before(s.Expires) || !now.Before(s.Seen.Add(SessionIdle))
}

// SessionStore keeps sessions. What a method has acknowledged survives a crash. Every
// method is safe for concurrent use, also by several processes. An error means that
// the store failed.
type SessionStore interface {
	// Add keeps a session, and forgets those that have expired at s.Created.
	Add(ctx context.Context, s Session) error

	// ByHash returns the session with this hash; false if there is none.
	ByHash(ctx context.Context, hash string) (Session, bool, error)

	// List returns all sessions, the newest first.
	List(ctx context.Context) ([]Session, error)

	// Touch notes that a session was used, if that is later than what is known. It
	// brings back none that has been ended.
	Touch(ctx context.Context, hash string, now time.Time) error

	// End forgets a session. One that is not there has ended already.
	End(ctx context.Context, hash string) error

	// Void notes that links of somebody are void if they were made until then, and forgets
	// what was noted of others before forget.
	Void(ctx context.Context, whose string, until, forget time.Time) error

	// Voided returns until when links of any of these are void; the zero time if nothing
	// was noted.
	Voided(ctx context.Context, whose ...string) (time.Time, error)
}
