package taskstest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"remit/internal/toolsets/tasks"
)

func addKeeps(t *testing.T, s tasks.Store) {
	about, due := "Milk, eggs", "2026-08-02"
	got := add(t, s, tasks.New{UserID: "ann", Title: "Buy groceries", Description: &about, Priority: tasks.High, DueDate: &due})
	want := tasks.Task{
		ID: got.ID, UserID: "ann", Title: "Buy groceries", Description: &about, Priority: tasks.High, DueDate: &due,
		CreatedAt: noon, UpdatedAt: noon,
	}
	equal(t, got, want)
	if got.ID < 1 {
		t.Errorf("the id is %d", got.ID)
	}
	bare := add(t, s, tasks.New{UserID: "ann", Title: "Bare", Priority: tasks.Low})
	equal(t, bare, tasks.Task{ID: bare.ID, UserID: "ann", Title: "Bare", Priority: tasks.Low, CreatedAt: noon, UpdatedAt: noon})
	equal(t, all(t, s, "ann").Tasks, []tasks.Task{listed(bare), listed(want)})
}

func textsStay(t *testing.T, s tasks.Store) {
	long := strings.Repeat("語", 1000)
	for _, text := range []string{"", " ", "é e\u0301 漢字 🙂 \u202e", `'"\;--%_$1`, "two\nlines\r\n\t", "\x01\x7f", long} {
		added := add(t, s, tasks.New{UserID: "ann", Title: text, Description: &text, Priority: tasks.Low})
		got, err := s.Get(t.Context(), "ann", added.ID)
		if err != nil || got.Title != text || got.Description == nil || *got.Description != text {
			t.Errorf("%q came back as %+v, error %v", text, got, err)
		}
	}
}

func idsAreNew(t *testing.T, s tasks.Store) {
	last := int64(0)
	for _, user := range []string{"ann", "bob", "ann", "ann", "bob", "cyd"} {
		id := add(t, s, task(user, "x")).ID
		if id <= last {
			t.Errorf("the new id %d is not greater than the previous id %d", id, last)
		}
		if err := s.Delete(t.Context(), user, id, nil); err != nil {
			t.Fatal(err)
		}
		last = id
	}
}

func clockPutBack(t *testing.T, s tasks.Store) {
	first := add(t, s, task("ann", "first"))
	second, err := s.Add(t.Context(), task("ann", "second"), noon.Add(-time.Hour))
	if err != nil || second.CreatedAt.Before(first.CreatedAt) || !second.UpdatedAt.Equal(second.CreatedAt) {
		t.Errorf("second is %+v, error %v", second, err)
	}
	third, err := s.Add(t.Context(), task("bob", "of another"), noon.Add(-time.Hour))
	if err != nil || !third.CreatedAt.Equal(noon.Add(-time.Hour)) {
		t.Errorf("the clock of one is that of another: %+v, error %v", third, err)
	}
	changed, err := s.Change(t.Context(), "ann", first.ID, noon.Add(-time.Minute), func(t *tasks.Task) bool { t.Title = "1st"; return true })
	if err != nil || changed.UpdatedAt.Before(changed.CreatedAt) {
		t.Errorf("changed to %+v, error %v", changed, err)
	}
	equal(t, titles(all(t, s, "ann")), "second,1st")
}

// atOnce runs f in n goroutines and waits for all of them.
func atOnce(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

func addAtOnce(t *testing.T, s tasks.Store) {
	const each = 25
	users := []string{"ann", "ann", "ann", "ann", "bob", "bob", "cyd", "dee"}
	var mu sync.Mutex
	ids := map[int64]string{}
	atOnce(len(users), func(i int) {
		for n := range each {
			added, err := s.Add(t.Context(), task(users[i], fmt.Sprint(i, "-", n)), noon)
			mu.Lock()
			if _, taken := ids[added.ID]; taken || err != nil {
				t.Errorf("id %d, error %v", added.ID, err)
			}
			ids[added.ID] = added.Title
			mu.Unlock()
		}
	})
	for user, want := range map[string]int{"ann": 4 * each, "bob": 2 * each, "cyd": each, "dee": each} {
		page := all(t, s, user)
		if len(page.Tasks) != want || page.Total != int64(want) {
			t.Errorf("%s has %d tasks, total %d, want %d", user, len(page.Tasks), page.Total, want)
		}
		for _, task := range page.Tasks {
			if ids[task.ID] != task.Title {
				t.Errorf("task %d is %q, and was added as %q", task.ID, task.Title, ids[task.ID])
			}
		}
	}
}

func totalIsRight(t *testing.T, s tasks.Store) {
	atOnce(8, func(i int) {
		for n := range 10 {
			added, err := s.Add(t.Context(), task("ann", "x"), noon)
			if err != nil {
				t.Error(err)
			}
			if (i+n)%3 != 0 {
				continue
			}
			if err := s.Delete(t.Context(), "ann", added.ID, nil); err != nil {
				t.Error(err)
			}
		}
	})
	page := all(t, s, "ann")
	if int(page.Total) != len(page.Tasks) || page.Total != 53 {
		t.Errorf("%d tasks, total %d, want 53", len(page.Tasks), page.Total)
	}
}
