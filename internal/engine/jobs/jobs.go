// Package jobs runs calls that outlive the request that started them, and
// keeps what they came to.
//
// A task is kept before its caller hears of it. While it waits for answers
// nothing of it is in memory: the answers start the call again from the
// beginning, in whichever process they arrive. While it runs, one process holds
// a lease on it; when that lapses, the task has failed.
package jobs

import (
	"context"
	"crypto/hmac"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/identity"
)

// Status is how far a task has come.
type Status string

// The statuses. The last three are final: such a task never changes again.
const (
	Working       Status = "working"
	InputRequired Status = "input_required"
	Completed     Status = "completed"
	Failed        Status = "failed"
	Cancelled     Status = "cancelled"
)

// Final tells whether nothing more will happen.
func (s Status) Final() bool { return s == Completed || s == Failed || s == Cancelled }

// Task is a call in the background.
type Task struct {
	// What was called, by whom, and for how long it is kept. None of it changes.
	ID           string
	Place        string // see Runner.Place
	Principal    string
	Tool         string // its name in the endpoint, as in engine.Call
	Digest       string // of the tool's contract, "" if there was no such tool
	Face         string
	Client       string
	Arguments    []byte              // canonical JSON
	Capabilities []engine.Capability // what the client can do, of what we know
	CreatedAt    time.Time
	TTL          time.Duration // from creation
	Poll         time.Duration // how often a client should ask at most

	// How far it has come.
	Status    Status
	Message   string // for people
	UpdatedAt time.Time
	Questions []engine.Question     // open ones, while input_required
	Body      []byte                // of a completed task, as in engine.Result
	Content   []byte                // of a completed task, as in engine.Result
	IsError   bool                  // a completed task came to an error in the set's shape, which is Body
	Fault     *engine.ProtocolError // of a failed task

	// What the next run needs.
	Round   engine.Round
	Answers map[string]jsontree.Value
	Asked   []string // the keys of all questions that this task ever put

	// Who runs it while it is working.
	Owner       string
	LeaseUntil  time.Time
	CancelAsked bool

	Revision int64  // counts what was kept; zero before the first time
	Seal     string // proves that the task was kept by us; see Sealed
}

// ExpiresAt is when the task is forgotten. It counts until the instant before.
func (t *Task) ExpiresAt() time.Time { return t.CreatedAt.Add(t.TTL) }

// Lapsed tells whether whoever ran the task has stopped without a word.
func (t *Task) Lapsed(now time.Time) bool {
	return t.Status == Working && !now.Before(t.LeaseUntil)
}

// MostUnfinished is how many tasks of one principal may be unfinished at once.
const MostUnfinished = 200

// TooMany is the error of a Store for one more than MostUnfinished.
func TooMany() error {
	return contract.Errorf(contract.Limited, "%d of your tasks are unfinished; wait for some of them, answer or cancel them first", MostUnfinished)
}

// Store keeps tasks. What a method has acknowledged survives a crash. Every
// method is safe for concurrent use, also by several processes. Errors of kind
// not_found and limited are as stated; any other error means that the store
// failed. Times are kept in microseconds.
type Store interface {
	// Add keeps a new task as revision 1, and forgets all that are expired when
	// it is created. It returns a contract.Limited error if MostUnfinished
	// others of its principal are unfinished; those that have lapsed do not count.
	Add(ctx context.Context, t Task) error

	// Get returns the task with this id, and a contract.NotFound error if there
	// is none. One that is expired may be returned or be gone.
	Get(ctx context.Context, id string) (Task, error)

	// Swap keeps how far t has come, as the next revision, if what is kept is
	// unfinished and still of t's revision. Otherwise it returns false and
	// changes nothing. So of two that change the same revision one is told to
	// look again, and what is final stays.
	Swap(ctx context.Context, t Task) (bool, error)
}

// Sealed is a Store that knows only tasks that were kept with the secret. The
// database may lie in a folder that came from elsewhere, and a task in it carries
// what a person approved: nothing that lies there may speak for them.
type Sealed struct {
	Store
	Secret []byte
}

// Add keeps a task with its seal.
func (s *Sealed) Add(ctx context.Context, t Task) error {
	t.Seal = s.seal(&t)
	return s.Store.Add(ctx, t)
}

// Swap keeps a changed task with its seal.
func (s *Sealed) Swap(ctx context.Context, t Task) (bool, error) {
	t.Seal = s.seal(&t)
	return s.Store.Swap(ctx, t)
}

// Get does not find a task whose seal is not true.
func (s *Sealed) Get(ctx context.Context, id string) (Task, error) {
	t, err := s.Store.Get(ctx, id)
	if err == nil && !hmac.Equal([]byte(t.Seal), []byte(s.seal(&t))) {
		return Task{}, NotFound(id)
	}
	return t, err
}

// seal binds all that is kept of a task, except for the count of revisions, which
// the store makes. Stores keep microseconds, so no more goes into it.
func (s *Sealed) seal(t *Task) string {
	var parts []string
	put := func(more ...string) { parts = append(parts, more...) }
	put(t.ID, t.Place, t.Principal, t.Tool, t.Digest, t.Face, t.Client, string(t.Arguments), fmt.Sprint(t.Capabilities))
	put(micros(t.CreatedAt), t.TTL.String(), t.Poll.String())
	put(string(t.Status), t.Message, micros(t.UpdatedAt), string(t.Body), string(t.Content), strconv.FormatBool(t.IsError))
	if t.Fault != nil {
		put("fault", strconv.Itoa(t.Fault.Code), t.Fault.Message)
	}
	for _, q := range t.Questions {
		put("question", q.Key, string(q.Needs), string(q.Params.Canonical()), strconv.FormatBool(q.Guarded))
	}
	put("round", strconv.Itoa(t.Round.Number), strconv.FormatBool(t.Round.Approved), micros(t.Round.Asked))
	if t.Round.Key != "" { // tasks without one keep the seal that they always had
		put("key", t.Round.Key)
	}
	for _, key := range slices.Sorted(maps.Keys(t.Answers)) {
		answer := t.Answers[key]
		put("answer", key, string(answer.Canonical()))
	}
	put("asked")
	put(t.Asked...)
	put("owner", t.Owner, micros(t.LeaseUntil), strconv.FormatBool(t.CancelAsked))
	return identity.Seal(s.Secret, parts...)
}

func micros(t time.Time) string { return strconv.FormatInt(t.UnixMicro(), 10) }
