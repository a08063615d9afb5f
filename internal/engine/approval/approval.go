// Package approval asks a person before a call that its contract guards, and
// remembers the answer.
//
// An approval is bound to who calls, which tool, under which contract and with
// which exact arguments. It is good for one call, for a limited time, and it
// survives a restart. Whoever calls can ask for it but never give it.
package approval

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/identity"
)

// Mode says what happens to a call that needs a person's approval.
type Mode string

// The modes. The zero Mode asks as well: nothing passes for want of a setting.
const (
	Ask  Mode = "ask"  // a person decides about each call
	Auto Mode = "auto" // every call goes on, nobody is asked
	Deny Mode = "deny" // no call goes on, nobody is asked
)

// ParseMode reads a mode from a flag or a configuration file.
func ParseMode(s string) (Mode, error) {
	if err := contract.OneOf(s, string(Ask), string(Auto), string(Deny)); err != nil {
		return "", err
	}
	return Mode(s), nil
}

// DefaultWindow is the window of a Subject that states none.
const DefaultWindow = time.Hour

// Subject is the call that a person is asked about.
type Subject struct {
	Workspace string        // where the call would take effect
	Principal string        // who calls
	Tool      string        // "set/name"
	Version   string        // of the contract, for people
	Digest    string        // of the contract, for Key
	Arguments []byte        // canonical JSON
	Window    time.Duration // how long a question, and then its answer, stays valid; zero is DefaultWindow
	Summary   string        // the call in words, for whoever decides
	Asked     time.Time     // when an earlier round of the call put the question; zero if none did
}

