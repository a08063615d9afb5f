package taskstest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"remit/internal/toolsets/tasks"
)

// twoUsers runs random operations of two users, also on each other's tasks, and compares the store
// with a simple model.
func twoUsers(t *testing.T, s tasks.Store) {
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++ // each run has its own users
		m := &model{store: s, users: []string{fmt.Sprint("ann", run), fmt.Sprint("bob", run)}}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			m.step(t, rt)
		}
		for _, user := range m.users {
			m.compare(t, rt, user)
		}
	})
}

// model is the expected content of the store for two users, oldest first.
type model struct {
	store tasks.Store
	users []string
	kept  []tasks.Task
	gone  []int64
	clock time.Duration
}

// step applies one operation to the store and to the model.
func (m *model) step(t *testing.T, rt *rapid.T) {
	user := rapid.SampledFrom(m.users).Draw(rt, "user")
	m.clock += time.Duration(rapid.IntRange(0, 3).Draw(rt, "seconds")) * time.Second
	now := noon.Add(m.clock)
	switch rapid.SampledFrom([]string{"add", "add", "complete", "rename", "delete", "get"}).Draw(rt, "act") {
	case "add":
		added, err := m.store.Add(t.Context(), m.draw(rt, user), now)
		if err != nil || slices.Contains(m.gone, added.ID) {
			rt.Fatalf("add: id %d, error %v", added.ID, err)
		}
		m.kept = append(m.kept, added)
	case "complete":
		m.change(t, rt, user, now, func(task *tasks.Task) bool { was := task.Completed; task.Completed = true; return !was })
	case "rename":
		title := rapid.SampledFrom([]string{"x", "y"}).Draw(rt, "title")
		m.change(t, rt, user, now, func(task *tasks.Task) bool { was := task.Title; task.Title = title; return was != title })
	case "delete":
		i, id := m.pick(rt, user)
		m.found(rt, i, m.store.Delete(t.Context(), user, id, nil))
		if i >= 0 {
			m.kept, m.gone = slices.Delete(m.kept, i, i+1), append(m.gone, id)
		}
	case "get":
		i, id := m.pick(rt, user)
		got, err := m.store.Get(t.Context(), user, id)
		m.found(rt, i, err)
		if i >= 0 && !cmp.Equal(got, m.kept[i]) {
			rt.Fatalf("-want +got:\n%s", cmp.Diff(m.kept[i], got))
		}
	}
}

func (m *model) draw(rt *rapid.T, user string) tasks.New {
	n := task(user, rapid.SampledFrom([]string{"x", "y", "Ü"}).Draw(rt, "title"))
	n.Priority = rapid.SampledFrom([]tasks.Priority{tasks.Low, tasks.Medium, tasks.High}).Draw(rt, "priority")
	if due := rapid.SampledFrom([]string{"", "2026-08-01", "2026-09-01"}).Draw(rt, "due"); due != "" {
		n.DueDate = &due
	}
	return n
}

// pick draws any id ever used, and returns the index of the user's task with it, or -1.
func (m *model) pick(rt *rapid.T, user string) (i int, id int64) {
	ids := slices.Concat(m.gone, []int64{1})
	for _, task := range m.kept {
		ids = append(ids, task.ID)
	}
	id = rapid.SampledFrom(ids).Draw(rt, "id")
	return slices.IndexFunc(m.kept, func(task tasks.Task) bool { return task.ID == id && task.UserID == user }), id
}

// found checks that the store found a task exactly if the model has it.
func (m *model) found(rt *rapid.T, i int, err error) {
	if i >= 0 && err != nil || i < 0 && !errors.Is(err, tasks.ErrNotFound) {
		rt.Fatalf("task %d of the model: error %v", i, err)
	}
}

func (m *model) change(t *testing.T, rt *rapid.T, user string, now time.Time, edit func(*tasks.Task) bool) {
	i, id := m.pick(rt, user)
	got, err := m.store.Change(t.Context(), user, id, now, edit)
	m.found(rt, i, err)
	if i < 0 {
		return
	}
	if edit(&m.kept[i]) {
		m.kept[i].UpdatedAt = now
	}
	if !cmp.Equal(got, m.kept[i]) {
		rt.Fatalf("-want +got:\n%s", cmp.Diff(m.kept[i], got))
	}
}

// compare compares the filtered list of a user.
func (m *model) compare(t *testing.T, rt *rapid.T, user string) {
	f := tasks.Filter{
		Status:    rapid.SampledFrom([]tasks.Status{"", tasks.Open, tasks.Completed}).Draw(rt, "status"),
		DueBefore: rapid.SampledFrom([]string{"", "2026-08-15"}).Draw(rt, "due before"),
		Search:    rapid.SampledFrom([]string{"", "X", "ü"}).Draw(rt, "search"),
	}
	var want tasks.Page
	for _, task := range slices.Backward(m.kept) {
		if task.UserID == user && chooses(&f, &task) {
			want.Tasks = append(want.Tasks, listed(task))
			want.Total++
		}
	}
	got, err := m.store.List(t.Context(), user, f, tasks.Part{Limit: 1000})
	if err != nil || !cmp.Equal(got, want) {
		rt.Fatalf("%+v, error %v: -want +got:\n%s", f, err, cmp.Diff(want, got))
	}
}

// chooses reports whether a filter selects a task.
func chooses(f *tasks.Filter, t *tasks.Task) bool {
	switch {
	case f.Status != "" && (f.Status == tasks.Completed) != t.Completed,
		f.Priority != "" && f.Priority != t.Priority,
		f.DueBefore != "" && (t.DueDate == nil || *t.DueDate >= f.DueBefore),
		f.DueAfter != "" && (t.DueDate == nil || *t.DueDate <= f.DueAfter):
		return false
	}
	return f.Search == "" || tasks.Searcher(f.Search)(t)
}
