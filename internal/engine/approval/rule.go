package approval

import (
	"cmp"
	"context"
	"crypto/hmac"
	"fmt"
	"strconv"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/identity"
	"remit/internal/engine/passkey"
	"remit/internal/visible"
)

// Rule is a standing decision of a person about the calls of one caller and one tool: a permission,
// which lets a number of calls pass that nobody is shown, or a denial.
type Rule struct {
	ID        string
	Allow     bool   // a permission; otherwise a denial
	Request   string // the id of the request that it was made from
	Workspace string // Request.Workspace of that request: with the token of the caller
	Principal string
	Tool      string
	Version   string
	Digest    string // of the contract; under another one the rule is void
	Scope     string // which arguments calls must have; see ParseScope
	Calls     int    // how many calls a permission lets pass at most; 0 for a denial
	Reason    string // of a denial; callers get it
	By        string // who made it
	CreatedAt time.Time
	ExpiresAt time.Time
	Seal      string // proves that a person made the rule here
	Proof     string // the signature of a passkey under a permission, if any

	// What changes afterwards. No seal covers it, so an anchor must, if the database can be put
	// back.
	Used      int
	UsedAt    time.Time
	RevokedAt time.Time
	RevokedBy string
}

// OwnerMark separates the place of a workspace from the token of the caller in Request.Workspace.
const OwnerMark = "\nowner "

// Expired reports whether the rule has expired. It is in force until the instant before ExpiresAt.
func (r *Rule) Expired(now time.Time) bool { return !now.Before(r.ExpiresAt) }

// Limits of rules.
const (
	MaxRules    = 200 // in force at once
	MaxCalls    = 1000
	MaxRuleTime = 31 * 24 * time.Hour
	minRuleTime = time.Minute
)

// RuleState is the state of a rule for people.
type RuleState string

// The states of a rule.
const (
	InForce     RuleState = "in force"
	UsedUp      RuleState = "used up"
	RuleExpired RuleState = "expired"
	Revoked     RuleState = "revoked"
	Void        RuleState = "void" // the contract, the workspace or the token is another one now
)

// State returns the state of the rule, apart from Void.
func (r *Rule) State(now time.Time) RuleState {
	switch {
	case !r.RevokedAt.IsZero():
		return Revoked
	case r.Allow && r.Used >= r.Calls:
		return UsedUp
	case r.Expired(now):
		return RuleExpired
	}
	return InForce
}

// Effect returns the word for the kind of the rule.
func (r *Rule) Effect() string {
	if r.Allow {
		return "allow"
	}
	return "deny"
}

// Sentence returns the rule in one sentence. Text of the caller is quoted in it.
func (r *Rule) Sentence() string {
	_, tool, _ := strings.Cut(r.Tool, "/")
	scope := "no arguments, because its scope cannot be read"
	if s, err := ParseScope(r.Scope); err == nil {
		scope = s.Words()
	}
	who, tool, until := visible.Line(r.Principal), visible.Line(tool), r.ExpiresAt.UTC().Format("2006-01-02 15:04 UTC")
	if !r.Allow {
		return fmt.Sprintf("Every call of %s by %s with %s is denied until %s, and nobody is asked.", tool, who, scope, until)
	}
	return fmt.Sprintf("%s may call %s with %s, at most %s until %s. Nobody is asked before these calls, or shown what they change.",
		who, tool, scope, contract.Count(r.Calls, "time"), until)
}

// seal binds the rule to everything that it says. Stores keep times in microseconds, so the seal
// does too.
func (r *Rule) seal(secret []byte) string {
	return identity.Seal(secret, "rule 1", r.ID, r.Effect(), r.Request, r.Workspace, r.Principal, r.Tool, r.Version, r.Digest, r.Scope,
		strconv.Itoa(r.Calls), r.Reason, r.By, instant(r.CreatedAt), instant(r.ExpiresAt), r.Proof)
}

func (r *Rule) genuine(secret []byte) bool { return hmac.Equal([]byte(r.Seal), []byte(r.seal(secret))) }

func instant(t time.Time) string { return strconv.FormatInt(t.UnixMicro(), 10) }

// claim returns what a passkey signs to make the permission. It covers all that the person chose:
// how long it lasts, or the moment until which it does. The id and the time of the decision are not
// known when the passkey is asked.
func (r *Rule) claim(keys *passkey.Keys, untilMoment bool) passkey.Claim {
	lasts := "for " + r.ExpiresAt.Sub(r.CreatedAt).String()
	if untilMoment {
		lasts = "until " + instant(r.ExpiresAt)
	}
	return keys.RuleClaim(r.Request, digest("rule 1", r.Workspace, r.Principal, r.Tool, r.Digest, r.Scope, strconv.Itoa(r.Calls), lasts))
}

