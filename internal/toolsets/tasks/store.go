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
	DependsOn   []int64   `json:"depends_on,omitempty"` // the tasks that must be completed first
	BlockedBy   []int64   `json:"blocked_by,omitempty"` // those of DependsOn that are open
	Claim       *Claim    `json:"claim,omitempty"`      // nil if nobody has claimed it
	Fence       int64     `json:"-"`                    // the number of the last claim; only grows
}

// Claim says who works on a task. It stays until it is released or replaced, also after its lease.
type Claim struct {
	By    string    `json:"by"`    // the principal
	Until time.Time `json:"until"` // when the lease ends
}

// Priority is the priority of a task.
type Priority string

// The priorities.
const (
	Low    Priority = "Low"
	Medium Priority = "Medium"
	High   Priority = "High"
)

// Status says whether a task is done.
type Status string

// The statuses.
const (
	Open      Status = "open"
	Completed Status = "completed"
)

// New is a task to be added.
type New struct {
	UserID      string   `json:"user_id"`
	Title       string   `json:"title"`
	Description *string  `json:"description"`
	Priority    Priority `json:"priority"`
	DueDate     *string  `json:"due_date"`
	DependsOn   []int64  `json:"depends_on"`
}

// Filter selects tasks of a user. Empty fields select all.
type Filter struct {
	Status    Status
	Priority  Priority
	DueBefore string // YYYY-MM-DD; excludes tasks without a due date
	DueAfter  string // YYYY-MM-DD; excludes tasks without a due date
	Search    string // in title or description, ignoring letter case
	// ReadyAt selects the tasks that are ready at this time, by Store.Clock: open, with every
	// dependency completed, and not claimed.
	ReadyAt time.Time
}

// Part says which part of a list to return.
type Part struct {
	Before int64 // return tasks with a smaller id than this; zero means from the start
	Limit  int   // maximum number of tasks
}

// Page is a part of a list.
type Page struct {
	Tasks []Task // without UserID, because all belong to the user in the call
	Total int64  // number of tasks that the filter selects, on all pages
	More  bool   // there are tasks after these
}

// Store stores tasks. A change is durable once its method has returned without an error. A method
// reads and changes only the tasks of the user it is given. Times have microsecond precision. A
// Store is safe for concurrent use, also by several processes.
//
// Add and Change return a *DependencyError if a task that is depended on does not exist, or if
// tasks would depend on each other.
type Store interface {
	Claims
	Trash
	// Add stores a task with a new id, which is greater than all ids before it and never used
	// again. Within a user, created_at does not decrease as ids increase, even if the clocks go
	// back.
	Add(ctx context.Context, task New, now time.Time) (Task, error)
	// List returns tasks newest first, which means by descending id. A task that exists the whole
	// time is on exactly one page, whatever other callers add and delete meanwhile.
	List(ctx context.Context, user string, f Filter, part Part) (Page, error)
	// Get returns a task, or ErrNotFound.
	Get(ctx context.Context, user string, id int64) (Task, error)
	// Change calls edit to change a task and stores it with now in UpdatedAt, unless edit returns
	// false. It may call edit more than once, each time with the stored task. Nobody else changes
	// the task meanwhile. UpdatedAt never decreases. Change returns ErrNotFound if there is no such
	// task.
	Change(ctx context.Context, user string, id int64, now time.Time, edit func(*Task) (changed bool)) (Task, error)
	// Delete moves a task to the trash, or returns ErrNotFound. If check is not nil, it gets the
	// stored task first, and its error keeps the task; nobody else changes the task meanwhile.
	Delete(ctx context.Context, user string, id int64, check func(*Task) error) error
	// Revision returns a new number after each change to the user's tasks. It is zero before the
	// first.
	Revision(ctx context.Context, user string) (int64, error)
}

// ErrNotFound means that the user has no such task.
var ErrNotFound = errors.New("there is no such task")

// ErrUnknown means that the store does not know whether a change was stored.
var ErrUnknown = errors.New("it is unknown whether the change was stored")

// Searcher returns a function that reports whether a task's title or description contains words. It
// ignores letter case in every script.
func Searcher(words string) func(*Task) bool {
	words = strings.Map(foldCase, words)
	has := func(text string) bool { return strings.Contains(strings.Map(foldCase, text), words) }
	return func(t *Task) bool { return has(t.Title) || t.Description != nil && has(*t.Description) }
}

// foldCase maps all letters that differ only by case to the same letter.
func foldCase(r rune) rune {
	if r < unicode.MaxASCII && (r < 'A' || r > 'Z') {
		return r // the common case
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return unicode.ToLower(least)
}
