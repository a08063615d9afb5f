package taskstest

import (
	"testing"
	"time"

	"remit/internal/toolsets/tasks"
)

func deleted(t *testing.T, s tasks.Store, user string) []tasks.DeletedTask {
	t.Helper()
	all, err := s.Deleted(t.Context(), user, 100)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func remove(t *testing.T, s tasks.Store, id int64) {
	t.Helper()
	if err := s.Delete(t.Context(), "ann", id, nil); err != nil {
		t.Fatal(err)
	}
}

// restore checks that a deleted task comes back with everything, and that nothing else changes.
func restore(t *testing.T, s tasks.Store) {
	about, due := "about", "2026-08-02"
	first := add(t, s, task("ann", "first"))
	second := complete(t, s, add(t, s, tasks.New{
		UserID: "ann", Title: "second", Description: &about, DueDate: &due, Priority: tasks.High, DependsOn: []int64{first.ID},
	}))
	add(t, s, task("ann", "third"))
	second, err := s.Get(t.Context(), "ann", claim(t, s, second.ID, time.Hour).ID)
	if err != nil {
		t.Fatal(err)
	}
	remove(t, s, second.ID)
	remove(t, s, first.ID)
	trash := deleted(t, s, "ann")
	if len(trash) != 2 || trash[0].Title != "first" || trash[1].Title != "second" || trash[0].DeletedAt.Before(trash[1].DeletedAt) {
		t.Errorf("the trash holds %+v", trash)
	}
	if one, err := s.Deleted(t.Context(), "ann", 1); err != nil || len(one) != 1 || one[0].ID != first.ID {
		t.Errorf("one of the trash is %+v, error %v", one, err)
	}
	equal(t, len(deleted(t, s, "bob")), 0)
	_, err = s.Restore(t.Context(), "bob", second.ID)
	missing(t, "restore another's", err)
	was := revisionOfAnn(t, s)
	got, err := s.Restore(t.Context(), "ann", second.ID)
	if err != nil {
		t.Fatal(err)
	}
	want := second
	want.Claim, want.BlockedBy = nil, nil // the other one is deleted
	equal(t, got, want)
	if revisionOfAnn(t, s) == was {
		t.Error("the revision stays")
	}
	equal(t, titles(all(t, s, "ann")), "third,second")
	equal(t, all(t, s, "ann").Total, int64(2))
	_, err = s.Restore(t.Context(), "ann", second.ID)
	missing(t, "restore again", err)
	newest, err := s.Add(t.Context(), task("ann", "newest"), noon.Add(-time.Hour))
	if err != nil || newest.ID <= second.ID+1 || newest.CreatedAt.Before(noon) {
		t.Errorf("after a restore, a new task is %+v, error %v", newest, err)
	}
	if _, err := s.Restore(t.Context(), "ann", first.ID); err != nil {
		t.Fatal(err)
	}
	blocked, err := s.Get(t.Context(), "ann", second.ID)
	if err != nil || len(blocked.BlockedBy) != 1 || len(deleted(t, s, "ann")) != 0 {
		t.Errorf("after the restore of a dependency it is %+v, error %v", blocked, err)
	}
}

// restoreAtOnce checks that a task comes back once.
func restoreAtOnce(t *testing.T, s tasks.Store) {
	id := add(t, s, task("ann", "x")).ID
	remove(t, s, id)
	failed := make([]error, 4)
	atOnce(len(failed), func(i int) { _, failed[i] = s.Restore(t.Context(), "ann", id) })
	restored := 0
	for _, err := range failed {
		if err == nil {
			restored++
			continue
		}
		missing(t, "restore", err)
	}
	if total := all(t, s, "ann").Total; restored != 1 || total != 1 {
		t.Errorf("restored %d times, total %d", restored, total)
	}
}

// deletedCycle checks that a task in the trash is part of a cycle, because it can be restored.
func deletedCycle(t *testing.T, s tasks.Store) {
	a, b := add(t, s, task("ann", "a")).ID, add(t, s, task("ann", "b")).ID
	c := add(t, s, task("ann", "c")).ID
	for _, edge := range [][]int64{{a, b}, {c, a}} {
		if _, err := depend(t, s, edge[0], edge[1:]...); err != nil {
			t.Fatal(err)
		}
	}
	remove(t, s, a)
	_, err := depend(t, s, b, c)
	dependencyError(t, err, tasks.DependencyError{Cycle: []int64{b, c, a, b}})
}

func previous(t *testing.T, s tasks.Store) {
	about := "about"
	task := add(t, s, tasks.New{UserID: "ann", Title: "old", Description: &about, Priority: tasks.Low})
	if before, _, err := s.Previous(t.Context(), "ann", task.ID); err != nil || before != nil {
		t.Errorf("a new task was %+v before, error %v", before, err)
	}
	changed, err := s.Change(t.Context(), "ann", task.ID, noon.Add(time.Hour), func(t *tasks.Task) bool {
		t.Title, t.Description, t.Completed = "new", nil, true
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	claim(t, s, task.ID, time.Hour) // no change of this kind
	before, at, err := s.Previous(t.Context(), "ann", task.ID)
	if err != nil || before == nil || !at.Equal(changed.UpdatedAt) {
		t.Fatalf("before it was %+v at %s, error %v", before, at, err)
	}
	equal(t, *before, task.Version())
	_, _, err = s.Previous(t.Context(), "bob", task.ID)
	missing(t, "previous of another's", err)
}
