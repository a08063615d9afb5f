package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"remit/internal/stores/sqlstore/pgtest"
)

// TestDeadlockIsRetried checks that a transaction that the server rolls back because of a
// deadlock is run again.
func TestDeadlockIsRetried(t *testing.T) {
	db := opened(t, pgtest.Database(t))
	err := db.change(t.Context(), func(ctx context.Context, tx runner) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO task_lists (user_id, total, revision, newest) VALUES ('a', 0, 0, 0), ('b', 0, 0, 0)")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	const up = "UPDATE task_lists SET total = total + 1 WHERE user_id = $1"
	var met, runs atomic.Int32
	both := make(chan struct{})
	crosswise := func(first, second string) work {
		return func(ctx context.Context, tx runner) error {
			runs.Add(1)
			if _, err := tx.ExecContext(ctx, up, first); err != nil {
				return err
			}
			if met.Add(1) == 2 {
				close(both)
			}
			<-both
			_, err := tx.ExecContext(ctx, up, second)
			return err
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	var wg sync.WaitGroup
	for _, f := range []work{crosswise("a", "b"), crosswise("b", "a")} {
		wg.Go(func() {
			if err := db.change(ctx, f); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	sum := 0
	err = readRow(t.Context(), db.reader(t.Context()), "SELECT sum(total) FROM task_lists", &sum)
	if sum != 4 || runs.Load() < 3 || err != nil {
		t.Errorf("%d runs counted to %d, error %v", runs.Load(), sum, err)
	}
}

// TestConnectionLost checks that a change is run again if the connection was lost before the commit
// was sent, and never after it.
func TestConnectionLost(t *testing.T) {
	const disconnect = "SELECT pg_terminate_backend(pg_backend_pid())"
	db := opened(t, pgtest.Database(t))
	add := notes(t, db)
	runs := 0
	err := db.change(t.Context(), func(ctx context.Context, tx runner) error {
		if runs++; runs < 3 {
			if err := add("undone")(ctx, tx); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, disconnect)
			return err
		}
		return add("kept")(ctx, tx)
	})
	if err != nil || runs != 3 {
		t.Errorf("lost twice before the commit: %d runs, error %v", runs, err)
	}
	setUp(t, db,
		"CREATE FUNCTION hang_up() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END'",
		"CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON notes DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION hang_up()")
	runs = 0
	err = db.change(t.Context(), func(ctx context.Context, tx runner) error {
		runs++
		return add("in doubt")(ctx, tx)
	})
	var unknown *CommitUnknownError
	if !errors.As(err, &unknown) || runs != 1 {
		t.Errorf("lost in the commit: %d runs, error %v", runs, err)
	}
	expect(t, db, "kept")
}

func setUp(t *testing.T, db *DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.write.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// TestFailureThatIsIgnored checks a change that ignores a failed statement: COMMIT itself reports
// no error for it.
func TestFailureThatIsIgnored(t *testing.T) {
	db := opened(t, pgtest.Database(t))
	add := notes(t, db)
	err := db.change(t.Context(), func(ctx context.Context, tx runner) error {
		_ = add("lost")(ctx, tx)
		_, _ = tx.ExecContext(ctx, "SELECT * FROM nothing")
		return nil
	})
	if err == nil {
		t.Error("a change that was rolled back is reported as stored")
	}
	expect(t, db)
}

func TestRefusals(t *testing.T) {
	url := pgtest.Database(t)
	db := opened(t, url)
	setUp(t, db, "DROP ROLE IF EXISTS guest", "DROP ROLE IF EXISTS many", "CREATE ROLE guest LOGIN", "CREATE ROLE many LOGIN CONNECTION LIMIT 0")
	setUp(t, db, "DELETE FROM goose_db_version WHERE version_id > 2")
	as := func(user string) string { return strings.Replace(url, "app@", user+":geheim@", 1) }
	noDatabase := strings.Replace(url, "/test", "/none", 1)
	for address, word := range map[string]string{
		as("nobody"): "rejected the login",
		as("many"):   "too many connections",
		as("guest"):  "lacks permission",
		noDatabase:   "no such database",

		url + "&flavour=sweet":            "rejected an option in the database URL",
		plaintext(t) + "?sslmode=require": "does not offer TLS",
	} {
		_, err := Open(t.Context(), address)
		var refused *RefusedError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), word) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%v, want %q and no password", err, word)
		}
	}
	setUp(t, db, "DROP ROLE guest", "DROP ROLE many")
}

// plaintext returns the URL of a server that does not support TLS.
func plaintext(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.CopyN(io.Discard, conn, 8) // the request for TLS
			_, _ = conn.Write([]byte("N"))
			_ = conn.Close()
		}
	}()
	return "postgres://" + listener.Addr().String() + "/remit"
}

// TestServerIsKilled checks that with a server that is killed repeatedly, acknowledged changes are
// stored, and none is stored twice.
func TestServerIsKilled(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	db := opened(t, server.URL())
	add := notes(t, db)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var kept, doubts atomic.Int32
	acknowledged, refused := make([][]string, 8), make([][]string, 8)
	for w := range acknowledged {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				note := fmt.Sprint(w, " ", i)
				var unknown *CommitUnknownError
				switch err := db.change(t.Context(), add(note)); {
				case err == nil:
					acknowledged[w] = append(acknowledged[w], note)
					kept.Add(1)
				case errors.As(err, &unknown):
					doubts.Add(1)
				default:
					refused[w] = append(refused[w], note)
				}
			}
		})
	}
	await := func(n int32) { // waits for n more stored changes
		for goal, deadline := kept.Load()+n, time.Now().Add(waitLimit); kept.Load() < goal && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		}
	}
	for range 2 {
		await(100)
		server.Kill(t)
		server.Start(t)
	}
	await(100)
	stop()
	wg.Wait()
	there := count(t, db)
	for _, note := range slices.Concat(acknowledged...) {
		if there[note] != 1 {
			t.Errorf("acknowledged note %s is there %d times", note, there[note])
		}
	}
	for _, note := range slices.Concat(refused...) {
		if there[note] != 0 {
			t.Errorf("note %s is stored %d times, but its writer got an error", note, there[note])
		}
	}
	for note, n := range there {
		if n != 1 {
			t.Errorf("note %s is there %d times", note, n)
		}
	}
	t.Logf("%d acknowledged, %d in doubt, %d there", kept.Load(), doubts.Load(), len(there))
	if kept.Load() < 300 {
		t.Errorf("only %d changes were kept", kept.Load())
	}
}

