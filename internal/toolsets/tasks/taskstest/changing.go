package taskstest

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"remit/internal/toolsets/tasks"
)

func get(t *testing.T, s tasks.Store) {
	want := add(t, s, task("ann", "x"))
	got, err := s.Get(t.Context(), "ann", want.ID)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, got, want)
	for user, id := range map[string]int64{"bob": want.ID, "ann": want.ID + 1, "": want.ID, "Ann": want.ID} {
		_, err := s.Get(t.Context(), user, id)
		missing(t, "get", err)
	}
}

func change(t *testing.T, s tasks.Store) {
	about, due := "about", "2026-08-02"
	before := add(t, s, tasks.New{UserID: "ann", Title: "old", Description: &about, Priority: tasks.Low})
	other := add(t, s, task("ann", "other"))
	later := noon.Add(time.Hour)
	got, err := s.Change(t.Context(), "ann", before.ID, later, func(task *tasks.Task) bool {
		equal(t, *task, before)
		task.Title, task.Description, task.DueDate, task.Priority, task.Completed = "new", nil, &due, tasks.High, true
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	want := tasks.Task{ID: before.ID, UserID: "ann", Title: "new", Completed: true, Priority: tasks.High, DueDate: &due, CreatedAt: noon, UpdatedAt: later}
	equal(t, got, want)
	equal(t, all(t, s, "ann").Tasks, []tasks.Task{listed(other), listed(want)})
	for user, id := range map[string]int64{"bob": before.ID, "ann": other.ID + 1} {
		_, err := s.Change(t.Context(), user, id, later, func(*tasks.Task) bool { t.Error("it was shown"); return true })
		missing(t, "change", err)
	}
}

func changeNothing(t *testing.T, s tasks.Store) {
	before := add(t, s, task("ann", "x"))
	was := revisionOfAnn(t, s)
	got, err := s.Change(t.Context(), "ann", before.ID, noon.Add(time.Hour), func(*tasks.Task) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	equal(t, got, before)
	equal(t, all(t, s, "ann").Tasks, []tasks.Task{listed(before)})
	equal(t, revisionOfAnn(t, s), was)
}

func changeAtOnce(t *testing.T, s tasks.Store) {
	id := add(t, s, task("ann", "")).ID
	atOnce(8, func(i int) {
		for range 5 {
			_, err := s.Change(t.Context(), "ann", id, noon, func(task *tasks.Task) bool { task.Title += strconv.Itoa(i); return true })
			if err != nil {
				t.Error(err)
			}
		}
	})
	got, err := s.Get(t.Context(), "ann", id)
	if err != nil || len(got.Title) != 40 {
		t.Errorf("of 40 changes %d are there: %q, error %v", len(got.Title), got.Title, err)
	}
}

func deleteOnce(t *testing.T, s tasks.Store) {
	kept, gone := add(t, s, task("ann", "kept")), add(t, s, task("ann", "gone"))
	missing(t, "delete another's", s.Delete(t.Context(), "bob", gone.ID, nil))
	add(t, s, task("bob", "of bob"))
	missing(t, "delete another's", s.Delete(t.Context(), "bob", gone.ID, nil))
	if err := s.Delete(t.Context(), "ann", gone.ID, nil); err != nil {
		t.Fatal(err)
	}
	missing(t, "delete again", s.Delete(t.Context(), "ann", gone.ID, nil))
	_, err := s.Get(t.Context(), "ann", gone.ID)
	missing(t, "get what is gone", err)
	equal(t, all(t, s, "ann"), tasks.Page{Tasks: []tasks.Task{listed(kept)}, Total: 1})
	equal(t, all(t, s, "bob").Total, int64(1))
}

// deleteChecked checks that the error of the check keeps the task, and that it gets the stored
// task.
func deleteChecked(t *testing.T, s tasks.Store) {
	task := add(t, s, tasks.New{UserID: "ann", Title: "Milk", Priority: tasks.High})
	refused := errors.New("it has changed")
	err := s.Delete(t.Context(), "ann", task.ID, func(stored *tasks.Task) error {
		if stored.Title != "Milk" || stored.ID != task.ID {
			t.Errorf("the check gets %+v", stored)
		}
		return refused
	})
	if !errors.Is(err, refused) {
		t.Errorf("delete: %v, want the error of the check", err)
	}
	if got := all(t, s, "ann"); got.Total != 1 {
		t.Errorf("%d tasks are left, want 1", got.Total)
	}
	if err := s.Delete(t.Context(), "ann", task.ID, func(*tasks.Task) error { return nil }); err != nil {
		t.Errorf("delete: %v", err)
	}
	if err := s.Delete(t.Context(), "ann", task.ID, func(*tasks.Task) error { return nil }); !errors.Is(err, tasks.ErrNotFound) {
		t.Errorf("delete again: %v", err)
	}
}

func deleteAtOnce(t *testing.T, s tasks.Store) {
	add(t, s, task("ann", "kept"))
	id := add(t, s, task("ann", "gone")).ID
	var mu sync.Mutex
	deleted := 0
	atOnce(8, func(int) {
		err := s.Delete(t.Context(), "ann", id, nil)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil:
			deleted++
		case !errors.Is(err, tasks.ErrNotFound):
			t.Error(err)
		}
	})
	if page := all(t, s, "ann"); deleted != 1 || page.Total != 1 {
		t.Errorf("deleted %d times, total %d", deleted, page.Total)
	}
}

func changeBreaks(t *testing.T, s tasks.Store) {
	before := add(t, s, task("ann", "x"))
	was := revisionOfAnn(t, s)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is lost")
			}
		}()
		_, _ = s.Change(t.Context(), "ann", before.ID, noon, func(task *tasks.Task) bool {
			task.Title = "broken"
			panic("broken")
		})
	}()
	equal(t, all(t, s, "ann").Tasks, []tasks.Task{listed(before)})
	equal(t, revisionOfAnn(t, s), was)
	add(t, s, task("ann", "goes on"))
}

