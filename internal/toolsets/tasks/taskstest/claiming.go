package taskstest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"remit/internal/toolsets/tasks"
)

// errTaken is the error of an edit that finds a claim.
var errTaken = errors.New("it is claimed")

// claimFor returns an edit that claims a task unless somebody has claimed it.
func claimFor(by string, lease time.Duration) tasks.Edit {
	return func(task *tasks.Task, at time.Time) error {
		if task.Claim != nil && task.Claim.Until.After(at) {
			return errTaken
		}
		task.Claim = &tasks.Claim{By: by, Until: at.Add(lease)}
		task.Fence++
		return nil
	}
}

func claim(t *testing.T, s tasks.Store, id int64, lease time.Duration) tasks.Task {
	t.Helper()
	claimed, err := s.Lease(t.Context(), "ann", id, noon, claimFor("bot", lease))
	if err != nil {
		t.Fatal(err)
	}
	return claimed
}

func lease(t *testing.T, s tasks.Store) {
	before, other := add(t, s, task("ann", "x")), add(t, s, task("ann", "other"))
	was := revisionOfAnn(t, s)
	got := claim(t, s, before.ID, time.Hour)
	want := before
	want.Claim, want.Fence = got.Claim, 1
	if got.Claim == nil || got.Claim.By != "bot" {
		t.Fatalf("the claim is %+v", got.Claim)
	}
	equal(t, got, want)
	equal(t, all(t, s, "ann").Tasks, []tasks.Task{listed(other), listed(want)})
	if revisionOfAnn(t, s) == was {
		t.Error("the revision stays")
	}
	was = revisionOfAnn(t, s)
	if _, err := s.Lease(t.Context(), "ann", before.ID, noon, claimFor("late", time.Hour)); !errors.Is(err, errTaken) {
		t.Errorf("a second claim: %v, want the error of the edit", err)
	}
	equal(t, revisionOfAnn(t, s), was)
	for user, id := range map[string]int64{"bob": before.ID, "ann": other.ID + 1} {
		_, err := s.Lease(t.Context(), user, id, noon, func(*tasks.Task, time.Time) error { t.Error("it was shown"); return nil })
		missing(t, "lease", err)
	}
	done, err := s.Change(t.Context(), "ann", before.ID, noon, func(task *tasks.Task) bool {
		equal(t, *task, want)
		task.Completed, task.Claim, task.Fence = true, nil, 7
		return true
	})
	if err != nil || done.Claim != nil {
		t.Errorf("changed to %+v, error %v", done, err)
	}
	if stored, err := s.Get(t.Context(), "ann", before.ID); err != nil || stored.Claim != nil || stored.Fence != 7 {
		t.Errorf("stored is %+v, error %v", stored, err)
	}
}

// leaseEnds checks that a claim whose lease has ended keeps nobody out, and is still stored.
func leaseEnds(t *testing.T, s tasks.Store) {
	id := add(t, s, task("ann", "x")).ID
	claim(t, s, id, 0)
	if stored, err := s.Get(t.Context(), "ann", id); err != nil || stored.Claim == nil {
		t.Errorf("stored is %+v, error %v", stored, err)
	}
	if again := claim(t, s, id, 0); again.Fence != 2 {
		t.Errorf("the second claim is %+v", again)
	}
	next, err := s.Next(t.Context(), "ann", noon, claimFor("next", time.Hour))
	if err != nil || next.ID != id || next.Claim.By != "next" {
		t.Errorf("next is %+v, error %v", next, err)
	}
	_, err = s.Next(t.Context(), "ann", noon, claimFor("late", time.Hour))
	missing(t, "next", err)
}

func leaseAtOnce(t *testing.T, s tasks.Store) {
	id := add(t, s, task("ann", "x")).ID
	var mu sync.Mutex
	won := 0
	atOnce(8, func(i int) {
		_, err := s.Lease(t.Context(), "ann", id, noon, claimFor(fmt.Sprint("bot", i), time.Hour))
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil:
			won++
		case !errors.Is(err, errTaken):
			t.Error(err)
		}
	})
	if won != 1 {
		t.Errorf("%d callers claimed the task", won)
	}
}

