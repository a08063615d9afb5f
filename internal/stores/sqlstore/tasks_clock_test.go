package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"remit/internal/toolsets/tasks"
)

// TestLeasesGoByTheClockOfTheDatabase: on PostgreSQL the clock of a replica does not count.
func TestLeasesGoByTheClockOfTheDatabase(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		db := open(t, url(t))
		wrong := noon().AddDate(-20, 0, 0)
		task, err := db.Tasks().Add(t.Context(), tasks.New{UserID: "ann", Title: "x", Priority: tasks.Low}, wrong)
		if err != nil {
			t.Fatal(err)
		}
		var at time.Time
		_, err = db.Tasks().Lease(t.Context(), "ann", task.ID, wrong, func(_ *tasks.Task, now time.Time) error { at = now; return nil })
		if err != nil {
			t.Fatal(err)
		}
		if clock := db.Tasks().Clock(wrong); at.Equal(wrong) == db.Shared() || clock.Equal(wrong) == db.Shared() {
			t.Errorf("the lease begins at %s, the clock is at %s", at, clock)
		}
	})
}

// TestOldTrashIsPurged: a task that was deleted 30 days ago cannot be restored, and is removed by
// the next deletion and by Purge.
func TestOldTrashIsPurged(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		at := url(t)
		db := open(t, at)
		store := db.Tasks()
		remove := func() int64 {
			t.Helper()
			task, err := store.Add(t.Context(), tasks.New{UserID: "ann", Title: "x", Priority: tasks.Low}, noon())
			if err == nil {
				err = store.Delete(t.Context(), "ann", task.ID, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			return task.ID
		}
		kept := func(want int) {
			t.Helper()
			n := 0
			raw(t, at, func(db *sql.DB) error {
				return db.QueryRowContext(context.Background(), "SELECT count(*) FROM task_trash").Scan(&n)
			})
			if n != want {
				t.Errorf("%d tasks are in the trash, want %d", n, want)
			}
		}
		age := func(id int64, age time.Duration) {
			t.Helper()
			raw(t, at, func(db *sql.DB) error {
				_, err := db.ExecContext(context.Background(), "UPDATE task_trash SET deleted_at = deleted_at - $1 WHERE id = $2", age.Microseconds(), id)
				return err
			})
		}
		old, young := remove(), remove()
		age(old, tasks.TrashRetention)
		age(young, tasks.TrashRetention-time.Hour)
		if _, err := store.Restore(t.Context(), "ann", old); !errors.Is(err, tasks.ErrNotFound) {
			t.Errorf("restore after 30 days: %v", err)
		}
		if all, err := store.Deleted(t.Context(), "ann", 10); err != nil || len(all) != 1 || all[0].ID != young {
			t.Errorf("%+v can be restored, error %v", all, err)
		}
		kept(2)
		newest := remove()
		kept(2) // the old one is gone
		age(newest, tasks.TrashRetention)
		if err := store.Purge(t.Context()); err != nil {
			t.Error(err)
		}
		kept(1)
		if _, err := store.Restore(t.Context(), "ann", young); err != nil {
			t.Error(err)
		}
	})
}
