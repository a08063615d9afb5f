package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"remit/internal/engine/approval"
)

// notes creates a table that allows duplicate rows, and returns a function that adds a row.
func notes(t testing.TB, db *DB) (add func(note string) work) {
	t.Helper()
	err := db.change(t.Context(), func(ctx context.Context, tx runner) error {
		_, err := tx.ExecContext(ctx, "CREATE TABLE notes (note TEXT NOT NULL)")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return func(note string) work {
		return func(ctx context.Context, tx runner) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO notes (note) VALUES ($1)", note)
			return err
		}
	}
}

// count returns how often each note is stored.
func count(t testing.TB, db *DB) map[string]int {
	t.Helper()
	all, err := collect(t.Context(), db.reader(t.Context()), "SELECT note FROM notes", func(row scanner) (note string, err error) { return note, row.Scan(&note) })
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, note := range all {
		counts[note]++
	}
	return counts
}

func expect(t testing.TB, db *DB, want ...string) {
	t.Helper()
	counts := map[string]int{}
	for _, note := range want {
		counts[note]++
	}
	if got := count(t, db); fmt.Sprint(got) != fmt.Sprint(counts) {
		t.Errorf("there are %v, want %v", got, counts)
	}
}

var errTest = errors.New("test error")

func TestChange(t *testing.T) {
	bothEngines(t, func(t *testing.T, url string) {
		db := opened(t, url)
		add := notes(t, db)
		if err := db.change(t.Context(), add("kept")); err != nil {
			t.Error(err)
		}
		err := db.change(t.Context(), func(ctx context.Context, tx runner) error {
			return errors.Join(add("failed")(ctx, tx), errTest)
		})
		if !errors.Is(err, errTest) {
			t.Errorf("a change that fails: %v", err)
		}
		ended, cancel := context.WithCancel(t.Context())
		err = db.change(ended, func(ctx context.Context, tx runner) error {
			defer cancel()
			return add("cancelled")(ctx, tx)
		})
		if err := db.change(ended, add("too late")); !errors.Is(err, context.Canceled) {
			t.Errorf("a change after the end: %v", err)
		}
		if got := count(t, db)["cancelled"]; (err == nil) != (got == 1) {
			t.Errorf("cancelled at the last moment: there %d times, error %v", got, err)
		}
		behind := func() { _ = db.change(t.Context(), func(context.Context, runner) error { panic("boo") }) }
		if got := panics(behind); got != "boo" {
			t.Errorf("the panic of a change arrives as %v", got)
		}
		if err := db.change(t.Context(), add("after")); err != nil {
			t.Error(err)
		}
		if got := count(t, db); got["kept"] != 1 || got["failed"] != 0 || got["too late"] != 0 || got["after"] != 1 {
			t.Errorf("there are %v", got)
		}
	})
}

func panics(f func()) (with any) {
	defer func() { with = recover() }()
	f()
	return nil
}

// TestChangeWithinChange checks that a nested change is part of the outer one, and that it can fail
// alone.
func TestChangeWithinChange(t *testing.T) {
	bothEngines(t, func(t *testing.T, url string) {
		db := opened(t, url)
		add := notes(t, db)
		for _, fails := range []bool{true, false} {
			err := db.change(t.Context(), func(ctx context.Context, tx runner) error {
				if err := add("outer")(ctx, tx); err != nil {
					return err
				}
				err := db.change(ctx, func(ctx context.Context, tx runner) error {
					err := db.change(ctx, add("innermost"))
					return errors.Join(err, errTest)
				})
				if !errors.Is(err, errTest) {
					t.Errorf("an inner change that fails: %v", err)
				}
				if got := panics(func() { _ = db.change(ctx, func(context.Context, runner) error { panic("boo") }) }); got != "boo" {
					t.Errorf("the panic of an inner change arrives as %v", got)
				}
				if err := db.change(ctx, add("inner")); err != nil {
					return err
				}
				seen := 0
				err = readRow(ctx, db.reader(ctx), "SELECT count(*) FROM notes", &seen)
				if seen != 2 || err != nil {
					t.Errorf("the transaction sees %d notes of its own, error %v", seen, err)
				}
				if fails {
					return errTest
				}
				return nil
			})
			if errors.Is(err, errTest) != fails || (err != nil) != fails {
				t.Errorf("fails %v: %v", fails, err)
			}
		}
		expect(t, db, "outer", "inner")
	})
}

// TestTransactionEnds checks that a transaction cannot be used after its end.
func TestTransactionEnds(t *testing.T) {
	bothEngines(t, func(t *testing.T, url string) {
		db := opened(t, url)
		add := notes(t, db)
		var late context.Context
		if err := db.change(t.Context(), func(ctx context.Context, _ runner) error { late = ctx; return nil }); err != nil {
			t.Fatal(err)
		}
		if err := db.change(late, add("late")); err == nil {
			t.Error("a transaction that has ended accepts a change")
		}
		n := 0
		if err := readRow(late, db.reader(late), "SELECT 1", &n); err == nil {
			t.Error("a transaction that has ended reads")
		}
		expect(t, db)
	})
}

// TestChangesAtOnce checks that each of many concurrent changes is stored once and sees the ones
// before it.
func TestChangesAtOnce(t *testing.T) {
	bothEngines(t, func(t *testing.T, url string) {
		db := opened(t, url)
		notes(t, db)
		if err := db.change(t.Context(), func(ctx context.Context, tx runner) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO task_lists (user_id, total, revision, newest) VALUES ('u', 0, 0, 0)")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for range 20 {
					if err := db.change(t.Context(), countUp); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		total, rows := 0, len(count(t, db))
		err := readRow(t.Context(), db.reader(t.Context()), "SELECT total FROM task_lists", &total)
		if total != 320 || rows != 320 || err != nil {
			t.Errorf("320 changes counted to %d and left %d notes, error %v", total, rows, err)
		}
	})
}

func countUp(ctx context.Context, tx runner) error {
	n := 0
	err := readRow(ctx, tx, "UPDATE task_lists SET total = total + 1 WHERE user_id = 'u' RETURNING total", &n)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO notes (note) VALUES ($1)", fmt.Sprint(n))
	return err
}

func TestSecrets(t *testing.T) {
	bothEngines(t, func(t *testing.T, url string) {
		db, other := opened(t, url), opened(t, url)
		if !db.Shared() {
			if _, err := db.Secret(t.Context(), "seal"); err == nil {
				t.Error("a file that can be copied stores a secret")
			}
			return
		}
		first, err := db.Secret(t.Context(), "seal")
		if err != nil || len(first) != 32 {
			t.Fatalf("a secret of %d bytes, error %v", len(first), err)
		}
		if again, err := other.Secret(t.Context(), "seal"); err != nil || string(again) != string(first) {
			t.Errorf("another replica has another secret, error %v", err)
		}
		if another, err := db.Secret(t.Context(), "state"); err != nil || string(another) == string(first) {
			t.Errorf("two names have one secret, error %v", err)
		}
	})
}

func TestPing(t *testing.T) {
	bothEngines(t, func(t *testing.T, url string) {
		db := opened(t, url)
		if err := db.Ping(t.Context()); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		if err := db.Ping(t.Context()); err == nil {
			t.Error("a closed database answers")
		}
		if err := db.change(t.Context(), func(context.Context, runner) error { return nil }); err == nil {
			t.Error("a closed database can be changed")
		}
	})
}

// BenchmarkChange compares 16 concurrent writers with one commit per change.
func BenchmarkChange(b *testing.B) {
	db := opened(b, "sqlite://"+filepath.Join(b.TempDir(), "remit.db"))
	add := notes(b, db)
	writers := func(b *testing.B, one func() error) {
		b.SetParallelism(8) // times GOMAXPROCS
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				if err := one(); err != nil {
					b.Error(err)
				}
			}
		})
	}
	b.Run("one after the other", func(b *testing.B) {
		var mu sync.Mutex
		writers(b, func() error {
			mu.Lock()
			defer mu.Unlock()
			return db.change(b.Context(), add("note"))
		})
	})
	b.Run("together", func(b *testing.B) {
		writers(b, func() error { return db.change(b.Context(), add("note")) })
	})
}

