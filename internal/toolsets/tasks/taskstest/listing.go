package taskstest

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/toolsets/tasks"
)

func listNewest(t *testing.T, s tasks.Store) {
	for _, title := range []string{"a", "b", "c", "d"} {
		add(t, s, task("ann", title))
		add(t, s, task("bob", "of bob"))
	}
	page := all(t, s, "ann")
	equal(t, titles(page), "d,c,b,a")
	equal(t, page.Total, int64(4))
	first := list(t, s, "ann", tasks.Filter{}, tasks.Part{Limit: 3})
	if titles(first) != "d,c,b" || !first.More || first.Total != 4 {
		t.Errorf("the first page is %+v", first)
	}
	rest := list(t, s, "ann", tasks.Filter{}, tasks.Part{Limit: 3, Before: first.Tasks[2].ID})
	if titles(rest) != "a" || rest.More || rest.Total != 4 {
		t.Errorf("the second page is %+v", rest)
	}
	if whole := list(t, s, "ann", tasks.Filter{}, tasks.Part{Limit: 4}); whole.More {
		t.Error("a page that holds all says that there is more")
	}
}

func listEmpty(t *testing.T, s tasks.Store) {
	equal(t, all(t, s, "nobody"), tasks.Page{})
	added := add(t, s, task("ann", "x"))
	past := tasks.Part{Limit: 10, Before: added.ID}
	equal(t, list(t, s, "ann", tasks.Filter{}, past), tasks.Page{Total: 1})
	equal(t, list(t, s, "ann", tasks.Filter{Status: tasks.Open}, past), tasks.Page{Total: 1})
	equal(t, list(t, s, "ann", tasks.Filter{Search: "X"}, past), tasks.Page{Total: 1})
	equal(t, list(t, s, "ann", tasks.Filter{Status: tasks.Completed}, past), tasks.Page{})
	if err := s.Delete(t.Context(), "ann", added.ID, nil); err != nil {
		t.Fatal(err)
	}
	equal(t, all(t, s, "ann"), tasks.Page{})
}

// pagesMeet reads page by page while others add and delete. A task that exists the whole time must
// be seen exactly once.
func pagesMeet(t *testing.T, s tasks.Store) {
	var stay []int64
	for range 40 {
		stay = append(stay, add(t, s, task("ann", "stays")).ID)
	}
	ctx, stop := context.WithCancel(t.Context())
	var others sync.WaitGroup
	for range 2 {
		others.Go(func() {
			for ctx.Err() == nil {
				added, err := s.Add(t.Context(), task("ann", "goes"), noon)
				if err == nil {
					err = s.Delete(t.Context(), "ann", added.ID, nil)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 5 {
		equal(t, walk(t, s), stay)
	}
	stop()
	others.Wait()
}

// walk reads all pages, and returns the ids of the tasks that are never deleted, oldest first.
func walk(t *testing.T, s tasks.Store) (ids []int64) {
	t.Helper()
	part, last := tasks.Part{Limit: 7}, int64(math.MaxInt64)
	for {
		page := list(t, s, "ann", tasks.Filter{}, part)
		for _, task := range page.Tasks {
			if task.ID >= last {
				t.Errorf("%d comes after %d", task.ID, last)
			}
			if last = task.ID; task.Title == "stays" {
				ids = append(ids, task.ID)
			}
		}
		if !page.More {
			slices.Reverse(ids)
			return ids
		}
		part.Before = last
	}
}

func filters(t *testing.T, s tasks.Store) {
	var known []tasks.Task
	for i, due := range []string{"", "2026-08-01", "2026-08-02", "2026-12-31", "0001-01-01", "9999-12-31"} {
		for j, priority := range []tasks.Priority{tasks.Low, tasks.Medium, tasks.High} {
			n := tasks.New{UserID: "ann", Title: fmt.Sprint(due, priority), Priority: priority}
			if due != "" {
				n.DueDate = &due
			}
			added := add(t, s, n)
			if (i+j)%2 == 0 {
				added = complete(t, s, added)
			}
			known = append([]tasks.Task{listed(added)}, known...)
		}
	}
	for _, status := range []tasks.Status{"", tasks.Open, tasks.Completed} {
		for _, priority := range []tasks.Priority{"", tasks.High, tasks.Low} {
			for _, f := range []tasks.Filter{
				{},
				{DueBefore: "2026-08-02"},
				{DueAfter: "2026-08-01"},
				{DueAfter: "2026-08-01", DueBefore: "2026-12-31"},
				{DueBefore: "0001-01-01"},
				{Search: "hi", DueAfter: "2026-01-01"},
			} {
				f.Status, f.Priority = status, priority
				want := slices.DeleteFunc(slices.Clone(known), func(task tasks.Task) bool { return !chooses(&f, &task) })
				pagesOf(t, s, f, want)
			}
		}
	}
}

// pagesOf checks the pages of a list of user ann.
func pagesOf(t *testing.T, s tasks.Store, f tasks.Filter, want []tasks.Task) {
	t.Helper()
	part, total := tasks.Part{Limit: 4}, int64(len(want))
	for {
		n := min(part.Limit, len(want))
		page := list(t, s, "ann", f, part)
		if diff := cmp.Diff(tasks.Page{Tasks: slices.Concat(want[:n]), Total: total, More: n < len(want)}, page); diff != "" {
			t.Errorf("%+v: -want +got:\n%s", f, diff)
		}
		if want = want[n:]; len(want) == 0 {
			return
		}
		part.Before = page.Tasks[n-1].ID
	}
}

func complete(t *testing.T, s tasks.Store, task tasks.Task) tasks.Task {
	t.Helper()
	done, err := s.Change(t.Context(), task.UserID, task.ID, noon.Add(time.Minute), func(task *tasks.Task) bool { task.Completed = true; return true })
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func search(t *testing.T, s tasks.Store) {
	about := "STRASSE und Größe, 100% _sure_"
	for _, n := range []tasks.New{
		task("ann", "Call Ömer"), task("ann", "ΣΊΣΥΦΟΣ"), task("ann", "Kelvin"), task("ann", "Привет"), task("bob", "Call Ömer"),
		{UserID: "ann", Title: "About", Description: &about, Priority: tasks.Low},
	} {
		add(t, s, n)
	}
	for words, want := range map[string]string{
		"call ömer": "Call Ömer", "ÖMER": "Call Ömer", "σίσυφος": "ΣΊΣΥΦΟΣ", "\u212aELVIN": "Kelvin", "привет": "Привет", "ПРИВЕТ": "Привет",
		"GRÖSSE": "", "größe": "About", "0% _S": "About", "%": "About", "_": "About", "a": "About,Call Ömer", "omer": "", "*": "", "l Ö": "Call Ömer",
	} {
		page := list(t, s, "ann", tasks.Filter{Search: words}, tasks.Part{Limit: 10})
		if titles(page) != want || int(page.Total) != len(page.Tasks) {
			t.Errorf("%q finds %q, total %d, want %q", words, titles(page), page.Total, want)
		}
	}
}
