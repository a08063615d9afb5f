package sessions_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/toolsets/codebase/sessions"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeStore is a store in memory.
type fakeStore struct {
	mu     sync.Mutex
	all    []sessions.Session
	pruned []string
	fail   error
	hangs  chan struct{} // Note waits for it, unless it is nil
	during func()        // called during Note
}

// hang makes Note wait until release is called.
func (n *fakeStore) hang() (release func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hangs = make(chan struct{})
	hangs := n.hangs
	return func() { close(hangs) }
}

func (n *fakeStore) waits(ctx context.Context) error {
	n.mu.Lock()
	hangs := n.hangs
	n.mu.Unlock()
	if hangs == nil {
		return nil
	}
	select {
	case <-hangs:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (n *fakeStore) Note(ctx context.Context, noted sessions.Note) (sessions.Session, error) {
	if err := n.waits(ctx); err != nil {
		return sessions.Session{}, err
	}
	if n.during != nil {
		n.during()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fail != nil {
		return sessions.Session{}, n.fail
	}
	for i := range n.all {
		if s := &n.all[i]; s.Key == noted.Key && !s.Ended && noted.At.Sub(s.Last) <= noted.Idle {
			s.Files, s.Searches, s.Tasks = append(s.Files, noted.Files...), append(s.Searches, noted.Searches...), append(s.Tasks, noted.Tasks...)
			s.Last = noted.At
			return *s, nil
		}
	}
	n.all = append(n.all, sessions.Session{
		ID: noted.NewID, Key: noted.Key, Principal: noted.Principal, Client: noted.Client, Started: noted.Started, Last: noted.At,
		Files: noted.Files, Searches: noted.Searches, Tasks: noted.Tasks,
	})
	return n.all[len(n.all)-1], nil
}

func (n *fakeStore) End(_ context.Context, key string, _ time.Time) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range n.all {
		if n.all[i].Key == key {
			n.all[i].Ended = true
		}
	}
	return n.fail
}

func (n *fakeStore) Current(_ context.Context, key string, now time.Time, idle time.Duration) (sessions.Session, bool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.all {
		if s.Key == key && !s.Ended && now.Sub(s.Last) <= idle {
			return s, true, nil
		}
	}
	return sessions.Session{}, false, n.fail
}

func (n *fakeStore) Recent(context.Context, int) ([]sessions.Session, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []sessions.Session
	for i := len(n.all) - 1; i >= 0; i-- {
		list = append(list, n.all[i])
	}
	return list, n.fail
}

func (n *fakeStore) Pruned(context.Context, int) ([]string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.pruned), n.fail
}

func (n *fakeStore) Forget(_ context.Context, ids []string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pruned = slices.DeleteFunc(n.pruned, func(id string) bool { return slices.Contains(ids, id) })
	return n.fail
}

func (n *fakeStore) setFail(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fail = err
}

// written returns the stored sessions without asking the recorder.
func (n *fakeStore) written() []sessions.Session {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.all)
}

// rig is a recorder with a store and a clock.
type rig struct {
	*sessions.Recorder
	t     *testing.T
	store *fakeStore
	now   time.Time
	opens int
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, store: &fakeStore{}, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	r.Recorder = sessions.NewRecorder(func(context.Context) (sessions.Store, error) { r.opens++; return r.store, nil },
		slog.New(slog.DiscardHandler), func() time.Time { return r.now })
	t.Cleanup(func() { r.Close(context.Background()) })
	return r
}

func (r *rig) saw(c engine.Caller, tool, args, answer string) {
	r.t.Helper()
	a, err := jsontree.Parse([]byte(args))
	b, err2 := jsontree.Parse([]byte(answer))
	if err := errors.Join(err, err2); err != nil {
		r.t.Fatal(err)
	}
	r.Record(engine.Activity{Caller: c, Tool: tool, Args: a, Answer: b, At: r.now})
}

func (r *rig) recent() []sessions.Session {
	r.t.Helper()
	list, err := r.Recent(r.t.Context(), 10)
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

func names(items []sessions.Item) string {
	var all []string
	for _, i := range items {
		all = append(all, i.What)
	}
	return strings.Join(all, " ")
}

var (
	wired   = engine.Caller{Principal: "local", Frontend: "stdio", Client: "agent/1", Connection: "c1"}
	passing = engine.Caller{Principal: "ann", Frontend: "http", Client: "curl/8"}
)

// TestRecorder: activities are recorded by session, with or without a connection.
func TestRecorder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.saw(wired, "learning-os/hello", `{"name":"x"}`, `{}`)
	r.now = r.now.Add(time.Minute)
	r.saw(wired, "context/read_file", `{"path":"a.go"}`, `{}`)
	r.saw(wired, "context/read_file", `{"path":"a.go"}`, `{}`)
	r.saw(wired, "context/context_search", `{"query":"where is it"}`, `{}`)
	r.saw(wired, "tasks/add_task", `{"title":"secret"}`, `{"success":true,"data":{"id":7}}`)
	r.saw(wired, "tasks/complete_task", `{"task_id":"9"}`, `{}`)
	r.saw(wired, "tasks/list_tasks", `{}`, `{}`)
	r.saw(passing, "books/read_content", `{"book_id":"go-101","path":"ch/1.md"}`, `{}`)
	r.saw(engine.Caller{Principal: "bob"}, "learning-os/hello", `{}`, `{}`)
	list := r.recent()
	if len(list) != 2 {
		t.Fatalf("there are %+v", list)
	}
	other, mine := list[0], list[1]
	if mine.Key != "c1" {
		other, mine = mine, other
	}
	if names(mine.Files) != "a.go" || mine.Files[0].Times != 2 || names(mine.Searches) != "where is it" || names(mine.Tasks) != "7 9" {
		t.Errorf("of the connection is kept %+v", mine)
	}
	if !mine.Started.Equal(r.now.Add(-time.Minute)) || mine.ID != r.Own(t.Context(), wired) || len(mine.ID) != 36 {
		t.Errorf("it is %+v, known as %s", mine, r.Own(t.Context(), wired))
	}
	if names(other.Files) != "go-101/ch/1.md" || other.Principal != "ann" {
		t.Errorf("of the other is kept %+v", other)
	}
	if s, ok, err := r.Current(t.Context(), wired); !ok || err != nil || s.ID != mine.ID {
		t.Errorf("the current one is %+v %v %v", s, ok, err)
	}
}

// TestRecorderEnds: a session ends with its connection, or after half an hour without a call.
func TestRecorderEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.saw(wired, "context/read_file", `{"path":"a"}`, `{}`)
	first := r.recent()[0].ID
	r.now = r.now.Add(31 * time.Minute)
	r.saw(wired, "context/read_file", `{"path":"b"}`, `{}`)
	if list := r.recent(); len(list) != 2 || list[0].ID == first || !list[0].Started.Equal(r.now) {
		t.Errorf("after half an hour there are %+v", list)
	}
	r.ConnectionClosed("c1")
	r.ConnectionClosed("unknown")
	if list := r.recent(); !list[0].Ended || r.Own(t.Context(), wired) != "" {
		t.Errorf("after it left there are %+v", list)
	}
}

// TestRecorderStaysClosed: without a recorded activity the store is not opened.
func TestRecorderStaysClosed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.saw(wired, "learning-os/hello", `{"name":"x"}`, `{}`)
	r.saw(passing, "tasks/list_tasks", `{}`, `{}`)
	r.ConnectionClosed("c1")
	r.Close(t.Context())
	if r.opens != 0 {
		t.Errorf("it was opened %d times", r.opens)
	}
}
