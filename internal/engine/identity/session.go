package identity

import (
	"context"
	"slices"
	"time"

	"remit/internal/contract"
)

// EndSession ends the session with this ID and returns it. The error is a contract.NotFound if no
// valid session has it, or a contract.Unavailable.
func (s *SignIn) EndSession(ctx context.Context, id string) (Session, error) {
	list, err := s.People(ctx)
	if err != nil {
		return Session{}, err
	}
	i := slices.IndexFunc(list, func(one Session) bool { return one.ID() == id })
	if i < 0 {
		return Session{}, contract.Errorf(contract.NotFound, "There is no such session; it may have ended already")
	}
	store, _, err := s.open(ctx, "session")
	if err != nil {
		return Session{}, err
	}
	return list[i], s.endHash(ctx, store, list[i].Hash)
}

// endHash ends the session with a hash, and keeps a restored database from reviving it.
func (s *SignIn) endHash(ctx context.Context, store SessionStore, hash string) error {
	if err := store.End(ctx, hash); err != nil {
		return unreachable(err)
	}
	if s.Anchor != nil {
		now := s.Now()
		if _, err := s.Anchor.End(ctx, anchorSession+hash, now, now.Add(SessionLength)); err != nil {
			return unreachable(err)
		}
	}
	return nil
}

// good reports whether the session is valid: it was begun here, and has not ended.
func (s *Session) good(key []byte, now time.Time) bool {
	return equal(s.Seal, s.seal(key)) && !s.Expired(now)
}

// seal binds the person and the role to the session, and the session to the key.
func (s *Session) seal(key []byte) string {
	return Seal(key, "session", s.Hash, s.Name, s.Role.String(), instant(s.Created), instant(s.Expires))
}

// How long a session at the console lasts.
const (
	SessionLength = 12 * time.Hour // from signing in
	SessionIdle   = 2 * time.Hour  // from the last request
)

// Session is the session of a person at the console.
type Session struct {
	Hash    string // of the cookie, which is not stored
	Name    string
	Role    Role
	Created time.Time
	Expires time.Time // even if the person stays active
	Seen    time.Time // to a minute
	Seal    string    // proves that the person signed in here, because a database can be copied
}

// Person returns who signed in.
func (s Session) Person() Person { return Person{Name: s.Name, Role: s.Role} }

// ID returns a short name of the session for pages. It is the beginning of the hash of the cookie,
// from which nobody can compute the cookie.
func (s Session) ID() string { return s.Hash[:min(len(s.Hash), 16)] }

// Expired reports whether the session has expired.
func (s Session) Expired(now time.Time) bool {
	return !now.Before(s.Expires) || !now.Before(s.Seen.Add(SessionIdle))
}

// SessionStore stores sessions. What a method has acknowledged survives a crash. Every method is
// safe for concurrent use, also by several processes. An error means that the store failed.
type SessionStore interface {
	// Add stores a session, and deletes those that have expired at s.Created.
	Add(ctx context.Context, s Session) error

	// ByHash returns the session with this hash; false if there is none.
	ByHash(ctx context.Context, hash string) (Session, bool, error)

	// List returns all sessions, newest first.
	List(ctx context.Context) ([]Session, error)

	// Touch notes that a session was used, if that is later than the last time. It does not restore
	// a session that has ended.
	Touch(ctx context.Context, hash string, now time.Time) error

	// End deletes a session. It does nothing if there is none.
	End(ctx context.Context, hash string) error

	// Void voids the links of a person that were made until then, and deletes the notes about
	// others from before forget.
	Void(ctx context.Context, whose string, until, forget time.Time) error

	// Voided returns the time until which links of any of these are void; the zero time if there is
	// none.
	Voided(ctx context.Context, whose ...string) (time.Time, error)
}
