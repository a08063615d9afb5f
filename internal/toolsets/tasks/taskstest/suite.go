// Package taskstest holds the test suite that every tasks.Store must pass.
package taskstest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/toolsets/tasks"
)

// Suite checks the promises of tasks.Store. open returns an empty store that is valid until the end
// of the test it is given.
func Suite(t *testing.T, open func(t *testing.T) tasks.Store) {
	for name, check := range map[string]func(*testing.T, tasks.Store){
		"add keeps every field":        addKeeps,
		"every text stays as it is":    textsStay,
		"ids are never given again":    idsAreNew,
		"a clock that is put back":     clockPutBack,
		"add at once":                  addAtOnce,
		"add and delete at once":       totalIsRight,
		"list newest first":            listNewest,
		"a list that is empty":         listEmpty,
		"pages while others write":     pagesMeet,
		"filters":                      filters,
		"search":                       search,
		"get":                          get,
		"change":                       change,
		"change nothing":               changeNothing,
		"change at once loses nothing": changeAtOnce,
		"delete":                       deleteOnce,
		"Delete keeps a task that its check refuses": deleteChecked,
		"delete at once goes to one":                 deleteAtOnce,
		"a change that breaks keeps nothing":         changeBreaks,
		"a cancelled call changes nothing":           cancelled,
		"revision":                                   revision,
		"users who look alike":                       alikeUsers,
		"two users":                                  twoUsers,
		"lease":                                      lease,
		"a lease that has ended":                     leaseEnds,
		"lease at once goes to one":                  leaseAtOnce,
		"next is the best task that is ready":        nextIsBest,
		"next at once gives each task once":          nextAtOnce,
		"waiting":                                    waiting,
		"dependencies":                               dependencies,
		"cycles":                                     cycles,
		"a cycle with a deleted task":                deletedCycle,
		"restore":                                    restore,
		"restore at once":                            restoreAtOnce,
		"previous":                                   previous,
	} {
		t.Run(name, func(t *testing.T) { check(t, open(t)) })
	}
}

// noon is the time of the tests. It has microseconds, which stores must preserve.
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

// all returns the whole list of a user.
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

// missing checks for ErrNotFound.
func missing(t *testing.T, act string, err error) {
	t.Helper()
	if !errors.Is(err, tasks.ErrNotFound) {
		t.Errorf("%s: error %v, want ErrNotFound", act, err)
	}
}

// listed returns a task as it appears in a list.
func listed(task tasks.Task) tasks.Task {
	task.UserID = ""
	return task
}
