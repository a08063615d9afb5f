package identity

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/ratelimit"
)

// Tokens issues and checks the tokens of agents.
type Tokens struct {
	Store  func(context.Context) (TokenStore, error)
	Exists func() bool            // the database was ever made: to look leaves no trace; nil if it was
	Secret func() ([]byte, error) // tokens are hashed and sealed with it; it is kept apart from them
	Place  string                 // the workspace that tokens are for: those of another let nobody in
	Now    func() time.Time

	mu    sync.Mutex
	noted map[string]time.Time // when the use of a token was last passed on, by id
}

// Create makes a token. The secret is given here and never again. An error is a
// contract.Invalid, a contract.Conflict if a live token has the name, or a
// contract.Limited if there are too many.
func (t *Tokens) Create(ctx context.Context, n NewToken) (secret string, made Token, err error) {
	now := asKept(t.Now())
	n.Expires = asKept(n.Expires)
	if err := n.check(now); err != nil {
		return "", Token{}, err
	}
	store, key, err := open(ctx, t.Store, t.Secret, forTokens, t.Place)
	if err != nil {
		return "", Token{}, err
	}
	secret = newSecret()
	made = Token{
		ID: NewID(), Name: n.Name, User: n.User, Scopes: n.Scopes, Rate: n.Rate, By: n.By,
		Created: now, Expires: n.Expires, Hash: hashOf(key, secret),
	}
	made.Seal = made.seal(key)
	if err := store.Add(ctx, made); err != nil {
		return "", Token{}, fmt.Errorf("create a token: %w", err)
	}
	return secret, made, nil
}

func (n *NewToken) check(now time.Time) error {
	if err := CheckName(n.Name); err != nil {
		return err
	}
	if err := checkUser(n.User); err != nil {
		return err
	}
	if len(n.Scopes) == 0 {
		return contract.Errorf(contract.Invalid, "A token needs at least one scope, such as tasks:read")
	}
	if n.Rate.Requests != 0 || n.Rate.Per != 0 {
		if err := n.Rate.Check(); err != nil {
			return contract.Errorf(contract.Invalid, "The rate of a token must be positive, such as 600/min").Because(err)
		}
	}
	if !n.Expires.IsZero() && !n.Expires.After(now) {
		return contract.Errorf(contract.Invalid, "The token would have expired at %s already", n.Expires.Format(time.RFC3339))
	}
	return nil
}

// Check finds the token of a secret. An error is a contract.Denied, which tells why
// only to one who has a secret that was good once; or a contract.Unavailable.
func (t *Tokens) Check(ctx context.Context, secret string) (Token, error) {
	if !wellFormed(secret) {
		return Token{}, contract.Errorf(contract.Denied, "The token is mistyped or cut off: it begins with %s and has %d characters", Prefix, len(Prefix)+randomChars+checkChars)
	}
	unknown := contract.Errorf(contract.Denied, "The token is unknown here; \"remit token create\" makes one")
	if !t.exists() {
		return Token{}, unknown
	}
	store, key, err := open(ctx, t.Store, t.Secret, forTokens, t.Place)
	if err != nil {
		return Token{}, err
	}
	hash := hashOf(key, secret)
	found, ok, err := store.ByHash(ctx, hash)
	switch {
	case err != nil:
		return Token{}, unreachable(err)
	case !ok || !same(found.Hash, hash):
		return Token{}, unknown
	}
	now := t.Now()
	if err := found.refusal(key, now); err != nil {
		return Token{}, err
	}
	t.note(ctx, store, &found, now)
	return found, nil
}

// refusal tells whoever has the secret why the token lets them in no more.
func (t *Token) refusal(key []byte, now time.Time) error {
	switch {
	case !same(t.Seal, t.seal(key)):
		return contract.Errorf(contract.Denied, "The token was altered, or made for another workspace; \"remit token create\" makes one")
	case !t.Revoked.IsZero():
		return contract.Errorf(contract.Denied, "The token %q was revoked at %s; \"remit token create\" makes another", t.Name, t.Revoked.Format(time.RFC3339))
	case t.Expired(now):
		return contract.Errorf(contract.Denied, "The token %q expired at %s; \"remit token create\" makes another", t.Name, t.Expires.Format(time.RFC3339))
	}
	return nil
}

// useEvery is how often at most it is noted that a token is used.
const useEvery = time.Minute

// note passes on that a token is used. That it could not be kept lets nobody wait or
// keeps them out: it is tried again a minute later.
func (t *Tokens) note(ctx context.Context, store TokenStore, used *Token, now time.Time) {
	if now.Sub(used.Used) < useEvery || !t.due(used.ID, now) {
		return
	}
	if store.Use(ctx, used.ID, now) == nil {
		used.Used = asKept(now)
	}
}

// due tells one of all who ask within a minute that the use of a token is to be noted.
func (t *Tokens) due(id string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if last, ok := t.noted[id]; ok && now.Sub(last) < useEvery {
		return false
	}
	if t.noted == nil || len(t.noted) > 2*MostTokens { // those of tokens that are long gone
		t.noted = map[string]time.Time{}
	}
	t.noted[id] = now
	return true
}

// List gives every token, also the revoked and the expired, newest first.
func (t *Tokens) List(ctx context.Context) ([]Token, error) {
	if !t.exists() {
		return nil, nil
	}
	store, err := t.Store(ctx)
	if err != nil {
		return nil, unreachable(err)
	}
	list, err := store.List(ctx)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	key, err := keyOf(t.Secret, forTokens, t.Place)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].Foreign = !same(list[i].Seal, list[i].seal(key))
	}
	return list, nil
}

