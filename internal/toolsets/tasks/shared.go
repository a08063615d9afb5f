package tasks

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Claims is the part of a Store that gives tasks to callers for a time.
type Claims interface {
	// Lease calls edit to change the claim and the fence of a task, and stores nothing else of it;
	// UpdatedAt stays. It passes the time by which leases go, and returns the error of edit. It may
	// call edit more than once, each time with the stored task. Nobody else changes the task
	// meanwhile. It returns ErrNotFound if there is no such task.
	Lease(ctx context.Context, user string, id int64, now time.Time, edit Edit) (Task, error)
	// Next is Lease for the best task that is ready: the one of the highest priority, then with the
	// earliest due date, then the oldest. If edit is nil, it changes nothing. It returns
	// ErrNotFound if no task is ready.
	Next(ctx context.Context, user string, now time.Time, edit Edit) (Task, error)
	// Waiting counts the open tasks.
	Waiting(ctx context.Context, user string, now time.Time) (Waiting, error)
	// Clock returns the time by which leases go: that of the database if several machines share
	// it, otherwise now.
	Clock(now time.Time) time.Time
}

// Edit changes a task. It gets the time by which leases go. Its error keeps the task.
type Edit func(task *Task, at time.Time) error

// Waiting counts open tasks.
type Waiting struct {
	Ready   int64      `json:"-"`
	Claimed int64      `json:"claimed"`         // tasks that others work on
	Blocked int64      `json:"blocked"`         // unclaimed tasks that depend on open ones
	Until   *time.Time `json:"until,omitempty"` // when the first lease ends; nil if there is none
}

// DependencyError reports dependencies that a task cannot have.
type DependencyError struct {
	Missing int64   // there is no such task
	Cycle   []int64 // each of these tasks depends on the next one; the last is the first
}

func (e *DependencyError) Error() string {
	if e.Cycle != nil {
		return "tasks depend on each other: " + joinIDs(e.Cycle, " -> ")
	}
	return fmt.Sprintf("task %d does not exist", e.Missing)
}

// FindCycle returns the path from a task over its new dependencies back to itself, or nil if there
// is none. dependencies holds those of the other tasks.
func FindCycle(task int64, dependsOn []int64, dependencies map[int64][]int64) []int64 {
	visited := map[int64]bool{}
	var search func(path, next []int64) []int64
	search = func(path, next []int64) []int64 {
		for _, id := range next {
			if id == task {
				return append(path, id)
			}
			if visited[id] {
				continue
			}
			visited[id] = true
			if found := search(append(path, id), dependencies[id]); found != nil {
				return found
			}
		}
		return nil
	}
	return search([]int64{task}, dependsOn)
}

// joinIDs returns the ids as a text.
func joinIDs(ids []int64, separator string) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = strconv.FormatInt(id, 10)
	}
	return strings.Join(texts, separator)
}

// TrashRetention is how long a deleted task can be restored.
const TrashRetention = 30 * 24 * time.Hour

// Trash is the part of a Store that takes changes back.
type Trash interface {
	// Deleted returns the tasks that can be restored, the last deleted one first, without their
	// dependencies.
	Deleted(ctx context.Context, user string, limit int) ([]DeletedTask, error)
	// Restore brings a deleted task back as it was, but unclaimed. It returns ErrNotFound if the
	// trash does not have it.
	Restore(ctx context.Context, user string, id int64) (Task, error)
	// Previous returns a task as it was before its last change, and when that was; nil if it was
	// never changed. It returns ErrNotFound if there is no such task.
	Previous(ctx context.Context, user string, id int64) (before *Version, changed time.Time, err error)
	// Purge removes the tasks of all users that cannot be restored any more.
	Purge(ctx context.Context) error
}

// DeletedTask is a task in the trash.
type DeletedTask struct {
	ID          int64     `json:"id"`
	Title       string    `json:"title"`
	Description *string   `json:"description"`
	Completed   bool      `json:"completed"`
	Priority    Priority  `json:"priority"`
	DueDate     *string   `json:"due_date"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
	DeletedAt   time.Time `json:"deleted_at"`
}

// Version is what a change of a task can change. Databases hold it as JSON, so its tags must not
// change.
type Version struct {
	Title       string   `json:"title"`
	Description *string  `json:"description,omitempty"`
	Completed   bool     `json:"completed,omitempty"`
	Priority    Priority `json:"priority"`
	DueDate     *string  `json:"due_date,omitempty"`
	DependsOn   []int64  `json:"depends_on,omitempty"`
}

// Version returns the task without what no change sets.
func (t *Task) Version() Version {
	return Version{t.Title, t.Description, t.Completed, t.Priority, t.DueDate, t.DependsOn}
}