// Key is what an approval is bound to: the workspace, the principal, the tool, the
// digest of the contract and the exact arguments.
func (s Subject) Key() string {
	h := sha256.New()
	for _, part := range [][]byte{[]byte(s.Workspace), []byte(s.Principal), []byte(s.Tool), []byte(s.Digest), s.Arguments} {
		// The length in front keeps "ab"+"c" and "a"+"bc" apart.
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write(part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (s Subject) window() time.Duration { return cmp.Or(max(s.Window, 0), DefaultWindow) }

// State is how far a request has come. Expired is no state: it follows from the time.
type State string

// The states of a request.
const (
	Pending  State = "pending"
	Approved State = "approved"
	Denied   State = "denied"
)

// Request is one question to a person, and its answer once there is one.
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
	State     State
	CreatedAt time.Time
	ExpiresAt time.Time // of the question; once decided, of the answer
	DecidedAt time.Time // zero while pending
	DecidedBy string
	Reason    string
	SpentAt   time.Time // when a call used the answer; zero before
	Seal      string    // proves that the answer was given here; see Sealed
}

// Expired says whether the request no longer counts. It counts until the
// instant before ExpiresAt.
func (r Request) Expired(now time.Time) bool { return !now.Before(r.ExpiresAt) }

// Stage is how far the request has come, in a word: its state, used or expired.
func (r Request) Stage(now time.Time) string {
	switch {
	case !r.SpentAt.IsZero() && r.State == Approved:
		return "used"
	case r.SpentAt.IsZero() && r.Expired(now):
		return "expired"
	}
	return string(r.State)
}

// Verdict is a person's answer.
type Verdict struct {
	Approve bool
	By      string // who decided, or the face it came in by
	Reason  string // told to the caller when denied
	Seal    string // set by Sealed
}

// MostOpen is how many questions of one principal may wait at once. Nobody reads
// more, and one that matters would be lost among them.
const MostOpen = 100

// ListOptions choose what List returns.
type ListOptions struct {
	All   bool      // also what is decided or expired
	Limit int       // zero is 100
	Now   time.Time // what Expired is judged by
}

// Store keeps requests. What a method has acknowledged survives a crash. Every
// method is safe for concurrent use, also by several processes. Errors of kind
// not_found, conflict and invalid are as stated; any other error means that the
// store failed.
type Store interface {
	// Ask returns the pending request with r's key that is unexpired at
	// r.CreatedAt, if there is one; otherwise it keeps r and returns it. So
	// there is never more than one open question about the same call. It returns
	// a contract.Limited error if MostOpen others of the principal are open.
	Ask(ctx context.Context, r Request) (Request, error)

	// Take spends the oldest request with this key that is decided, unspent
	// and unexpired, and returns it; false if there is none. No request is
	// ever returned to two callers.
	Take(ctx context.Context, key string, now time.Time) (Request, bool, error)

	// Decide keeps the verdict on a pending request and lets it count until
	// expires. It returns a contract.NotFound error if there is no such id,
	// and a contract.Conflict error, which says what happened when and by
	// whom, if the request is decided or expired already.
	Decide(ctx context.Context, id string, v Verdict, now, expires time.Time) (Request, error)

	// Get returns the request with this id; an unambiguous prefix is enough.
	// It returns a contract.NotFound error if there is none, and a
	// contract.Invalid error that lists the ids if there are several.
	Get(ctx context.Context, id string) (Request, error)

	// List returns requests, newest first: those pending and unexpired, or
	// with All every one.
	List(ctx context.Context, o ListOptions) ([]Request, error)
}

// Describe shows what a call would do, one argument a line, short ones first.
// Texts are quoted and whatever does not show itself (line breaks, marks that
// turn the direction of writing) is spelt out, so that a caller cannot word a
// question to read like another.
func (r Request) Describe() string {
	args, err := jsontree.Parse(r.Arguments)
	if err != nil {
		return Plain(string(r.Arguments)) + "\n"
	}
	var short, long strings.Builder
	for _, m := range args.Members {
		value := Plain(string(m.Value.Append(nil)))
		if m.Value.Kind == jsontree.String {
			value = strconv.QuoteToGraphic(m.Value.Text)
		}
		to := &short
		if len(value) > 80 {
			to = &long
		}
		fmt.Fprintf(to, "%s: %s\n", Plain(m.Key), value)
	}
	return short.String() + long.String()
}

// Wording is the question as the person at a client reads it: who wants to do
// what, argument by argument. What the caller wrote is quoted, so that it cannot
// pass for our own words.
func (r Request) Wording() string {
	return fmt.Sprintf("%s (%s, contract %s) asks for your approval.\n\n%s\nAccept to let it happen once; decline to refuse. (Request %s)",
		r.Summary, r.Tool, r.Version, r.Describe(), r.ID)
}

// Plain spells out the characters of a text that do not show themselves.
func Plain(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsGraphic(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}

// Sealed is a Store whose decisions count only if they were made with the secret.
// The database may lie in a folder that came from elsewhere, a clone or an archive,
// and nothing that lies there may approve for a person.
type Sealed struct {
	Store
	Secret []byte
}

// Take spends decisions until it finds one with a true seal; others count for
// nothing.
func (s *Sealed) Take(ctx context.Context, key string, now time.Time) (Request, bool, error) {
	for {
		r, found, err := s.Store.Take(ctx, key, now)
		if err != nil || !found {
			return r, found, err
		}
		if hmac.Equal([]byte(r.Seal), []byte(s.seal(&r))) {
			return r, true, nil
		}
	}
}

// Decide keeps the verdict with its seal. It refuses a request that shows other
// arguments than those it is bound to.
func (s *Sealed) Decide(ctx context.Context, id string, v Verdict, now, expires time.Time) (Request, error) {
	r, err := s.Get(ctx, id)
	if err != nil {
		return r, err
	}
	shown := Subject{Workspace: r.Workspace, Principal: r.Principal, Tool: r.Tool, Digest: r.Digest, Arguments: r.Arguments}
	if r.Key != shown.Key() {
		return r, contract.Errorf(contract.Conflict, "Request %s does not show the call that it stands for; the database was tampered with", id)
	}
	r.State = Denied
	if v.Approve {
		r.State = Approved
	}
	r.DecidedBy, r.ExpiresAt = v.By, expires
	v.Seal = s.seal(&r)
	return s.Store.Decide(ctx, id, v, now, expires)
}

// seal binds a decision to the call it is about and to how long it counts. Stores
// keep microseconds, so no more goes into it.
func (s *Sealed) seal(r *Request) string {
	return identity.Seal(s.Secret, r.ID, r.Key, string(r.State), r.DecidedBy, strconv.FormatInt(r.ExpiresAt.UnixMicro(), 10))
}