// Any tells whether a token was ever made here. One that is revoked or has expired
// counts: that it is over must not open what was closed.
func (t *Tokens) Any(ctx context.Context) (bool, error) {
	list, err := t.List(ctx)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(list, func(one Token) bool { return !one.Foreign }), nil
}

// Revoke ends the token with this id or name for good. To revoke one again changes
// nothing. The error is a contract.NotFound if there is none.
func (t *Tokens) Revoke(ctx context.Context, idOrName string) (Token, error) {
	if !t.exists() {
		return Token{}, NoToken(idOrName)
	}
	store, err := t.Store(ctx)
	if err != nil {
		return Token{}, unreachable(err)
	}
	revoked, err := store.Revoke(ctx, idOrName, t.Now())
	if err != nil {
		return Token{}, fmt.Errorf("revoke a token: %w", err)
	}
	return revoked, nil
}

// NoToken is the error of stores for a token that is not there.
func NoToken(idOrName string) error {
	return contract.Errorf(contract.NotFound, "There is no token %q; \"remit token list\" shows those that there are", idOrName)
}

// NameTaken is the error of stores for a name that a live token has.
func NameTaken(name string) error {
	return contract.Errorf(contract.Conflict, "There is a token %q already; revoke it first, or choose another name", name)
}

func (t *Tokens) exists() bool { return t.Exists == nil || t.Exists() }

// forTokens is the purpose of the key of tokens.
const forTokens = "token"

func unreachable(err error) error {
	return contract.Errorf(contract.Unavailable, "Who calls cannot be checked right now; try again").Because(err)
}

// hashOf is what is kept of a secret. Who has the database but not the key cannot
// tell whether a guess is right.
func hashOf(key []byte, secret string) string { return Seal(key, "hash", secret) }

// seal binds the rights of a token to it, and it to the key.
func (t *Token) seal(key []byte) string {
	rate := strconv.Itoa(t.Rate.Requests) + "/" + strconv.FormatInt(int64(t.Rate.Per), 10)
	return Seal(key, "token", t.ID, t.Name, t.User, strings.Join(t.Scopes.List(), " "), rate, t.By, instant(t.Created), instant(t.Expires), t.Hash)
}

// NewToken is a token that is yet to be made.
type NewToken struct {
	Name    string // no other live token has it
	User    string // the one whose data it may name; AnyUser for all, "" for none
	Scopes  Scopes
	Rate    ratelimit.Rate // zero: none of its own
	Expires time.Time      // zero: never
	By      string         // who makes it
}

// Token is a token of an agent, without its secret.
type Token struct {
	ID, Name, User string
	Scopes         Scopes
	Rate           ratelimit.Rate // zero: none of its own
	By             string         // who made it
	Created        time.Time
	Expires        time.Time // zero: never
	Revoked        time.Time // zero: it is not
	Used           time.Time // to a minute; zero: never
	Hash           string    // of the secret, which is kept nowhere
	Seal           string    // proves that the token was made here: a database can be copied
	Foreign        bool      // the seal is not ours, so it lets nobody in; no store keeps this
}

// Principal is how records and approvals name the agent.
func (t Token) Principal() string { return "agent:" + t.Name }

// Live tells whether the token lets anybody in: it is ours, and neither revoked nor
// expired.
func (t Token) Live(now time.Time) bool {
	return t.State(now) == "live"
}

// State says in a word whether the token lets anybody in: live, revoked, expired, or foreign
// if it came with the database from another machine or workspace.
func (t Token) State(now time.Time) string {
	switch {
	case t.Foreign:
		return "foreign"
	case !t.Revoked.IsZero():
		return "revoked"
	case t.Expired(now):
		return "expired"
	}
	return "live"
}

// Expired tells whether the token has come to its end. It counts until the instant
// before Expires.
func (t Token) Expired(now time.Time) bool {
	return !t.Expires.IsZero() && !now.Before(t.Expires)
}

// Grant is what the token lets an agent do.
func (t Token) Grant() *Grant { return &Grant{User: t.User, Scopes: t.Scopes} }

// MostTokens is how many live tokens there may be at once.
const MostTokens = 1000

// TokenStore keeps tokens. What a method has acknowledged survives a crash. Every
// method is safe for concurrent use, also by several processes. Errors of kind
// not_found, conflict and limited are as stated; any other error means that the store
// failed.
type TokenStore interface {
	// Add keeps a token. It returns a contract.Conflict error if another has its name
	// that is neither revoked nor expired at t.Created, and a contract.Limited error
	// if there are MostTokens of those. What ended a year before is forgotten.
	Add(ctx context.Context, t Token) error

	// ByHash returns the token with this hash; false if there is none.
	ByHash(ctx context.Context, hash string) (Token, bool, error)

	// List returns every token, also the revoked and the expired, newest first.
	List(ctx context.Context) ([]Token, error)

	// Revoke ends a token for good and returns it. It is found by its id, or else by
	// its name: the one that is not revoked, or else the newest. One that was revoked
	// before stays as it is. It returns a contract.NotFound error if there is none.
	Revoke(ctx context.Context, idOrName string, now time.Time) (Token, error)

	// Use notes that a token was used, if that is later than what is known. A token
	// that is not there is none to note anything of.
	Use(ctx context.Context, id string, now time.Time) error
}
