package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// block keeps the writer busy until release is called, so that changes queued meanwhile share a
// commit.
func block(t *testing.T, db *DB) (release func()) {
	t.Helper()
	busy, free, done := make(chan struct{}, 1), make(chan struct{}), make(chan error)
	go func() {
		done <- db.change(context.Background(), func(context.Context, runner) error {
			select {
			case busy <- struct{}{}:
			default: // it runs again
			}
			<-free
			return nil
		})
	}()
	<-busy
	return func() {
		close(free)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// queue starts a change and waits until it is the nth in the queue.
func queue(t *testing.T, db *DB, ctx context.Context, n int, f work) (outcome <-chan any) {
	t.Helper()
	out := make(chan any, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				out <- p
			}
		}()
		out <- db.change(ctx, f)
	}()
	for deadline := time.Now().Add(waitLimit); len(db.writer.(*groupCommit).queue) < n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("change %d does not queue", n)
		}
	}
	return out
}

func TestOneOfABatchFails(t *testing.T) {
	db := opened(t, "sqlite://"+filepath.Join(t.TempDir(), "remit.db"))
	add := notes(t, db)
	release := block(t, db)
	fail := func(ctx context.Context, tx runner) error { return errors.Join(add("failed")(ctx, tx), errTest) }
	ended, cancel := context.WithCancel(t.Context())
	outcomes := []<-chan any{
		queue(t, db, t.Context(), 1, add("first")),
		queue(t, db, t.Context(), 2, fail),
		queue(t, db, t.Context(), 3, func(ctx context.Context, tx runner) error { _ = add("panicked")(ctx, tx); panic("boo") }),
		queue(t, db, ended, 4, add("withdrawn")),
		queue(t, db, t.Context(), 5, add("last")),
	}
	cancel()
	if got := <-outcomes[3]; got != context.Canceled { //nolint:errorlint // must be this very error
		t.Errorf("a change that is withdrawn gets %v", got)
	}
	release()
	for i, want := range []string{"<nil>", errTest.Error(), "boo"} {
		if got := fmt.Sprint(<-outcomes[i]); got != want {
			t.Errorf("change %d gets %q, want %q", i, got, want)
		}
	}
	if got := <-outcomes[4]; got != nil {
		t.Errorf("the last change gets %v", got)
	}
	expect(t, db, "first", "last")
}

// TestFullDisk checks that a change that needs no space is stored even in a batch with one that
// fails, and that every change is stored once there is space.
func TestFullDisk(t *testing.T) {
	db := opened(t, "sqlite://"+filepath.Join(t.TempDir(), "remit.db"))
	add := notes(t, db)
	limit := func(pages string) {
		t.Helper()
		err := db.change(t.Context(), func(ctx context.Context, tx runner) error {
			var n int
			if err := readRow(ctx, tx, "PRAGMA page_count", &n); err != nil {
				return err
			}
			return readRow(ctx, tx, strings.ReplaceAll(pages, "N", fmt.Sprint(n)), &n)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	limit("PRAGMA max_page_count = N")
	big := add(strings.Repeat("x", 1<<20))
	swallow := func(ctx context.Context, tx runner) error { // nothing after it may be stored either
		_ = big(ctx, tx)
		_ = add("after the failure")(ctx, tx)
		return nil
	}
	var refused *RefusedError
	if err := db.change(t.Context(), big); !errors.As(err, &refused) {
		t.Errorf("a full disk: %v", err)
	}
	if err := db.change(t.Context(), swallow); !errors.As(err, &refused) {
		t.Errorf("a full disk that is ignored: %v", err)
	}
	release := block(t, db)
	outcomes := []<-chan any{queue(t, db, t.Context(), 1, add("before")), queue(t, db, t.Context(), 2, big), queue(t, db, t.Context(), 3, swallow), queue(t, db, t.Context(), 4, add("after"))}
	release()
	for i, fits := range []bool{true, false, false, true} {
		if got := <-outcomes[i]; fits != (got == nil) {
			t.Errorf("change %d of a batch on a full disk gets %v", i, got)
		}
	}
	expect(t, db, "before", "after")
	limit("PRAGMA max_page_count = 1000000")
	if err := db.change(t.Context(), big); err != nil {
		t.Errorf("once there is room: %v", err)
	}
}

// TestLockedByAnotherProcess checks that a change waits for a lock held by another process as long
// as its caller waits.
func TestLockedByAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "remit.db")
	db := opened(t, "sqlite://"+path)
	add := notes(t, db)
	other, err := pool(path, 1, "_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	tx, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := db.change(ctx, add("impatient")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a change that cannot wait gets %v", err)
	}
	patient := make(chan error)
	go func() { patient <- db.change(t.Context(), add("patient")) }()
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-patient; err != nil {
		t.Error(err)
	}
	expect(t, db, "patient")
}

// TestCloseStoresQueuedChanges checks that every queued change gets an answer.
func TestCloseStoresQueuedChanges(t *testing.T) {
	url := "sqlite://" + filepath.Join(t.TempDir(), "remit.db")
	db := opened(t, url)
	add := notes(t, db)
	release := block(t, db)
	waits := queue(t, db, t.Context(), 1, add("waits"))
	closed := make(chan error)
	go func() { closed <- db.Close() }()
	release()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	got := <-waits
	if got != nil && got != sql.ErrConnDone { //nolint:errorlint // must be this very error
		t.Errorf("a queued change gets %v when the database is closed", got)
	}
	if there := count(t, opened(t, url))["waits"]; (got == nil) != (there == 1) {
		t.Errorf("it got %v and is stored %d times", got, there)
	}
}
