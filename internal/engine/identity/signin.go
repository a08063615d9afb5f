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
	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
)

// SignIn signs people in at the console: first with a one-time link, and then with a cookie.
type SignIn struct {
	Sessions func(context.Context) (SessionStore, error)
	// Exists reports whether the database exists, so that reading does not create it; nil if it
	// does.
	Exists    func() bool
	Secret    func() ([]byte, error) // the key that signs links, cookies and sessions
	Workspace string                 // the workspace that links are for
	Anchor    Anchor                 // nil: none
	// UseOnce marks a one-time token as used until it expires. It returns fresh only for the first
	// call.
	UseOnce func(ctx context.Context, token string, now, expires time.Time) (fresh bool, err error)
	Now     func() time.Time
}

// maxLinkLifetime is the longest lifetime of a link, which opens the console to whoever finds it
// first.
const maxLinkLifetime = 7 * 24 * time.Hour

// linkClaims is the content of a link.
type linkClaims struct {
	Name    string `json:"n"`
	Role    Role   `json:"r"`
	Made    int64  `json:"m"` // Unix microseconds
	Expires int64  `json:"e"` // Unix seconds
	Nonce   string `json:"o"`
}

// Link returns a one-time token for a person with this lifetime. Nothing is stored: the token
// contains everything, signed. The error is a contract.Invalid.
func (s *SignIn) Link(who Person, good time.Duration) (token string, err error) {
	if err := CheckName(who.Name); err != nil {
		return "", err
	}
	if who.Name == Everybody {
		return "", contract.Errorf(contract.Invalid, "The name %q is reserved; choose another", Everybody)
	}
	if who.Role < Viewer || who.Role > Admin {
		return "", contract.Errorf(contract.Invalid, "A person at the console is a viewer, an approver or an admin")
	}
	if good < time.Second || good > maxLinkLifetime {
		return "", contract.Errorf(contract.Invalid, "A link must be valid for 1 second to %d days, not for %s",
			int(maxLinkLifetime.Hours()/24), good)
	}
	key, err := s.key("link")
	if err != nil {
		return "", err
	}
	now := s.Now()
	text, err := json.Marshal(linkClaims{
		Name: who.Name, Role: who.Role, Made: now.UnixMicro(), Expires: now.Add(good).Unix(),
		Nonce: rand.Text(),
	})
	if err != nil {
		return "", fmt.Errorf("encode link: %w", err)
	}
	body := encoded(text)
	return body + "." + encoded(macOf(key, body)), nil
}

// badLink returns the error for a link that is not accepted. The page says how to get another.
func badLink(why string) error {
	return contract.Errorf(contract.Denied, "This link %s", why)
}

// read returns the content of a link, if it was made here and has not expired.
func (s *SignIn) read(token string) (linkClaims, error) {
	const altered = "was altered, cut off, or made for another workspace"
	key, err := s.key("link")
	if err != nil {
		return linkClaims{}, err
	}
	body, mac, _ := strings.Cut(token, ".")
	if !equal(mac, encoded(macOf(key, body))) {
		return linkClaims{}, badLink(altered)
	}
	text, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil {
		return linkClaims{}, fmt.Errorf("decode signed link: %w", err)
	}
	var claims linkClaims
	if err := json.Unmarshal(text, &claims); err != nil {
		return linkClaims{}, fmt.Errorf("decode signed link: %w", err)
	}
	if s.Now().Unix() >= claims.Expires {
		return linkClaims{}, badLink("has expired")
	}
	return claims, nil
}

// Peek returns the person whom a one-time token signs in. It neither uses the token nor checks
// whether it was used. The error is a contract.Denied if the token is not ours or has expired.
func (s *SignIn) Peek(token string) (Person, error) {
	claims, err := s.read(token)
	return Person{Name: claims.Name, Role: claims.Role}, err
}

// Redeem exchanges a one-time token for a session, whose secret is the cookie. The error is a
// contract.Denied if the token is not ours, was used, or has expired, or a contract.Unavailable.
func (s *SignIn) Redeem(ctx context.Context, token string) (cookie string, who Person, expires time.Time, err error) {
	fail := func(err error) (string, Person, time.Time, error) { return "", Person{}, time.Time{}, err }
	claims, err := s.read(token)
	if err != nil {
		return fail(err)
	}
	now := truncated(s.Now())
	fresh, err := s.UseOnce(ctx, "sign-in "+claims.Nonce, now, time.Unix(claims.Expires, 0))
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
	begun := Session{
		Hash: hashOf(key, cookie), Name: claims.Name, Role: claims.Role, Created: now, Seen: now,
		Expires: now.Add(SessionLength),
	}
	begun.Seal = begun.seal(key)
	if err := s.checkVoid(ctx, store, claims); err != nil {
		return fail(err)
	}
	effect := audit.EffectFrom(ctx)
	effect.SetPrincipal(begun.Person().Principal())
	effect.Describe(jsontree.M("role", jsontree.Str(begun.Role.String())))
	if err := store.Add(ctx, begun); err != nil {
		return fail(unreachable(err))
	}
	// Once more: SignOut voids links before it ends sessions, so either this check sees the void
	// mark or SignOut sees the session.
	if err := s.checkVoid(ctx, store, claims); err != nil {
		return fail(errors.Join(err, store.End(ctx, begun.Hash)))
	}
	return cookie, begun.Person(), begun.Expires, nil
}

