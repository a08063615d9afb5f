package identity

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"remit/internal/contract"
)

// SignIn lets people in at the console: with a link that is good once, and then by a
// cookie.
type SignIn struct {
	Sessions func(context.Context) (SessionStore, error)
	Exists   func() bool            // the database was ever made: to look leaves no trace; nil if it was
	Secret   func() ([]byte, error) // links, cookies and sessions are signed with it
	Place    string                 // the workspace that links are for
	// Spend uses up a token until it expires anyway. It is fresh for one alone.
	Spend func(ctx context.Context, token string, now, expires time.Time) (fresh bool, err error)
	Now   func() time.Time
}

// longestLink is how long a link may be good. It opens the console to whoever finds
// it first.
const longestLink = 7 * 24 * time.Hour

// invitation is what a link says.
type invitation struct {
	Name    string `json:"n"`
	Role    Role   `json:"r"`
	Made    int64  `json:"m"` // Unix microseconds
	Expires int64  `json:"e"` // Unix seconds
	Nonce   string `json:"o"`
}

// Link makes a one-time token for somebody, good for so long. Nothing is kept: all is
// in the token, signed. The error is a contract.Invalid.
func (s *SignIn) Link(who Person, good time.Duration) (token string, err error) {
	if err := CheckName(who.Name); err != nil {
		return "", err
	}
	if who.Name == Everybody {
		return "", contract.Errorf(contract.Invalid, "The name %q stands for everybody; choose another", Everybody)
	}
	if who.Role < Viewer || who.Role > Admin {
		return "", contract.Errorf(contract.Invalid, "A person at the console is a viewer, an approver or an admin")
	}
	if good < time.Second || good > longestLink {
		return "", contract.Errorf(contract.Invalid, "A link is good for a second to %d days, not for %s", int(longestLink.Hours()/24), good)
	}
	key, err := s.key("link")
	if err != nil {
		return "", err
	}
	now := s.Now()
	text, err := json.Marshal(invitation{Name: who.Name, Role: who.Role, Made: now.UnixMicro(), Expires: now.Add(good).Unix(), Nonce: rand.Text()})
	if err != nil {
		return "", fmt.Errorf("write a link: %w", err)
	}
	body := encoded(text)
	return body + "." + encoded(macOf(key, body)), nil
}

// badLink is a link that lets nobody in. The page says how to get another.
func badLink(why string) error {
	return contract.Errorf(contract.Denied, "This link %s", why)
}

// read is what a link says, if it was made here and is not over.
func (s *SignIn) read(token string) (invitation, error) {
	const altered = "was altered, cut off, or made for another workspace"
	key, err := s.key("link")
	if err != nil {
		return invitation{}, err
	}
	body, mac, _ := strings.Cut(token, ".")
	if !same(mac, encoded(macOf(key, body))) {
		return invitation{}, badLink(altered)
	}
	text, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil {
		return invitation{}, fmt.Errorf("read a link that was signed: %w", err)
	}
	var says invitation
	if err := json.Unmarshal(text, &says); err != nil {
		return invitation{}, fmt.Errorf("read a link that was signed: %w", err)
	}
	if s.Now().Unix() >= says.Expires {
		return invitation{}, badLink("has expired")
	}
	return says, nil
}

// Redeem exchanges a one-time token for a session, whose secret is the cookie. An
// error is a contract.Denied: the token is not ours, was used, or has expired; or a
// contract.Unavailable.
func (s *SignIn) Redeem(ctx context.Context, token string) (cookie string, who Person, expires time.Time, err error) {
	fail := func(err error) (string, Person, time.Time, error) { return "", Person{}, time.Time{}, err }
	says, err := s.read(token)
	if err != nil {
		return fail(err)
	}
	now := asKept(s.Now())
	fresh, err := s.Spend(ctx, "sign-in "+says.Nonce, now, time.Unix(says.Expires, 0))
	switch {
	case err != nil:
		return fail(unreachable(err))
	case !fresh:
		return fail(badLink("was used already"))
	}
	store, key, err := s.open(ctx, "session")
	if err != nil {
		return fail(err)
	}
	cookie = randomText()
	begun := Session{Hash: hashOf(key, cookie), Name: says.Name, Role: says.Role, Created: now, Seen: now, Expires: now.Add(SessionLength)}
	begun.Seal = begun.seal(key)
	if err := store.Add(ctx, begun); err != nil {
		return fail(unreachable(err))
	}
	// Now, and not before: SignOut notes this before it looks for sessions, so one of the two sees the other.
	if err := s.checkVoid(ctx, store, says); err != nil {
		return fail(errors.Join(err, store.End(ctx, begun.Hash)))
	}
	return cookie, begun.Person(), begun.Expires, nil
}

// checkVoid fails if the person was signed out after the link had been made.
func (s *SignIn) checkVoid(ctx context.Context, store SessionStore, says invitation) error {
	key, err := s.key("void")
	if err != nil {
		return err
	}
	until, err := store.Voided(ctx, hashOf(key, says.Name), hashOf(key, Everybody))
	switch {
	case err != nil:
		return unreachable(err)
	case says.Made <= until.UnixMicro() && !until.IsZero():
		return badLink("is void: its person was signed out since it was made")
	}
	return nil
}

