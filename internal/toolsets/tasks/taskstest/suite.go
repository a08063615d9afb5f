// Package taskstest holds the one suite that every tasks.Store passes.
package taskstest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/toolsets/tasks"
)

// Suite checks the promises on tasks.Store. open returns an empty store that lives
// until the end of the test it is given.
func Suite(t *testing.T, open func(t *testing.T) tasks.Store) {
	for name, check := range map[string]func(*testing.T, tasks.Store){
		"add keeps every field":              addKeeps,
		"every text stays as it is":          textsStay,
		"ids are never given again":          idsAreNew,
		"a clock that is put back":           clockPutBack,
		"add at once":                        addAtOnce,
		"add and delete at once":             totalIsRight,
		"list newest first":                  listNewest,
		"a list that is empty":               listEmpty,
		"pages while others write":           pagesMeet,
		"filters":                            filters,
		"search":                             search,
		"get":                                get,
		"change":                             change,
		"change nothing":                     changeNothing,
		"change at once loses nothing":       changeAtOnce,
		"delete":                             deleteOnce,
		"delete at once goes to one":         deleteAtOnce,
		"a change that breaks keeps nothing": changeBreaks,
		"a cancelled call changes nothing":   cancelled,
		"revision":                           revision,
		"users who look alike":               alikeUsers,
		"two users":                          twoUsers,
	} {
		t.Run(name, func(t *testing.T) { check(t, open(t)) })
	}
}

// noon is the time at which the suite plays. Stores keep microseconds.
var noon = time.Date(2026, 8, 1, 12, 0, 0, 123456000, time.UTC)

func task(user, title string) tasks.New {
	return tasks.New{UserID: user, Title: title, Priority: tasks.Medium}
}

func add(t *testing.T, s tasks.Store, n tasks.New) tasks.Task {
	t.Helper()
	added, err := s.Add(t.Context(), n, noon)
	if err != nil {
		t.Fatal(err)
	}
	return added
}

func list(t *testing.T, s tasks.Store, user string, f tasks.Filter, part tasks.Part) tasks.Page {
	t.Helper()
	page, err := s.List(t.Context(), user, f, part)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// all is the list of a user, which is short.
func all(t *testing.T, s tasks.Store, user string) tasks.Page {
	t.Helper()
	return list(t, s, user, tasks.Filter{}, tasks.Part{Limit: 1000})
}

func titles(page tasks.Page) string {
	var titles []string
	for _, task := range page.Tasks {
		titles = append(titles, task.Title)
	}
	return strings.Join(titles, ",")
}

func equal(t *testing.T, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// missing checks that nothing was found.
func missing(t *testing.T, act string, err error) {
	t.Helper()
	if !errors.Is(err, tasks.ErrNotFound) {
		t.Errorf("%s: error %v, want ErrNotFound", act, err)
	}
}

// listed is a task as it stands in a list.
func listed(task tasks.Task) tasks.Task {
	task.UserID = ""
	return task
}

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
			t.Errorf("the id %d follows %d", id, last)
		}
		if err := s.Delete(t.Context(), user, id); err != nil {
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

// atOnce runs f in several goroutines and waits for all.
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
			if err := s.Delete(t.Context(), "ann", added.ID); err != nil {
				t.Error(err)
			}
		}
	})
	page := all(t, s, "ann")
	if int(page.Total) != len(page.Tasks) || page.Total != 53 {
		t.Errorf("%d tasks, total %d, want 53", len(page.Tasks), page.Total)
	}
}

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
	if err := s.Delete(t.Context(), "ann", added.ID); err != nil {
		t.Fatal(err)
	}
	equal(t, all(t, s, "ann"), tasks.Page{})
}

// pagesMeet reads page by page while others add and delete: what is there all the
// while is seen once.
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
					err = s.Delete(t.Context(), "ann", added.ID)
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

// walk reads all pages, and gives the ids of what stays, oldest first.
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
				want := slices.DeleteFunc(slices.Clone(known), func(task tasks.Task) bool { return !f.Chooses(&task) })
				pagesOf(t, s, f, want)
			}
		}
	}
}

// pagesOf checks the pages of a list of ann.
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
	missing(t, "delete another's", s.Delete(t.Context(), "bob", gone.ID))
	add(t, s, task("bob", "of bob"))
	missing(t, "delete another's", s.Delete(t.Context(), "bob", gone.ID))
	if err := s.Delete(t.Context(), "ann", gone.ID); err != nil {
		t.Fatal(err)
	}
	missing(t, "delete again", s.Delete(t.Context(), "ann", gone.ID))
	_, err := s.Get(t.Context(), "ann", gone.ID)
	missing(t, "get what is gone", err)
	equal(t, all(t, s, "ann"), tasks.Page{Tasks: []tasks.Task{listed(kept)}, Total: 1})
	equal(t, all(t, s, "bob").Total, int64(1))
}

func deleteAtOnce(t *testing.T, s tasks.Store) {
	add(t, s, task("ann", "kept"))
	id := add(t, s, task("ann", "gone")).ID
	var mu sync.Mutex
	deleted := 0
	atOnce(8, func(int) {
		err := s.Delete(t.Context(), "ann", id)
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
	for _, err := range []error{addErr, changeErr, listErr, s.Delete(ctx, "ann", before.ID)} {
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
	if err := s.Delete(t.Context(), "ann", one.ID); err != nil {
		t.Fatal(err)
	}
	note("delete")
	add(t, s, task("bob", "x"))
	missing(t, "delete again", s.Delete(t.Context(), "ann", one.ID))
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