func nextIsBest(t *testing.T, s tasks.Store) {
	ids := map[string]int64{}
	addOne := func(title string, priority tasks.Priority, due string, dependsOn ...int64) {
		n := tasks.New{UserID: "ann", Title: title, Priority: priority, DependsOn: dependsOn}
		if due != "" {
			n.DueDate = &due
		}
		ids[title] = add(t, s, n).ID
	}
	addOne("low", tasks.Low, "2026-01-01")
	addOne("undated", tasks.High, "")
	addOne("late", tasks.High, "2026-12-31")
	addOne("early", tasks.High, "2026-02-01")
	addOne("early too", tasks.High, "2026-02-01")
	addOne("blocked", tasks.High, "2026-01-01", ids["low"])
	addOne("claimed", tasks.High, "2026-01-01")
	addOne("done", tasks.High, "2026-01-01")
	add(t, s, tasks.New{UserID: "bob", Title: "of bob", Priority: tasks.High})
	claim(t, s, ids["claimed"], time.Hour)
	complete(t, s, tasks.Task{ID: ids["done"], UserID: "ann"})

	was := revisionOfAnn(t, s)
	ready := list(t, s, "ann", tasks.Filter{ReadyAt: s.Clock(noon)}, tasks.Part{Limit: 100})
	equal(t, titles(ready), "early too,early,late,undated,low")
	equal(t, ready.Total, int64(5))
	var order []string
	for range ready.Tasks {
		looked, err := s.Next(t.Context(), "ann", noon, nil)
		if err != nil || revisionOfAnn(t, s) != was {
			t.Fatalf("next changes something, or fails: %v", err)
		}
		next, err := s.Next(t.Context(), "ann", noon, claimFor("bot", time.Hour))
		if err != nil || next.ID != looked.ID || next.UserID != "ann" {
			t.Fatalf("next is %+v, error %v; it was to be %+v", next, err, looked)
		}
		order, was = append(order, next.Title), revisionOfAnn(t, s)
	}
	equal(t, order, []string{"early", "early too", "late", "undated", "low"})
	for _, edit := range []tasks.Edit{nil, claimFor("bot", time.Hour)} {
		_, err := s.Next(t.Context(), "ann", noon, edit)
		missing(t, "next", err)
	}
	_, err := s.Next(t.Context(), "nobody", noon, claimFor("bot", time.Hour))
	missing(t, "next of nobody", err)
}

func nextAtOnce(t *testing.T, s tasks.Store) {
	const many = 40
	for range many {
		add(t, s, task("ann", "x"))
	}
	var mu sync.Mutex
	given := map[int64]int{}
	atOnce(8, func(i int) {
		for {
			next, err := s.Next(t.Context(), "ann", noon, claimFor(fmt.Sprint("bot", i), time.Hour))
			if errors.Is(err, tasks.ErrNotFound) {
				return
			}
			mu.Lock()
			given[next.ID]++
			if err != nil || given[next.ID] != 1 {
				t.Errorf("task %d was given %d times, error %v", next.ID, given[next.ID], err)
			}
			mu.Unlock()
			if err != nil {
				return
			}
		}
	})
	equal(t, len(given), many)
}