// TestServerHangs checks that no call waits longer than its timeout, and that everything works
// afterwards.
func TestServerHangs(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	db := opened(t, server.URL())
	add := notes(t, db)
	server.Pause(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := db.change(ctx, add("hangs")); err == nil {
		t.Error("a server that hangs stores a change")
	}
	known := db.writer.(*postgresServer)
	if !hasSilentTimeout(t, known) {
		t.Error("a server that hangs gets the full timeout")
	}
	known.silent.Store(1) // long ago
	if hasSilentTimeout(t, known) || !hasSilentTimeout(t, known) {
		t.Error("exactly one call should wait for the full timeout")
	}
	n := 0
	if err := readRow(ctx, db.reader(ctx), "SELECT 1", &n); err == nil {
		t.Error("a server that hangs reads")
	}
	if err := db.Ping(ctx); err == nil {
		t.Error("a server that hangs answers")
	}
	server.Resume(t)
	// Long ago, so that the next call waits for the full timeout, not for a second.
	known.silent.Store(1)
	patient, done := context.WithTimeout(t.Context(), waitLimit)
	defer done()
	if err := readRow(patient, db.reader(patient), "SELECT 1", &n); err != nil || known.silent.Load() != 0 {
		t.Errorf("a server that has resumed: %v, silent since %d", err, known.silent.Load())
	}
	if err := db.change(t.Context(), add("kept")); err != nil {
		t.Error(err)
	}
	expect(t, db, "kept")
}

// hasSilentTimeout reports whether a call without a deadline would get the short timeout.
func hasSilentTimeout(t *testing.T, s *postgresServer) bool {
	t.Helper()
	ctx, cancel := s.bounded(t.Context())
	defer cancel()
	end, _ := ctx.Deadline()
	return time.Until(end) <= silentTimeout
}

// TestServerRestarts checks that connections that broke while idle cause no failure.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	db := opened(t, server.URL())
	add := notes(t, db)
	var wg sync.WaitGroup
	for range maxConnections { // to open many connections
		wg.Go(func() {
			if err := db.change(t.Context(), add("before")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	server.Stop(t)
	var unreachable *UnreachableError
	if err := db.change(t.Context(), add("meanwhile")); !errors.As(err, &unreachable) {
		t.Errorf("a change while the server is away: %v", err)
	}
	server.Start(t)
	n := 0
	if err := readRow(t.Context(), db.reader(t.Context()), "SELECT count(*) FROM notes", &n); err != nil || n != maxConnections {
		t.Errorf("read %d, error %v", n, err)
	}
	if err := db.change(t.Context(), add("after")); err != nil {
		t.Error(err)
	}
	server.Kill(t)
	server.Start(t)
	if err := db.change(t.Context(), add("after")); err != nil {
		t.Error(err)
	}
}
