package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"remit/internal/engine/idempotency"
	"remit/internal/engine/idempotency/idempotencytest"
	"remit/internal/stores/sqlstore"
	"remit/internal/toolsets/tasks"
)

func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		idempotencytest.Suite(t, func(t *testing.T) idempotency.Store { return open(t, url(t)).Idempotency() })
	})
}

func keyed(key string) idempotency.ID {
	return idempotency.ID{Owner: "ada", Tool: "tasks/add_task", Key: key}
}

// addOne returns the effect of a call that adds a task.
func addOne(db *sqlstore.DB, title string) idempotency.Operation {
	return func(ctx context.Context) ([]byte, error) {
		added, err := db.Tasks().Add(ctx, tasks.New{UserID: "ada", Title: title, Priority: tasks.Medium}, noon())
		return fmt.Append(nil, added.ID), err
	}
}

func tasksOf(t *testing.T, db *sqlstore.DB) int64 {
	t.Helper()
	page, err := db.Tasks().List(t.Context(), "ada", tasks.Filter{}, tasks.Part{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	return page.Total
}

// TestIdempotencyKeysAcrossReplicas checks that of many calls with one key, each through its own
// replica, one has an effect and all get its answer.
func TestIdempotencyKeysAcrossReplicas(t *testing.T) {
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		at := url(t)
		replicas := []*sqlstore.DB{open(t, at), open(t, at)}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // without one it is shorter
		defer cancel()
		for attempt := range 5 {
			var fresh atomic.Int64
			var all sync.WaitGroup
			answers := make([]string, 16)
			for n := range answers {
				all.Go(func() {
					db := replicas[n%len(replicas)]
					answer, replayed, err := db.Idempotency().Do(ctx, keyed(fmt.Sprint("attempt-", attempt)),
						"r", noon(), addOne(db, "milk"))
					if err != nil {
						t.Error(err)
					}
					if !replayed {
						fresh.Add(1)
					}
					answers[n] = string(answer)
				})
			}
			all.Wait()
			if n := tasksOf(t, replicas[0]); fresh.Load() != 1 || n != int64(attempt+1) {
				t.Fatalf("attempt %d: %d calls had an effect, %d tasks exist", attempt, fresh.Load(), n)
			}
			for _, answer := range answers {
				if answer != answers[0] {
					t.Fatalf("answers differ: %q", answers)
				}
			}
		}
	})
}

// TestEffectAndKeyAreAtomic checks that an effect is rolled back together with the record of its
// key.
func TestEffectAndKeyAreAtomic(t *testing.T) {
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		db := open(t, url(t))
		broken := errors.New("too late")
		_, _, err := db.Idempotency().Do(t.Context(), keyed("k"), "r", noon(), func(ctx context.Context) ([]byte, error) {
			if _, err := addOne(db, "milk")(ctx); err != nil {
				return nil, err
			}
			return nil, broken
		})
		if err != broken { //nolint:errorlint // must be this very error
			t.Errorf("error %v, want the effect's own", err)
		}
		if n := tasksOf(t, db); n != 0 {
			t.Errorf("%d tasks are left of a call that failed", n)
		}
	})
}

// TestOldKeysAreDeleted checks that a key is stored for seven days, and that calls with other
// keys delete it after that.
func TestOldKeysAreDeleted(t *testing.T) {
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		keys := open(t, url(t)).Idempotency()
		answer := func(context.Context) ([]byte, error) { return []byte("1"), nil }
		do := func(key string, now time.Time) {
			t.Helper()
			if _, _, err := keys.Do(t.Context(), keyed(key), "r", now, answer); err != nil {
				t.Fatal(err)
			}
		}
		found := func(key string) bool {
			t.Helper()
			_, found, err := keys.Find(t.Context(), keyed(key), "r", noon())
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
		for i := range 4 {
			do(fmt.Sprint("old-", i), noon())
		}
		do("young", noon().Add(time.Hour))
		for i := range 4 {
			do(fmt.Sprint("in time-", i), noon().Add(idempotency.Retention-time.Microsecond))
		}
		for i := range 4 {
			if !found(fmt.Sprint("old-", i)) {
				t.Errorf("old-%d was forgotten too early", i)
			}
		}
		for i := range 4 {
			do(fmt.Sprint("late-", i), noon().Add(idempotency.Retention))
		}
		for i := range 4 {
			if found(fmt.Sprint("old-", i)) {
				t.Errorf("old-%d is still there", i)
			}
		}
		if !found("young") {
			t.Error("a young key was forgotten")
		}
	})
}

// TestAnswersOfAnotherDatabase checks that a SQLite file that gets its first id forgets its
// answers. A shared one keeps them when a replica names it.
func TestAnswersOfAnotherDatabase(t *testing.T) {
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		db := open(t, url(t))
		keep := func() {
			t.Helper()
			if _, _, err := db.Idempotency().Do(t.Context(), keyed("a"), "r", noon(), addOne(db, "milk")); err != nil {
				t.Fatal(err)
			}
		}
		expect := func(act string, want bool) {
			t.Helper()
			if _, found, err := db.Idempotency().Find(t.Context(), keyed("a"), "r", noon()); err != nil || found != want {
				t.Errorf("%s: an answer is there: %v, error %v", act, found, err)
			}
		}
		keep()
		if _, err := db.SetDataID(t.Context(), "first"); err != nil {
			t.Fatal(err)
		}
		expect("first id", db.Shared())
		keep()
		if id, err := db.SetDataID(t.Context(), "second"); err != nil || id != "first" {
			t.Fatalf("the id is %s, error %v", id, err)
		}
		expect("an id that it has already", true)
		if err := db.ForgetAnswers(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect("forgotten", false)
	})
}
