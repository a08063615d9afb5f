package tasks

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode"
)

// Task is one task of one user.
type Task struct {
	ID          int64     `json:"id"`
	UserID      string    `json:"user_id,omitempty"`
	Title       string    `json:"title"`
	Description *string   `json:"description"`
	Completed   bool      `json:"completed"`
	Priority    Priority  `json:"priority"`
	DueDate     *string   `json:"due_date"` // YYYY-MM-DD
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
}

// Priority is how much a task matters.
type Priority string

// The priorities.
const (
	Low    Priority = "Low"
	Medium Priority = "Medium"
	High   Priority = "High"
)

// Status is whether a task is done.
type Status string

// The statuses.
const (
	Open      Status = "open"
	Completed Status = "completed"
)

// New is a task that is yet to be added.
type New struct {
	UserID      string   `json:"user_id"`
	Title       string   `json:"title"`
	Description *string  `json:"description"`
	Priority    Priority `json:"priority"`
	DueDate     *string  `json:"due_date"`
}

// Filter chooses among the tasks of a user; what is empty chooses all.
type Filter struct {
	Status    Status
	Priority  Priority
	DueBefore string // YYYY-MM-DD; a task without a due date is not chosen
	DueAfter  string // likewise
	Search    string // in title or description, letter case aside
}

// Part is what is asked for of a list.
type Part struct {
	Before int64 // the id that the part comes after, newest first; zero is the start
	Limit  int   // at most so many tasks
}

// Page is a part of a list.
type Page struct {
	Tasks []Task // without UserID: it is the user who was asked about
	Total int64  // of all that the filter chooses, on whatever page
	More  bool   // there are tasks after these
}

// Store keeps tasks. What a method has acknowledged is kept for good. A method
// reads and changes nothing but the tasks of the user it is given. Times are kept
// to the microsecond. Safe for concurrent use, by many processes too.
type Store interface {
	// Add gives a task its id, which is greater than any before it and never given
	// again. Within a user, created_at does not go down as ids go up, whatever the clocks say.
	Add(ctx context.Context, task New, now time.Time) (Task, error)
	// List gives tasks newest first, which is by id. A task that is there all the while
	// is on exactly one of the pages, whatever others add and delete meanwhile.
	List(ctx context.Context, user string, f Filter, part Part) (Page, error)
	// Get gives a task, or ErrNotFound.
	Get(ctx context.Context, user string, id int64) (Task, error)
	// Change lets edit change a task and keeps it, with the time in UpdatedAt, unless
	// edit says that it changed nothing. edit may be called again from the start, and
	// nobody else changes the task meanwhile. UpdatedAt never goes back.
	// ErrNotFound if there is no such task.
	Change(ctx context.Context, user string, id int64, now time.Time, edit func(*Task) (changed bool)) (Task, error)
	// Delete removes a task, or gives ErrNotFound.
	Delete(ctx context.Context, user string, id int64) error
	// Revision is another one whenever a task of the user was added, changed or
	// deleted. It is zero before the first.
	Revision(ctx context.Context, user string) (int64, error)
}

// ErrNotFound says that the user has no such task.
var ErrNotFound = errors.New("there is no such task")

// ErrUnknown says that a store cannot tell whether it kept a change.
var ErrUnknown = errors.New("whether the change was kept is not known")

// Searcher gives a function that tells whether a task has words in its title or its
// description, letter case aside, in every script alike.
func Searcher(words string) func(*Task) bool {
	words = strings.Map(foldCase, words)
	has := func(text string) bool { return strings.Contains(strings.Map(foldCase, text), words) }
	return func(t *Task) bool { return has(t.Title) || t.Description != nil && has(*t.Description) }
}

// foldCase gives all letters that differ by case alone the same one of them.
func foldCase(r rune) rune {
	if r < unicode.MaxASCII && (r < 'A' || r > 'Z') {
		return r // by far the most
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return unicode.ToLower(least)
}
