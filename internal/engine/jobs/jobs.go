// Package jobs runs calls that outlive the request that started them, and stores their results. MCP
// calls them tasks.
//
// A task is stored before its caller gets its id. While it waits for answers nothing of it is in
// memory: the answers start the call again from the beginning, in whichever process they arrive.
// While it runs, one process holds a lease on it; when the lease lapses, the task has failed.
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

// Status is the state of a task.
type Status string

// The statuses. The last three are final: such a task never changes again.
const (
	Working       Status = "working"
	InputRequired Status = "input_required"
	Completed     Status = "completed"
	Failed        Status = "failed"
	Cancelled     Status = "cancelled"
)

// Final reports whether the task has ended.
func (s Status) Final() bool { return s == Completed || s == Failed || s == Cancelled }

// Task is a call in the background.
type Task struct {
	// What was called, by whom, and how long it is stored. These fields do not change.
	ID           string
	Workspace    string // see Runner.Workspace
	Principal    string
	Tool         string // the name of the tool in the endpoint, as in engine.Call
	Digest       string // of the tool's contract; "" if there was no such tool
	Frontend     string
	Client       string
	Arguments    []byte              // canonical JSON
	Capabilities []engine.Capability // the capabilities of the client that we know of
	CreatedAt    time.Time
	TTL          time.Duration // from creation
	Poll         time.Duration // how often a client should poll at most

	// The state and the result.
	Status    Status
	Message   string // for people
	UpdatedAt time.Time
	Questions []engine.Question // open ones, while input_required
	Body      []byte            // of a completed task, as in engine.Result
	Content   []byte            // of a completed task, as in engine.Result
	// IsError means that a completed task has an error in the shape of the set, which is Body.
	IsError bool
	Fault   *engine.ProtocolError // of a failed task

	// The input of the next run.
	Continuation engine.Continuation
	Answers      map[string]jsontree.Value
	Asked        []string // the keys of all questions that this task ever asked

	// The process that runs the task, while its status is Working.
	Owner       string
	LeaseUntil  time.Time
	CancelAsked bool

	Revision int64  // counts changes; zero before the task is stored
	Seal     string // proves that the task was stored by us; see Sealed
}

// ExpiresAt returns when the task is deleted. It exists until the instant before.
func (t *Task) ExpiresAt() time.Time { return t.CreatedAt.Add(t.TTL) }

// Lapsed reports whether the lease of a running task has ended, because the process that ran it has
// stopped.
func (t *Task) Lapsed(now time.Time) bool {
	return t.Status == Working && !now.Before(t.LeaseUntil)
}

// MaxUnfinished is how many unfinished tasks one principal may have at once.
const MaxUnfinished = 200

// TooManyError returns the error of a Store if a principal would have more than MaxUnfinished
// unfinished tasks.
func TooManyError() error {
	return contract.Errorf(contract.Limited, "You have %d unfinished tasks, which is the limit; wait until some finish, or answer or cancel some",
		MaxUnfinished)
}

// Store stores tasks. What a method has acknowledged survives a crash. Every method is safe for
// concurrent use, also by several processes. Errors of kind not_found and limited are as stated;
// any other error means that the store failed. Times have microsecond precision.
type Store interface {
	// Add stores a new task as revision 1, and deletes all tasks that have expired when it is
	// created. It returns a contract.Limited error if its principal has MaxUnfinished other
	// unfinished tasks; those that have lapsed do not count.
	Add(ctx context.Context, t Task) error

	// Get returns the task with this id, and a contract.NotFound error if there is none. It may
	// return an expired task or not.
	Get(ctx context.Context, id string) (Task, error)

	// Swap stores the state of t as the next revision, if the stored task is unfinished and still
	// has the revision of t. Otherwise it returns false and changes nothing. So of two concurrent
	// changes of a revision one must read the task again, and final tasks never change.
	Swap(ctx context.Context, t Task) (bool, error)
}

// Sealed is a Store that finds only tasks that were stored with the secret. The database may be in
// a folder that came from elsewhere, and a task contains the approvals of a person, so nothing in
// it may act in the name of that person.
type Sealed struct {
	Store
	Secret []byte
}

// Add stores a task with its seal.
func (s *Sealed) Add(ctx context.Context, t Task) error {
	t.Seal = s.seal(&t)
	return s.Store.Add(ctx, t)
}

// Swap stores a changed task with its seal.
func (s *Sealed) Swap(ctx context.Context, t Task) (bool, error) {
	t.Seal = s.seal(&t)
	return s.Store.Swap(ctx, t)
}

// Get returns a contract.NotFound error if the seal of the task is not valid.
func (s *Sealed) Get(ctx context.Context, id string) (Task, error) {
	t, err := s.Store.Get(ctx, id)
	if err == nil && !hmac.Equal([]byte(t.Seal), []byte(s.seal(&t))) {
		return Task{}, NotFound(id)
	}
	return t, err
}

// seal covers everything that is stored of a task, except for the revision, which the store sets.
// Stores keep times in microseconds, so the seal does too.
func (s *Sealed) seal(t *Task) string {
	var parts []string
	put := func(more ...string) { parts = append(parts, more...) }
	put(t.ID, t.Workspace, t.Principal, t.Tool, t.Digest, t.Frontend, t.Client, string(t.Arguments), fmt.Sprint(t.Capabilities))
	put(micros(t.CreatedAt), t.TTL.String(), t.Poll.String())
	put(string(t.Status), t.Message, micros(t.UpdatedAt), string(t.Body), string(t.Content), strconv.FormatBool(t.IsError))
	if t.Fault != nil {
		put("fault", strconv.Itoa(t.Fault.Code), t.Fault.Message)
	}
	for _, q := range t.Questions {
		put("question", q.Key, string(q.Needs), string(q.Params.Canonical()), strconv.FormatBool(q.Guarded))
	}
	put("round", strconv.Itoa(t.Continuation.Attempt), strconv.FormatBool(t.Continuation.Approved), micros(t.Continuation.Asked))
	if t.Continuation.Key != "" { // tasks without a key keep the seal that they always had
		put("key", t.Continuation.Key)
	}
	if t.Continuation.Owner != "" { // as above
		put("caller", t.Continuation.Owner)
	}
	if t.Continuation.By != "" {
		put("by", t.Continuation.By)
	}
	if t.Continuation.Rule != "" {
		put("rule", t.Continuation.Rule)
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