// check returns a contract.Invalid error if the terms of the rule are out of bounds.
func (r *Rule) check() error {
	valid := r.ExpiresAt.Sub(r.CreatedAt)
	switch {
	case valid < minRuleTime || valid > MaxRuleTime:
		return contract.Errorf(contract.Invalid, "A rule lasts from a minute to %d days", int(MaxRuleTime.Hours()/24))
	case r.Allow && (r.Calls < 1 || r.Calls > MaxCalls):
		return contract.Errorf(contract.Invalid, "A permission is for 1 to %d calls", MaxCalls)
	case r.Principal == "":
		return contract.Errorf(contract.Invalid, "The caller of request %s is anonymous, so anybody could use a rule for it", r.Request)
	}
	return nil
}

// denial returns the error for a call that a standing denial covers: the same as after the
// denial of its request.
func (r *Rule) denial() error { return denial(Request{ID: r.Request, Reason: r.Reason}) }

// RuleNotFound returns the error of stores for a rule that does not exist.
func RuleNotFound(id string) error {
	return contract.Errorf(contract.NotFound, "There is no rule %s", id)
}

// RuleStore stores rules. What a method has acknowledged survives a crash. Every method is safe for
// concurrent use, also by several processes. Errors of kind not_found, conflict and limited are as
// stated; any other error means that the store failed.
type RuleStore interface {
	// Add stores a rule. The requests in covered that are pending expire, and become StageCovered.
	// It returns a contract.Limited error if MaxRules rules are in force at r.CreatedAt. It deletes
	// rules that expired more than a month before.
	Add(ctx context.Context, r Rule, covered []string) error

	// For returns the rules for the calls of a tool by a caller that are neither revoked nor
	// expired, oldest first.
	For(ctx context.Context, workspace, principal, tool string, now time.Time) ([]Rule, error)

	// Use counts one more use of a permission and returns it; false if it is used up, revoked or
	// expired. There are never more uses than calls.
	Use(ctx context.Context, id string, now time.Time) (Rule, bool, error)

	// Revoke ends a rule for good, in the name of by. It returns a contract.NotFound error if there
	// is no such id, and a contract.Conflict error if the rule is revoked already.
	Revoke(ctx context.Context, id, by string, now time.Time) (Rule, error)

	// Get returns the rule with this id, or a contract.NotFound error.
	Get(ctx context.Context, id string) (Rule, error)

	// List returns the rules, newest first, at most limit of them.
	List(ctx context.Context, limit int) ([]Rule, error)
}

// RuleAnchor remembers outside of the database what a database that is put back must not undo. An
// error means that nothing can be known, so callers must refuse.
type RuleAnchor interface {
	// Count counts one more use under a key, unless there were limit before, and returns how many
	// there were so far. It counts even if the database has forgotten earlier uses.
	Count(key string, limit int, now, expires time.Time) (uses int, ok bool, err error)
	// Counted returns how many uses there were under a key.
	Counted(key string) (int, error)
	// End records that something has ended, or was made, until expires.
	End(ctx context.Context, key string, now, expires time.Time) (fresh bool, err error)
	// Ended returns when End was called for a key; false if it was not.
	Ended(key string) (at time.Time, ended bool, err error)
	// EndedWith returns the keys of End that begin with prefix and had not expired.
	EndedWith(prefix string, now time.Time) ([]string, error)
}

// The keys of a RuleAnchor.
func (r *Rule) usesKey() string { return "rule uses " + r.ID }
func (r *Rule) endKey() string  { return "rule " + r.ID }

// denialsKey is what the keys of the denials for a caller and a tool begin with.
func denialsKey(workspace, principal, tool string) string {
	return "denial " + digest("denials 1", workspace, principal, tool)[:16] + " "
}

// applyAnchor adds what the anchor knows and the database may have forgotten.
func (r *Rule) applyAnchor(anchor RuleAnchor) error {
	if anchor == nil {
		return nil
	}
	uses, err := anchor.Counted(r.usesKey())
	if err != nil {
		return err
	}
	r.Used = max(r.Used, uses)
	at, ended, err := anchor.Ended(r.endKey())
	if ended && r.RevokedAt.IsZero() {
		r.RevokedAt, r.RevokedBy = at, cmp.Or(r.RevokedBy, "unknown")
	}
	return err
}