// waitLimit bounds the wait for events that must happen, however busy the machine is.
const waitLimit = 5 * time.Minute

// runsTwice is a writer that runs each function twice, as if the database had rolled back the first
// run at its last query.
type runsTwice struct{ writer }

func (k runsTwice) do(ctx context.Context, f work) error {
	return k.writer.do(ctx, func(ctx context.Context, tx runner) error {
		if err := inSavepoint(ctx, tx, func(ctx context.Context, tx runner) error { return f(ctx, failsToInsert{tx}) }); !errors.Is(err, errTest) {
			return fmt.Errorf("the first time: %w", err)
		}
		return f(ctx, tx)
	})
}

type failsToInsert struct{ runner }

func (r failsToInsert) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if strings.Contains(query, "INSERT") {
		return nil, errTest
	}
	return r.runner.QueryContext(ctx, query, args...)
}

// TestAskRunsAgain checks that a request gets the same content when it is stored again after a
// rollback.
func TestAskRunsAgain(t *testing.T) {
	db := opened(t, "sqlite://"+filepath.Join(t.TempDir(), "remit.db"))
	db.writer = runsTwice{db.writer}
	now := time.Now().UTC().Truncate(time.Microsecond)
	want := approval.Request{
		ID: "a1", Key: "k", Workspace: "/w", Principal: "ann", Tool: "demo/note", Version: "1.0.0", Digest: "sha256:1",
		Arguments: []byte("{}"), Summary: "Note", State: approval.Pending, CreatedAt: now, ExpiresAt: now.Add(time.Hour),
	}
	got, err := db.Approvals().Ask(t.Context(), want)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, error %v, want %+v", got, err, want)
	}
}
