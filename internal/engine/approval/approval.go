// Package approval asks a person before a call whose contract requires approval, and stores the
// answer.
//
// An approval is bound to the caller, the tool, its contract and the exact arguments. It is valid
// for one call and for a limited time, and it survives a restart. A caller can request an approval
// but never give it.
package approval

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/passkey"
	"remit/internal/visible"
)

// Mode says what happens to a call that needs approval.
type Mode string

// The modes. The zero Mode means Ask, so that without a setting no call runs unapproved.
const (
	Ask  Mode = "ask"  // a person decides about each call
	Auto Mode = "auto" // every call runs; nobody is asked
	Deny Mode = "deny" // no call runs; nobody is asked
)

// ParseMode parses a mode from a flag or a configuration file.
func ParseMode(s string) (Mode, error) {
	if err := contract.OneOf(s, string(Ask), string(Auto), string(Deny)); err != nil {
		return "", err
	}
	return Mode(s), nil
}

// DefaultWindow is the window of a Subject without one.
const DefaultWindow = time.Hour

// Subject is the call that a person is asked about.
type Subject struct {
	Workspace string // where the call would take effect
	Principal string // who calls
	Owner     string // what the approval is bound to besides; see engine.Call.Owner
	Origin
	Tool      string // "set/name"
	Version   string // of the contract, for people
	Digest    string // of the contract, for Key
	Arguments []byte // canonical JSON
	// Window is how long a request, and then its answer, stays valid; zero is DefaultWindow.
	Window  time.Duration
	Summary string    // the call in one sentence, for the person who decides
	Target  string    // what the call changes, such as a file; "" if the contract does not say
	Asked   time.Time // when an earlier attempt of the call asked; zero if none did
	Seen    string    // the state that the question of an earlier attempt showed; "" if none asked
	Show    Show      // nil if the effect depends on nothing that can change
	Each    bool      // a person decides about each call: no standing permission counts
	Linked  bool      // a path among the arguments leads over a link
}

// show returns the effect of the call; see Show.
func (s Subject) show(ctx context.Context, seen string) (Shown, error) {
	if s.Show == nil {
		return Shown{}, nil
	}
	return s.Show(ctx, seen)
}

