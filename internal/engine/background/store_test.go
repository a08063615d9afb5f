package background_test

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sync"
	"testing"

	"remit/internal/contract"
	"remit/internal/engine/background"
	"remit/internal/engine/background/backgroundtest"
)

// memory is a Store in memory. It passes the suite, so that what the runner's tests
// show holds for the real ones.
type memory struct {
	mu    sync.Mutex
	tasks map[string]background.Task
	fail  func(method string) error // what a method returns, if it is set and not nil
}

var _ background.Store = (*memory)(nil)

func TestMemory(t *testing.T) {
	backgroundtest.Suite(t, func(*testing.T) background.Store { return &memory{} })
}

func (m *memory) enter(ctx context.Context, method string) (leave func(), err error) {
	m.mu.Lock()
	if m.tasks == nil {
		m.tasks = map[string]background.Task{}
	}
	if m.fail != nil {
		err = m.fail(method)
	}
	if err == nil {
		err = ctx.Err()
	}
	return m.mu.Unlock, err
}

func (m *memory) Add(ctx context.Context, t background.Task) error {
	leave, err := m.enter(ctx, "add")
	defer leave()
	if err != nil {
		return err
	}
	maps.DeleteFunc(m.tasks, func(_ string, o background.Task) bool { return !t.CreatedAt.Before(o.ExpiresAt()) })
	unfinished := 0
	for _, o := range m.tasks {
		if o.Principal == t.Principal && !o.Status.Final() && !o.Lapsed(t.CreatedAt) {
			unfinished++
		}
	}
	if unfinished >= background.MostUnfinished {
		return background.TooMany()
	}
	t.Revision = 1
	m.tasks[t.ID] = clone(t)
	return nil
}

func (m *memory) Get(ctx context.Context, id string) (background.Task, error) {
	leave, err := m.enter(ctx, "get")
	defer leave()
	if err != nil {
		return background.Task{}, err
	}
	t, ok := m.tasks[id]
	if !ok {
		return background.Task{}, contract.Errorf(contract.NotFound, "There is no task %s", id)
	}
	return clone(t), nil
}

func (m *memory) Swap(ctx context.Context, t background.Task) (bool, error) {
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

// peek looks past whoever runs the tasks.
func (m *memory) peek(id string) (t background.Task, all int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tasks[id], len(m.tasks)
}

// failWith makes the methods fail as f says, from now on.
func (m *memory) failWith(f func(method string) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = f
}

// clone copies what a caller could change.
func clone(t background.Task) background.Task {
	t.Arguments, t.Questions, t.Asked = bytes.Clone(t.Arguments), slices.Clone(t.Questions), slices.Clone(t.Asked)
	t.Answers = maps.Clone(t.Answers)
	return t
}
