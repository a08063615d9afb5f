package background

import (
	"context"
	"crypto/hmac"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"remit/internal/engine/identity"
)

// Sealed is a Store that knows only tasks that were kept with the secret. The
// database may lie in a folder that came from elsewhere, and a task in it carries
// what a person approved: nothing that lies there may speak for them.
type Sealed struct {
	Store
	Secret []byte
}

var _ Store = (*Sealed)(nil)

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
		return Task{}, notFound(id)
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