// touchEvery is how often at most it is noted that a person is there.
const touchEvery = time.Minute

// Person is who holds a cookie, and notes that they are there. An error is a
// contract.Denied, or a contract.Unavailable.
func (s *SignIn) Person(ctx context.Context, cookie string) (Person, error) {
	found, store, err := s.find(ctx, cookie)
	if err != nil {
		return Person{}, err
	}
	if now := s.Now(); now.Sub(found.Seen) >= touchEvery {
		_ = store.Touch(ctx, found.Hash, now) // the next request tries again; nobody is sent away for it
	}
	return found.Person(), nil
}

// Look is Person for a request that no person made: a page that refreshes itself keeps
// no session alive.
func (s *SignIn) Look(ctx context.Context, cookie string) (Person, error) {
	found, _, err := s.find(ctx, cookie)
	return found.Person(), err
}

// find is the session of a cookie, and where it is kept.
func (s *SignIn) find(ctx context.Context, cookie string) (Session, SessionStore, error) {
	out := contract.Errorf(contract.Denied, "You are not signed in, or your session has ended")
	store, key, err := s.sessions(ctx, cookie)
	if err != nil {
		return Session{}, nil, err
	}
	if store == nil {
		return Session{}, nil, out
	}
	hash := hashOf(key, cookie)
	found, ok, err := store.ByHash(ctx, hash)
	switch {
	case err != nil:
		return Session{}, nil, unreachable(err)
	case !ok || !same(found.Hash, hash) || !found.good(key, s.Now()):
		return Session{}, nil, out
	}
	return found, store, nil
}

// End ends the session of a cookie. One that has ended stays so.
func (s *SignIn) End(ctx context.Context, cookie string) error {
	store, key, err := s.sessions(ctx, cookie)
	if err != nil || store == nil {
		return err
	}
	if err := store.End(ctx, hashOf(key, cookie)); err != nil {
		return unreachable(err)
	}
	return nil
}

// People are the sessions that let somebody in now, the newest first.
func (s *SignIn) People(ctx context.Context) ([]Session, error) {
	store, key, err := s.existing(ctx)
	if err != nil || store == nil {
		return nil, err
	}
	list, err := store.List(ctx)
	if err != nil {
		return nil, unreachable(err)
	}
	now := s.Now()
	return slices.DeleteFunc(list, func(one Session) bool { return !one.good(key, now) }), nil
}

// Everybody stands for the names of all people.
const Everybody = "*"

// SignOut ends all sessions of the person with this name, or of Everybody, and tells how
// many; links that were not used yet are void. Those of another workspace are not ours to
// end. An error is a contract.Invalid or a contract.Unavailable.
func (s *SignIn) SignOut(ctx context.Context, name string) (ended int, err error) {
	if err := CheckName(name); err != nil {
		return 0, err
	}
	store, key, err := s.open(ctx, "void")
	if err != nil {
		return 0, err
	}
	now := s.Now()
	if err := store.Void(ctx, hashOf(key, name), now, now.Add(-longestLink)); err != nil {
		return 0, unreachable(err)
	}
	list, err := s.People(ctx)
	if err != nil {
		return 0, err
	}
	for i := range list {
		if name != Everybody && list[i].Name != name {
			continue
		}
		if err := store.End(ctx, list[i].Hash); err != nil {
			return ended, unreachable(err)
		}
		ended++
	}
	return ended, nil
}

// sessions opens what the session of a cookie is kept in, and the key to it; nil if
// there can be none.
func (s *SignIn) sessions(ctx context.Context, cookie string) (SessionStore, []byte, error) {
	if len(cookie) != randomChars {
		return nil, nil, nil
	}
	return s.existing(ctx)
}

// existing is open for sessions; nil if none was ever begun.
func (s *SignIn) existing(ctx context.Context) (SessionStore, []byte, error) {
	if s.Exists != nil && !s.Exists() {
		return nil, nil, nil
	}
	return s.open(ctx, "session")
}

// open opens what sessions are kept in, and gives the key for a purpose.
func (s *SignIn) open(ctx context.Context, purpose string) (SessionStore, []byte, error) {
	return open(ctx, s.Sessions, s.Secret, purpose, s.Place)
}

func (s *SignIn) key(purpose string) ([]byte, error) { return keyOf(s.Secret, purpose, s.Place) }

// good tells whether the session lets its person in: it was begun here, and is not over.
func (s *Session) good(key []byte, now time.Time) bool {
	return same(s.Seal, s.seal(key)) && !s.Over(now)
}

// seal binds a person and their role to the session, and it to the key.
func (s *Session) seal(key []byte) string {
	return Seal(key, "session", s.Hash, s.Name, s.Role.String(), instant(s.Created), instant(s.Expires))
}

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
