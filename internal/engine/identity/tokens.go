package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
	"remit/internal/engine/ratelimit"
)

// Tokens creates and checks the tokens of agents.
type Tokens struct {
	Store func(context.Context) (TokenStore, error)
	// Exists reports whether the database exists, so that reading does not create it. Nil means
	// that it exists.
	Exists func() bool
	// Secret returns the key that hashes and seals tokens; it is stored apart from them.
	Secret func() ([]byte, error)
	// Workspace is the workspace that tokens are for; those of another are rejected.
	Workspace string
	Anchor    Anchor // nil: none
	Now       func() time.Time

	mu        sync.Mutex
	lastNoted map[string]time.Time // when the use of a token was last stored, by id
}

// Create creates a token. Only Create returns the secret. The error is a contract.Invalid, a
// contract.Conflict if a live token has the name, or a contract.Limited if there are too many.
func (t *Tokens) Create(ctx context.Context, n NewToken) (secret string, made Token, err error) {
	now := truncated(t.Now())
	n.Expires = truncated(n.Expires)
	if err := n.check(now); err != nil {
		return "", Token{}, err
	}
	store, key, err := t.open(ctx)
	if err != nil {
		return "", Token{}, err
	}
	if t.Anchor != nil {
		if err := t.Anchor.RequireIdentity(ctx); err != nil {
			return "", Token{}, unreachable(err)
		}
	}
	prefix := Prefix
	if n.Role != NoRole {
		prefix = PersonPrefix
	}
	secret = newSecret(prefix)
	made = Token{
		ID: NewID(), Name: n.Name, User: n.User, Scopes: n.Scopes, Rate: n.Rate, By: n.By, Role: n.Role, Elicits: n.Elicits,
		Created: now, Expires: n.Expires, Hash: hashOf(key, secret),
	}
	made.Seal = made.seal(key)
	made.DescribeIn(ctx)
	if err := store.Add(ctx, made); err != nil {
		return "", Token{}, fmt.Errorf("create token: %w", err)
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
	switch {
	case n.Role != NoRole && n.Role != Approver:
		return contract.Errorf(contract.Invalid, "A token can have only the role approver")
	case n.Role != NoRole && (len(n.Scopes) > 0 || n.User != "" || n.Elicits):
		return contract.Errorf(contract.Invalid, "A token with a role decides about requests and does nothing else: it has no scopes, "+
			"no user and no dialogs")
	case n.Role == NoRole && len(n.Scopes) == 0:
		return contract.Errorf(contract.Invalid, "A token needs at least one scope, such as tasks:read")
	}
	if n.Rate.Requests != 0 || n.Rate.Per != 0 {
		if err := n.Rate.Check(); err != nil {
			return contract.Errorf(contract.Invalid, "The rate of a token must be positive, such as 600/min").Because(err)
		}
	}
	if !n.Expires.IsZero() && !n.Expires.After(now) {
		return contract.Errorf(contract.Invalid, "The expiry %s is in the past; choose a later one", n.Expires.Format(time.RFC3339))
	}
	return nil
}

// Check returns the token with this secret. The error is a contract.Denied or a
// contract.Unavailable. Whether a token is revoked or expired is stated only if the secret is
// correct.
func (t *Tokens) Check(ctx context.Context, secret string) (Token, error) {
	if !wellFormed(secret) {
		return Token{}, contract.Errorf(contract.Denied,
			"The token is mistyped or cut off: a token begins with %s and has %d characters", Prefix, len(Prefix)+randomChars+checkChars)
	}
	unknown := contract.Errorf(contract.Denied, "The token is unknown here; create one with \"remit token create\"")
	if !t.exists() {
		return Token{}, unknown
	}
	store, key, err := t.open(ctx)
	if err != nil {
		return Token{}, err
	}
	hash := hashOf(key, secret)
	found, ok, err := store.ByHash(ctx, hash)
	switch {
	case err != nil:
		return Token{}, unreachable(err)
	case !ok || !equal(found.Hash, hash):
		return Token{}, unknown
	}
	now := t.Now()
	if err := t.applyAnchor(&found); err != nil {
		return Token{}, err
	}
	if err := found.refusal(key, now); err != nil {
		return Token{}, err
	}
	t.note(ctx, store, &found, now)
	return found, nil
}

// refusal returns why the token is no longer valid. Only the holder of its secret gets this error.
func (t *Token) refusal(key []byte, now time.Time) error {
	switch {
	case !equal(t.Seal, t.seal(key)):
		return contract.Errorf(contract.Denied, "The token was altered, or made for another workspace; create one with \"remit token create\"")
	case !t.Revoked.IsZero():
		return contract.Errorf(contract.Denied, "The token %q was revoked at %s; create another with \"remit token create\"", t.Name,
			t.Revoked.Format(time.RFC3339))
	case t.Expired(now):
		return contract.Errorf(contract.Denied, "The token %q expired at %s; create another with \"remit token create\"", t.Name,
			t.Expires.Format(time.RFC3339))
	}
	return nil
}

// useEvery is the shortest interval between two notes that a token is used.
const useEvery = time.Minute

// note stores that a token is used. If that fails, the call goes on, and the next attempt is a
// minute later.
func (t *Tokens) note(ctx context.Context, store TokenStore, used *Token, now time.Time) {
	if now.Sub(used.Used) < useEvery || !t.due(used.ID, now) {
		return
	}
	if store.Use(ctx, used.ID, now) == nil {
		used.Used = truncated(now)
	}
}

// due returns true to one caller per minute, which must then store that the token is used.
func (t *Tokens) due(id string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if last, ok := t.lastNoted[id]; ok && now.Sub(last) < useEvery {
		return false
	}
	if t.lastNoted == nil || len(t.lastNoted) > 2*MaxTokens { // drop the entries of old tokens
		t.lastNoted = map[string]time.Time{}
	}
	t.lastNoted[id] = now
	return true
}

// List returns all tokens, also revoked and expired ones, newest first.
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
	key, err := keyOf(t.Secret, forTokens, t.Workspace, t.Anchor)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].Foreign = !equal(list[i].Seal, list[i].seal(key))
		if err := t.applyAnchor(&list[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// AnyCreated reports whether a token was ever created here. Revoked and expired tokens count: a
// server that requires tokens must not stop requiring them when the last token ends. So do tokens
// that are not ours: a copied database and a lost key look the same.
func (t *Tokens) AnyCreated(ctx context.Context) (bool, error) {
	if t.Anchor != nil {
		if needed, certain, err := t.Anchor.NeedsIdentity(ctx); err != nil || certain {
			return needed, err
		}
	}
	list, err := t.List(ctx)
	if t.Anchor != nil && slices.ContainsFunc(list, func(one Token) bool { return !one.Foreign }) {
		err = t.Anchor.RequireIdentity(ctx) // they may be older than the anchor
	}
	return len(list) > 0, err
}

// Revoke revokes the token with this id or name for good. Revoking it again changes nothing. The
// error is a contract.NotFound if there is none.
func (t *Tokens) Revoke(ctx context.Context, idOrName string) (Token, error) {
	if !t.exists() {
		return Token{}, TokenNotFound(idOrName)
	}
	store, err := t.Store(ctx)
	if err != nil {
		return Token{}, unreachable(err)
	}
	revoked, err := store.Revoke(ctx, idOrName, t.Now())
	if err != nil {
		return Token{}, fmt.Errorf("revoke token: %w", err)
	}
	if t.Anchor != nil {
		if _, err := t.Anchor.End(ctx, anchorToken+revoked.ID, t.Now(), revoked.Expires); err != nil {
			return Token{}, contract.Errorf(contract.Unavailable, "The token was revoked, but a restored database could bring it back: "+
				"the key folder cannot be written; revoke the token again").Because(err)
		}
	}
	return revoked, nil
}

// DescribeIn adds the token to the audit record that ctx carries.
func (t *Token) DescribeIn(ctx context.Context) {
	audit.EffectFrom(ctx).Describe(jsontree.M("id", jsontree.Str(t.ID)), jsontree.M("name", jsontree.Str(t.Name)))
}

// TokenNotFound returns the error of stores for a token that does not exist.
func TokenNotFound(idOrName string) error {
	return contract.Errorf(contract.NotFound, "There is no token %q; \"remit token list\" lists the tokens", idOrName)
}

// NameTaken returns the error of stores for a name that a live token has.
func NameTaken(name string) error {
	return contract.Errorf(contract.Conflict, "The token %q already exists; revoke it first, or choose another name", name)
}

func (t *Tokens) exists() bool { return t.Exists == nil || t.Exists() }

// forTokens is the purpose of the key for tokens.
const forTokens = "token"

func (t *Tokens) open(ctx context.Context) (TokenStore, []byte, error) {
	return open(ctx, t.Store, t.Secret, forTokens, t.Workspace, t.Anchor)
}

// unreachable returns the error for credentials that cannot be checked. A cause that is meant for
// callers stays as it is.
func unreachable(err error) error {
	if own, ok := errors.AsType[*contract.Error](err); ok && own.Kind == contract.Unavailable {
		return own
	}
	return contract.Errorf(contract.Unavailable, "Credentials cannot be checked right now; try again").Because(err)
}

// hashOf returns what is stored of a secret. Somebody with the database but without the key cannot
// test guesses.
func hashOf(key []byte, secret string) string { return Seal(key, "hash", secret) }

// seal returns a MAC of the token and its rights, so that nobody without the key can change them.
func (t *Token) seal(key []byte) string {
	rate := strconv.Itoa(t.Rate.Requests) + "/" + strconv.FormatInt(int64(t.Rate.Per), 10)
	parts := []string{
		"token", t.ID, t.Name, t.User, strings.Join(t.Scopes.List(), " "), rate, t.By, instant(t.Created), instant(t.Expires), t.Hash,
	}
	// The seals of tokens without these stay as they were before there were any.
	if t.Role != NoRole {
		parts = append(parts, "role", t.Role.String())
	}
	if t.Elicits {
		parts = append(parts, "elicits")
	}
	return Seal(key, parts...)
}

// NewToken describes a token to create.
type NewToken struct {
	Name    string // unique among live tokens
	User    string // the user whose data it may access; AnyUser for all, "" for none
	Scopes  Scopes
	Rate    ratelimit.Rate // zero: none of its own
	Expires time.Time      // zero: never
	By      string         // who creates it
	Role    Role           // of the person whose token it is; NoRole for that of an agent
	Elicits bool           // what the person at the agent's client answers counts as a decision
}

// Token is a token of an agent, or of a person if it has a Role, without its secret.
type Token struct {
	ID, Name, User string
	Scopes         Scopes
	Rate           ratelimit.Rate // zero: none of its own
	By             string         // who created it
	Created        time.Time
	Expires        time.Time // zero: never
	Revoked        time.Time // zero: not revoked
	Used           time.Time // to a minute; zero: never
	Hash           string    // of the secret, which is not stored
	// Seal proves that the token was created here, because a database can be copied.
	Seal    string
	Role    Role // of the person whose token it is; NoRole for that of an agent
	Elicits bool // see NewToken
	// Foreign means that the seal is not ours, so the token is rejected; stores do not keep this
	// field.
	Foreign bool
}

// Principal returns the name of the agent or the person in records and approvals.
func (t Token) Principal() string {
	if t.Role != NoRole {
		return "person:" + t.Name
	}
	return "agent:" + t.Name
}

// Live reports whether the token is valid: it is ours, and neither revoked nor expired.
func (t Token) Live(now time.Time) bool {
	return t.State(now) == "live"
}

// State returns the state of the token in JSON output: live, revoked, expired, or foreign if it
// came with the database from another machine or workspace.
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

// StateLabel returns the state of the token as people see it.
func (t Token) StateLabel(now time.Time) string {
	switch state := t.State(now); state {
	case "live":
		return "active"
	case "foreign":
		return "not created here"
	default:
		return state
	}
}

// Expired reports whether the token has expired. It is valid until the instant before Expires.
func (t Token) Expired(now time.Time) bool {
	return !t.Expires.IsZero() && !now.Before(t.Expires)
}

// Grant returns what the token allows an agent to do.
func (t Token) Grant() *Grant {
	return &Grant{User: t.User, Scopes: t.Scopes, Elicits: t.Elicits, Credential: Credential{TokenCredential, t.ID, t.Expires}}
}

// MaxTokens is how many live tokens may exist at once.
const MaxTokens = 1000

// TokenStore stores tokens. What a method has acknowledged survives a crash. Every method is safe
// for concurrent use, also by several processes. Errors of kind not_found, conflict and limited are
// as stated; any other error means that the store failed.
type TokenStore interface {
	// Add stores a token. It returns a contract.Conflict error if another token has its name and is
	// neither revoked nor expired at t.Created, and a contract.Limited error if there are already
	// MaxTokens such tokens. It deletes tokens that ended more than a year before.
	Add(ctx context.Context, t Token) error

	// ByHash returns the token with this hash; false if there is none.
	ByHash(ctx context.Context, hash string) (Token, bool, error)

	// List returns all tokens, also revoked and expired ones, newest first.
	List(ctx context.Context) ([]Token, error)

	// Revoke revokes a token for good and returns it. It finds the token by its id, or else by its
	// name: the one that is not revoked, or else the newest. A token that was revoked before stays
	// unchanged. It returns a contract.NotFound error if there is none.
	Revoke(ctx context.Context, idOrName string, now time.Time) (Token, error)

	// Replace stores a token in the place of the live one with this id, under another id and with
	// the same secret. It returns a contract.Conflict error if that one is revoked, or if there is
	// none.
	Replace(ctx context.Context, id string, t Token) error

	// Use notes that a token was used, if that is later than the last time. It does nothing if
	// there is no such token.
	Use(ctx context.Context, id string, now time.Time) error
}