// checkVoid returns an error if the person was signed out after the link was made.
func (s *SignIn) checkVoid(ctx context.Context, store SessionStore, claims linkClaims) error {
	key, err := s.key("void")
	if err != nil {
		return err
	}
	until, err := store.Voided(ctx, hashOf(key, claims.Name), hashOf(key, Everybody))
	if err != nil {
		return unreachable(err)
	}
	anchored, err := s.voidUntil(claims.Name)
	if anchored.After(until) {
		until = anchored
	}
	switch {
	case err != nil:
		return err
	case claims.Made <= until.UnixMicro() && !until.IsZero():
		return badLink("is no longer valid: the person was signed out after it was created")
	}
	return nil
}

// touchEvery is the shortest interval between two notes that a person is active.
const touchEvery = time.Minute

// Person returns the holder of a cookie, and notes that they are active. The error is a
// contract.Denied or a contract.Unavailable.
func (s *SignIn) Person(ctx context.Context, cookie string) (Person, error) {
	found, store, err := s.find(ctx, cookie)
	if err != nil {
		return Person{}, err
	}
	if now := s.Now(); now.Sub(found.Seen) >= touchEvery {
		// The next request tries again; the person stays signed in.
		_ = store.Touch(ctx, found.Hash, now)
	}
	return found.Person(), nil
}

// PersonWithoutTouch is Person for a request that no person made: a page that refreshes itself does
// not keep a session alive.
func (s *SignIn) PersonWithoutTouch(ctx context.Context, cookie string) (Person, error) {
	found, _, err := s.find(ctx, cookie)
	return found.Person(), err
}

// find returns the session of a cookie, and its store.
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
	case !ok || !equal(found.Hash, hash) || !found.good(key, s.Now()):
		return Session{}, nil, out
	}
	ended, err := s.hasEnded(&found)
	switch {
	case err != nil:
		return Session{}, nil, err
	case ended:
		return Session{}, nil, out
	}
	return found, store, nil
}

// End ends the session of a cookie. It does nothing if the session has ended.
func (s *SignIn) End(ctx context.Context, cookie string) error {
	store, key, err := s.sessions(ctx, cookie)
	if err != nil || store == nil {
		return err
	}
	return s.endHash(ctx, store, hashOf(key, cookie))
}

// People returns the sessions that are valid now, newest first.
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
	list = slices.DeleteFunc(list, func(one Session) bool {
		ended, endedErr := s.hasEnded(&one)
		err = errors.Join(err, endedErr)
		return ended || !one.good(key, now)
	})
	return list, err
}

// Everybody stands for all people in SignOut.
const Everybody = "*"

// SignOut ends all sessions of the person with this name, or of Everybody, and returns how many.
// Links that were not used yet become void. Sessions of other workspaces go on. The error is a
// contract.Invalid or a contract.Unavailable.
func (s *SignIn) SignOut(ctx context.Context, name string) (ended int, err error) {
	if err := CheckName(name); err != nil {
		return 0, err
	}
	store, key, err := s.open(ctx, "void")
	if err != nil {
		return 0, err
	}
	now := s.Now()
	if err := store.Void(ctx, hashOf(key, name), now, now.Add(-maxLinkLifetime)); err != nil {
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
	// Last: the anchor hides the sessions from People.
	if s.Anchor != nil {
		if err := s.Anchor.Void(ctx, anchorLinks+name, now, now); err != nil {
			return ended, unreachable(err)
		}
	}
	return ended, nil
}

// sessions opens the store for the session of a cookie, and returns its key; nil if there can be no
// such session.
func (s *SignIn) sessions(ctx context.Context, cookie string) (SessionStore, []byte, error) {
	if len(cookie) != randomChars {
		return nil, nil, nil
	}
	return s.existing(ctx)
}

// existing opens the store of sessions; nil if there has never been a session.
func (s *SignIn) existing(ctx context.Context) (SessionStore, []byte, error) {
	if s.Exists != nil && !s.Exists() {
		return nil, nil, nil
	}
	return s.open(ctx, "session")
}

// open opens the store of sessions, and returns the key for a purpose.
func (s *SignIn) open(ctx context.Context, purpose string) (SessionStore, []byte, error) {
	return open(ctx, s.Sessions, s.Secret, purpose, s.Workspace, s.Anchor)
}

func (s *SignIn) key(purpose string) ([]byte, error) {
	return keyOf(s.Secret, purpose, s.Workspace, s.Anchor)
}