func waiting(t *testing.T, s tasks.Store) {
	count := func() tasks.Waiting {
		t.Helper()
		w, err := s.Waiting(t.Context(), "ann", noon)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	equal(t, count(), tasks.Waiting{})
	first, second := add(t, s, task("ann", "x")), add(t, s, task("ann", "y"))
	add(t, s, tasks.New{UserID: "ann", Title: "z", Priority: tasks.Low, DependsOn: []int64{first.ID, second.ID}})
	equal(t, count(), tasks.Waiting{Ready: 2, Blocked: 1})
	claim(t, s, first.ID, 0) // it has ended
	equal(t, count(), tasks.Waiting{Ready: 2, Blocked: 1})
	claim(t, s, second.ID, 2*time.Hour)
	until := claim(t, s, first.ID, time.Hour).Claim.Until
	equal(t, count(), tasks.Waiting{Claimed: 2, Blocked: 1, Until: &until})
	complete(t, s, first)
	complete(t, s, second)
	equal(t, count(), tasks.Waiting{Ready: 1})
}

func dependencies(t *testing.T, s tasks.Store) {
	first, second := add(t, s, task("ann", "1")), add(t, s, task("ann", "2"))
	foreign := add(t, s, task("bob", "foreign"))
	n := task("ann", "3")
	n.DependsOn = []int64{second.ID, first.ID}
	third := add(t, s, n)
	equal(t, third.DependsOn, n.DependsOn)
	equal(t, third.BlockedBy, n.DependsOn)
	check := func(dependsOn, blockedBy []int64) {
		t.Helper()
		got, err := s.Get(t.Context(), "ann", third.ID)
		slices.Sort(got.BlockedBy)
		if err != nil || !slices.Equal(got.DependsOn, dependsOn) || !slices.Equal(got.BlockedBy, blockedBy) {
			t.Errorf("it depends on %v and is blocked by %v, error %v", got.DependsOn, got.BlockedBy, err)
		}
	}
	check(n.DependsOn, []int64{first.ID, second.ID})
	complete(t, s, first)
	check(n.DependsOn, []int64{second.ID})
	if err := s.Delete(t.Context(), "ann", second.ID, nil); err != nil {
		t.Fatal(err)
	}
	check(n.DependsOn, nil)
	for _, id := range []int64{foreign.ID, second.ID, third.ID + 1000} {
		n.DependsOn = []int64{first.ID, id}
		_, err := s.Add(t.Context(), n, noon)
		dependencyError(t, err, tasks.DependencyError{Missing: id})
		_, err = depend(t, s, third.ID, id)
		dependencyError(t, err, tasks.DependencyError{Missing: id})
	}
	equal(t, all(t, s, "ann").Total, int64(2))
	changed, err := depend(t, s, third.ID)
	if err != nil || len(changed.DependsOn) > 0 {
		t.Errorf("without dependencies it is %+v, error %v", changed, err)
	}
	check(nil, nil)
}

// depend sets what a task of ann depends on.
func depend(t *testing.T, s tasks.Store, id int64, on ...int64) (tasks.Task, error) {
	return s.Change(t.Context(), "ann", id, noon, func(task *tasks.Task) bool { task.DependsOn = on; return true })
}

func dependencyError(t *testing.T, err error, want tasks.DependencyError) {
	t.Helper()
	got, ok := errors.AsType[*tasks.DependencyError](err)
	if !ok {
		t.Errorf("error %v, want %v", err, &want)
		return
	}
	equal(t, *got, want)
}

func cycles(t *testing.T, s tasks.Store) {
	var ids []int64
	for range 4 {
		ids = append(ids, add(t, s, task("ann", "x")).ID)
	}
	a, b, c, d := ids[0], ids[1], ids[2], ids[3]
	for _, edge := range [][]int64{{a, b, d}, {b, c}, {d, c}} {
		if _, err := depend(t, s, edge[0], edge[1:]...); err != nil {
			t.Fatal(err)
		}
	}
	_, err := depend(t, s, a, a)
	dependencyError(t, err, tasks.DependencyError{Cycle: []int64{a, a}})
	_, err = depend(t, s, b, c, a)
	dependencyError(t, err, tasks.DependencyError{Cycle: []int64{b, a, b}})
	_, err = depend(t, s, c, a)
	dependencyError(t, err, tasks.DependencyError{Cycle: []int64{c, a, b, c}})
	if got, err := s.Get(t.Context(), "ann", c); err != nil || got.DependsOn != nil {
		t.Errorf("a refused change was stored: %+v, error %v", got, err)
	}
	// Of two changes that form a cycle together, one wins.
	e, f := add(t, s, task("ann", "e")).ID, add(t, s, task("ann", "f")).ID
	failed := make([]error, 2)
	atOnce(2, func(i int) { _, failed[i] = depend(t, s, []int64{e, f}[i], []int64{f, e}[i]) })
	if (failed[0] == nil) == (failed[1] == nil) {
		t.Errorf("the errors are %v and %v", failed[0], failed[1])
	}
}
