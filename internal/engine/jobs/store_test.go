package jobs_test

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sync"
	"testing"

	"remit/internal/contract"
	"remit/internal/engine/jobs"
	"remit/internal/engine/jobs/jobstest"
)

// memory is a Store in memory. It passes the suite, so that the tests of the Runner also hold for
// real stores.
type memory struct {
	mu    sync.Mutex
	tasks map[string]jobs.Task
	fail  func(method string) error // returned by a method, if set and not nil
}

var _ jobs.Store = (*memory)(nil)

func TestMemory(t *testing.T) {
	jobstest.Suite(t, func(*testing.T) jobs.Store { return &memory{} })
}

func (m *memory) enter(ctx context.Context, method string) (leave func(), err error) {
	m.mu.Lock()
	if m.tasks == nil {
		m.tasks = map[string]jobs.Task{}
	}
	if m.fail != nil {
		err = m.fail(method)
	}
	if err == nil {
		err = ctx.Err()
	}
	return m.mu.Unlock, err
}

func (m *memory) Add(ctx context.Context, t jobs.Task) error {
	leave, err := m.enter(ctx, "add")
	defer leave()
	if err != nil {
		return err
	}
	maps.DeleteFunc(m.tasks, func(_ string, o jobs.Task) bool { return !t.CreatedAt.Before(o.ExpiresAt()) })
	unfinished := 0
	for _, o := range m.tasks {
		if o.Principal == t.Principal && !o.Status.Final() && !o.Lapsed(t.CreatedAt) {
			unfinished++
		}
	}
	if unfinished >= jobs.MaxUnfinished {
		return jobs.TooManyError()
	}
	t.Revision = 1
	m.tasks[t.ID] = clone(t)
	return nil
}

func (m *memory) Get(ctx context.Context, id string) (jobs.Task, error) {
	leave, err := m.enter(ctx, "get")
	defer leave()
	if err != nil {
		return jobs.Task{}, err
	}
	t, ok := m.tasks[id]
	if !ok {
		return jobs.Task{}, contract.Errorf(contract.NotFound, "There is no task %s", id)
	}
	return clone(t), nil
}

func (m *memory) Swap(ctx context.Context, t jobs.Task) (bool, error) {
	leave, err := m.enter(ctx, "swap")
	defer leave()
	if err != nil {
		return false, err
	}
	kept, ok := m.tasks[t.ID]
	if !ok || kept.Status.Final() || kept.Revision != t.Revision {
		return false, nil
	}
	t.Revision++
	t.Principal, t.Tool, t.Arguments = kept.Principal, kept.Tool, kept.Arguments
	m.tasks[t.ID] = clone(t)
	return true, nil
}

// peek returns a task without the Runner.
func (m *memory) peek(id string) (t jobs.Task, all int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tasks[id], len(m.tasks)
}

// failWith makes the methods return the errors of f.
func (m *memory) failWith(f func(method string) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = f
}

// clone copies what a caller could change.
func clone(t jobs.Task) jobs.Task {
	t.Arguments, t.Questions, t.Asked = bytes.Clone(t.Arguments), slices.Clone(t.Questions), slices.Clone(t.Asked)
	t.Answers = maps.Clone(t.Answers)
	return t
}