// Key returns what an approval is bound to: a hash of the workspace, the principal, the tool, the
// digest of the contract and the exact arguments.
func (s Subject) Key() string {
	h := sha256.New()
	for _, part := range [][]byte{[]byte(s.Workspace), []byte(s.Principal), []byte(s.Tool), []byte(s.Digest), s.Arguments} {
		// The length prefix keeps "ab"+"c" and "a"+"bc" apart.
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write(part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (s Subject) window() time.Duration { return cmp.Or(max(s.Window, 0), DefaultWindow) }

// State is the state of a request. There is no state for expired requests, because that follows
// from the time, and none for those that a rule answers: they stay Pending and expire at once.
type State string

// The states of a request.
const (
	Pending   State = "pending"
	Approved  State = "approved"
	Denied    State = "denied"
	Changed   State = "changed"   // approved, but the call would have another effect now
	Withdrawn State = "withdrawn" // approved, and taken back before a call used it
)

// Request is one question to a person, with the answer once there is one.
type Request struct {
	ID        string
	Key       string
	Workspace string
	Principal string
	Tool      string
	Version   string
	Digest    string
	Arguments []byte
	Summary   string
	Target    string // what the call changes: requests are grouped by it
	Origin
	State     State
	CreatedAt time.Time
	ExpiresAt time.Time // of the request; once decided, of the answer
	DecidedAt time.Time // zero while pending
	DecidedBy string
	Reason    string
	UsedAt    time.Time // when a call used the answer, or found it changed; zero before that
	Shown     string    // the Shown.State that the person saw; "" while pending
	Seal      string    // proves that the decision was made here; see Sealed
	Proof     string    // the signature of a passkey under the approval, if any; see Signed
	AskedSeal string    // proves that the question was asked here; see Sealed
}

// Expired reports whether the request has expired. It is valid until the instant before ExpiresAt.
func (r Request) Expired(now time.Time) bool { return !now.Before(r.ExpiresAt) }

// Stage returns the state for people: pending, approved, denied, changed, withdrawn, covered, used
// or expired.
func (r Request) Stage(now time.Time) string {
	switch {
	case !r.UsedAt.IsZero() && r.State == Approved:
		return "used"
	case r.State == Pending && !r.DecidedAt.IsZero():
		return StageCovered
	case r.UsedAt.IsZero() && r.State != Withdrawn && r.Expired(now):
		return "expired"
	}
	return string(r.State)
}

// StageCovered is the stage of a request that waited when a rule was made that answers its call.
const StageCovered = "covered"

// Verdict is the decision of a person.
type Verdict struct {
	Approve bool
	By      string         // who decided
	Via     string         // how: the front end that was used
	Address string         // where the person is, if that is known; only for records
	Reason  string         // sent to the caller when denied
	Shown   string         // the Shown.State that the person saw
	Answer  passkey.Answer // of the person's passkey; the zero Answer if they used none
	Proof   passkey.Proof  // set by Signed
	Seal    string         // set by Sealed
}

// MaxPending is how many requests of one principal may be pending at once. Nobody would read more,
// and an important one would get lost among them.
const MaxPending = 100

// Store stores requests. What a method has acknowledged survives a crash. Every method is safe for
// concurrent use, also by several processes. Errors of kind not_found, conflict and invalid are as
// stated; any other error means that the store failed.
type Store interface {
	// Ask returns the pending request with the key of r that is unexpired at r.CreatedAt, if there
	// is one. Otherwise it stores r and returns it. So there is never more than one pending request
	// for the same call. It returns a contract.Limited error if the principal already has
	// MaxPending other pending requests.
	Ask(ctx context.Context, r Request) (Request, error)

	// Decided returns the oldest request with this key that is approved or denied, unused and
	// unexpired; false if there is none. It changes nothing.
	Decided(ctx context.Context, key string, now time.Time) (Request, bool, error)

	// Take marks the request that Decided returns as used and returns it; false if there is none.
	// An approval that was given for another state than shown becomes Changed. No request is ever
	// returned to two callers.
	Take(ctx context.Context, key, shown string, now time.Time) (Request, bool, error)

	// Decide stores the verdict on a pending request, which is then valid until expires. It returns
	// a contract.NotFound error if there is no such id. It returns a contract.Conflict error, which
	// says when and by whom it was decided, if the request is already decided or expired.
	Decide(ctx context.Context, id string, v Verdict, now, expires time.Time) (Request, error)

	// Withdraw takes back an approval that no call has used, in the name of v.By. It returns a
	// contract.NotFound error if there is no such id, and a contract.Conflict error if the request
	// is not approved, used or expired.
	Withdraw(ctx context.Context, id string, v Verdict, now time.Time) (Request, error)

	// Get returns the request with this id; an unambiguous prefix is enough. It returns a
	// contract.NotFound error if there is none, and a contract.Invalid error that lists the ids if
	// there are several.
	Get(ctx context.Context, id string) (Request, error)

	// List returns the requests that o selects, newest first. It returns a contract.Invalid error
	// if there is no such state or cursor.
	List(ctx context.Context, o ListOptions) ([]Request, error)

	// WaitingIDs returns the ids of all requests that are pending and unexpired, in no particular
	// order. It does not read the requests, so it may be called often.
	WaitingIDs(ctx context.Context, now time.Time) ([]string, error)

	// Waiting counts the requests that wait at this time, by agent, tool and target.
	Waiting(ctx context.Context, now time.Time) ([]Group, error)

	// Similar returns what was decided about other calls of the same tool by the same principal,
	// the latest decision first, without arguments.
	Similar(ctx context.Context, o SimilarOptions) ([]Request, error)
}

// Describe describes what a call would do, one argument per line, short ones first. It quotes texts
// and escapes invisible characters (line breaks, marks that change the direction of writing), so
// that a caller cannot make one request look like another.
func (r Request) Describe() string {
	args, err := jsontree.Parse(r.Arguments)
	if err != nil {
		return visible.Line(string(r.Arguments)) + "\n"
	}
	var short, long strings.Builder
	for _, m := range args.Members {
		value := visible.Line(string(m.Value.Append(nil)))
		to := &short
		if len(value) > 80 {
			to = &long
		}
		fmt.Fprintf(to, "%s: %s\n", visible.Line(m.Key), value)
	}
	return short.String() + long.String()
}

// Wording returns the question for the person at a client: who wants to do what, with which effect,
// argument by argument. Text of the caller is quoted, so that it cannot pass for ours.
func (r Request) Wording(s Shown) string {
	effect := s.Text()
	if effect != "" {
		effect += "\n"
	}
	toolset, tool, _ := strings.Cut(r.Tool, "/")
	return fmt.Sprintf("A call asks for your approval: %s (%s of the toolset %s, contract %s).\n\n%s%s%s\nRequest %s\nAllow this call once?",
		visible.Line(r.Summary), tool, toolset, r.Version, r.ReasonLine(), effect, r.Describe(), r.ID)
}
