package identity

import (
	"context"
	"time"

	"remit/internal/engine/limit"
)

// NewToken is a token that is yet to be made.
type NewToken struct {
	Name    string // no other live token has it
	User    string // the one whose data it may name; AnyUser for all, "" for none
	Scopes  Scopes
	Rate    limit.Rate // zero: none of its own
	Expires time.Time  // zero: never
	By      string     // who makes it
}

// Token is a token of an agent, without its secret.
type Token struct {
	ID, Name, User string
	Scopes         Scopes
	Rate           limit.Rate // zero: none of its own
	By             string     // who made it
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