func cancelled(t *testing.T, s tasks.Store) {
	before := add(t, s, task("ann", "x"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, addErr := s.Add(ctx, task("ann", "y"), noon)
	_, changeErr := s.Change(ctx, "ann", before.ID, noon, func(task *tasks.Task) bool { task.Title = "z"; return true })
	_, listErr := s.List(ctx, "ann", tasks.Filter{}, tasks.Part{Limit: 1})
	for _, err := range []error{addErr, changeErr, listErr, s.Delete(ctx, "ann", before.ID, nil)} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want context.Canceled", err)
		}
	}
	equal(t, all(t, s, "ann"), tasks.Page{Tasks: []tasks.Task{listed(before)}, Total: 1})
}

func revisionOfAnn(t *testing.T, s tasks.Store) int64 {
	t.Helper()
	n, err := s.Revision(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func revision(t *testing.T, s tasks.Store) {
	seen := []int64{revisionOfAnn(t, s)}
	if seen[0] != 0 {
		t.Errorf("before the first task it is %d", seen[0])
	}
	note := func(act string) {
		t.Helper()
		now := revisionOfAnn(t, s)
		if slices.Contains(seen, now) {
			t.Errorf("%s: %d was there before", act, now)
		}
		seen = append(seen, now)
	}
	one := add(t, s, task("ann", "x"))
	note("add")
	complete(t, s, one)
	note("change")
	if err := s.Delete(t.Context(), "ann", one.ID, nil); err != nil {
		t.Fatal(err)
	}
	note("delete")
	add(t, s, task("bob", "x"))
	missing(t, "delete again", s.Delete(t.Context(), "ann", one.ID, nil))
	equal(t, revisionOfAnn(t, s), seen[len(seen)-1])
}

func alikeUsers(t *testing.T, s tasks.Store) {
	users := []string{
		"a", "A", "a ", " a", "a%", "_", "%", "é", "e\u0301", "\u212a", "k", "K", "1", "01", "a/b", "task://a", "'; DROP TABLE tasks; --", "$1", "漢字",
		strings.Repeat("u", 255), strings.Repeat("u", 254),
	}
	for _, user := range users {
		add(t, s, task(user, user))
	}
	for _, user := range users {
		if page := all(t, s, user); titles(page) != user || page.Total != 1 {
			t.Errorf("%q has %q, total %d", user, titles(page), page.Total)
		}
	}
}
