package app

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/approval"
	"remit/internal/engine/audit"
	"remit/internal/frontends/cli"
	"remit/internal/stores/sqlstore"
	"remit/internal/stores/sqlstore/pgtest"
)

// replicas opens workspaces in separate folders that share a database.
func replicas(t *testing.T, n int, change func(*cli.Settings)) []*App {
	t.Helper()
	url := pgtest.Database(t)
	var all []*App
	for range n {
		all = append(all, openHere(t, func(s *cli.Settings) {
			s.Database, s.RateLimits = url, true
			change(s)
		}))
	}
	return all
}

// call makes a call, and fails the test if the tool does not exist.
func call(t *testing.T, a *App, c engine.Call, args string) engine.Result {
	t.Helper()
	parsed, err := jsontree.Parse([]byte(args))
	if err != nil {
		t.Fatal(err)
	}
	c.Args, c.Principal = parsed, cli.LocalPrincipal
	// Without a deadline, the database has a few seconds.
	ctx, cancel := context.WithTimeout(t.Context(), hangTimeout)
	defer cancel()
	result, err := a.engine.Call(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// hangTimeout is how long a call may take before the test gives up.
const hangTimeout = 5 * time.Minute

const entry = `{"file":"decisions.jsonl","entry":{"timestamp":"2026-01-09T10:30:00Z","type":"stack","decision":"one database"}}`

// TestReplicasLimitTogether checks that the rate limit of a contract holds for all replicas
// together.
func TestReplicasLimitTogether(t *testing.T) {
	all := replicas(t, 3, func(s *cli.Settings) { s.Toolsets = []string{"booster"} })
	hello := all[0].sets[0].Find("hello")
	rate := hello.Rate.Requests
	var passed, limited atomic.Int64
	var wg sync.WaitGroup
	started := time.Now()
	for n := range 32 {
		wg.Go(func() {
			for range 2 * rate / 32 {
				result := call(t, all[n%len(all)], engine.Call{Tool: "hello"}, `{"name":"Ada"}`)
				switch {
				case result.Err == nil:
					passed.Add(1)
				case result.Err.Kind == contract.Limited:
					limited.Add(1)
				default:
					t.Errorf("%s", result.Body)
				}
			}
		})
	}
	wg.Wait()
	// Slots become free while the calls continue.
	per := hello.Rate.Per / time.Duration(rate)
	if n, limit := passed.Load(), int64(rate)+int64(time.Since(started)/per)+1; n < int64(rate) || n > limit {
		t.Errorf("%d calls passed and %d were limited; want %d to %d to pass", n, limited.Load(), rate, limit)
	}
}

// TestReplicasShareApprovals checks that a request of one replica can be approved at a second and
// used at a third, once.
func TestReplicasShareApprovals(t *testing.T) {
	all := replicas(t, 3, func(*cli.Settings) {})
	asked := call(t, all[0], engine.Call{Tool: "write_memory_entry"}, entry)
	if asked.Err == nil || asked.Err.Kind != contract.Pending {
		t.Fatalf("asked: %s", asked.Body)
	}
	store, err := all[1].Approvals(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	waiting, err := store.List(t.Context(), approval.ListOptions{Now: time.Now(), Limit: 10})
	if err != nil || len(waiting) != 1 {
		t.Fatalf("%d wait, %v", len(waiting), err)
	}
	shown, err := all[1].Desk().Show(t.Context(), waiting[0], "")
	if err != nil {
		t.Fatal(err)
	}
	decision := approval.Decision{Approve: true, By: "grace", Mark: waiting[0].PageMark(shown.State)}
	if _, err := all[1].Desk().Decide(t.Context(), waiting[0].ID, decision); err != nil {
		t.Fatal(err)
	}
	if done := call(t, all[2], engine.Call{Tool: "write_memory_entry"}, entry); done.Err != nil {
		t.Errorf("approved: %s", done.Body)
	}
	if again := call(t, all[1], engine.Call{Tool: "write_memory_entry"}, entry); again.Err == nil || again.Err.Kind != contract.Pending {
		t.Errorf("an approval was good for two calls: %s", again.Body)
	}
}

// TestReplicasCarryOutOnce checks that a repeated call at another replica gets the same answer and
// writes nothing, whether its effect is in a table or in a log.
func TestReplicasCarryOutOnce(t *testing.T) {
	all := replicas(t, 3, func(s *cli.Settings) { s.Toolsets, s.Approve = []string{"learning-os", "tasks"}, approval.Auto })
	for tool, args := range map[string]string{"add_task": `{"user_id":"ada","title":"Milk"}`, "write_memory_entry": entry} {
		first := call(t, all[0], engine.Call{Tool: tool, Key: "k-1"}, args)
		for _, a := range all {
			again := call(t, a, engine.Call{Tool: tool, Key: "k-1"}, args)
			if first.Err != nil || string(again.Body) != string(first.Body) || !again.Replayed {
				t.Errorf("%s: first %s, then %s, replayed %v", tool, first.Body, again.Body, again.Replayed)
			}
		}
	}
	if list := call(t, all[1], engine.Call{Tool: "list_tasks"}, `{"user_id":"ada"}`); !strings.Contains(string(list.Body), `"total":1`) {
		t.Errorf("tasks: %s", list.Body)
	}
}

// TestReplicasShareMemoryAndAudit checks that all replicas can read an entry in every way, and that
// their calls are in one audit log.
func TestReplicasShareMemoryAndAudit(t *testing.T) {
	all := replicas(t, 2, func(s *cli.Settings) { s.Approve = approval.Auto })
	name := filepath.Join(all[0].settings.Root, memoryFolder, "decisions.jsonl")
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("{\"old\":true}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const path = `{"path":".claude/memory/decisions.jsonl"}`
	if missing := call(t, all[1], engine.Call{Tool: "read_repo_file"}, path); missing.Err == nil || missing.Err.Kind != contract.NotFound {
		t.Errorf("before the first entry, where there is no file: %s", missing.Body)
	}
	if here := call(t, all[0], engine.Call{Tool: "read_repo_file"}, path); here.Err != nil || !strings.Contains(string(here.Body), "old") {
		t.Errorf("before the first entry, where there is a file: %s", here.Body)
	}
	if wrote := call(t, all[0], engine.Call{Tool: "write_memory_entry"}, entry); wrote.Err != nil || !strings.Contains(string(wrote.Body), `"line_number":2`) {
		t.Fatalf("wrote: %s", wrote.Body)
	}
	for i, a := range all {
		read := call(t, a, engine.Call{Tool: "read_repo_file"}, path)
		if read.Err != nil || !strings.Contains(string(read.Body), `{\"old\":true}\n{\"timestamp\"`) {
			t.Errorf("replica %d reads %s", i, read.Body)
		}
		tail, err := a.storage.memory.Tail(t.Context(), "decisions.jsonl", &contract.PathPolicy{}, 1<<20)
		if err != nil || strings.Count(string(tail.Text), "\n") != 2 {
			t.Errorf("replica %d has %q, %v", i, tail.Text, err)
		}
		if denied := call(t, a, engine.Call{Tool: "read_repo_file"}, `{"path":".claude/settings.json"}`); denied.Err == nil {
			t.Errorf("replica %d reads what is denied: %s", i, denied.Body)
		}
	}
	for _, a := range all {
		if err := a.storage.recordsEnd.Close(); err != nil {
			t.Error(err)
		}
	}
	if n, err := audit.Verify(t.Context(), all[1].AuditRecords()); n != 7 || err != nil {
		t.Errorf("%d records, %v; want 7", n, err)
	}
}

// TestReplicasHaveOneKey checks that replicas can open what another one has sealed.
func TestReplicasHaveOneKey(t *testing.T) {
	all := replicas(t, 2, func(*cli.Settings) {})
	one, err := all[0].database.key()
	if err != nil {
		t.Fatal(err)
	}
	other, err := all[1].database.key()
	if err != nil || string(one) != string(other) || len(one) != 32 {
		t.Errorf("%x and %x, %v", one, other, err)
	}
}

// TestDatabaseIsReachableAgain checks that calls fail with a plain message and without delay while
// the database is unreachable, and work again afterwards.
func TestDatabaseIsReachableAgain(t *testing.T) {
	server := pgtest.New(t)
	server.Stop(t)
	a := openHere(t, func(s *cli.Settings) {
		s.Database, s.Toolsets, s.RateLimits = server.URL(), []string{"learning-os", "tasks"}, true
	})
	if err := a.database.reach(t.Context()); err != nil {
		t.Fatalf("a server that starts refuses: %v", err)
	}
	fails := func() {
		t.Helper()
		result := call(t, a, engine.Call{Tool: "add_task", Key: "k"}, `{"user_id":"ada","title":"Milk"}`)
		if result.Err == nil || result.Err.Kind != contract.Unavailable || strings.Contains(string(result.Body), "postgres") {
			t.Fatalf("without a database: %s", result.Body)
		}
		if a.health(t.Context(), false)["database"] == nil {
			t.Fatal("health says that the database is well")
		}
	}
	works := func() {
		t.Helper()
		deadline := time.Now().Add(time.Minute)
		for {
			result := call(t, a, engine.Call{Tool: "add_task", Key: "k"}, `{"user_id":"ada","title":"Milk"}`)
			if result.Err == nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("it does not come back: %s, %v", result.Body, result.Err.Cause)
			}
			time.Sleep(10 * time.Millisecond)
		}
		if err := a.health(t.Context(), false)["database"]; err != nil {
			t.Error(err)
		}
	}
	fails()
	server.Start(t)
	works()
	server.Stop(t)
	fails()
	server.Start(t)
	works()
	if list := call(t, a, engine.Call{Tool: "list_tasks"}, `{"user_id":"ada"}`); !strings.Contains(string(list.Body), `"total":1`) {
		t.Errorf("tasks: %s", list.Body)
	}
}

// TestDatabaseIsReplaced puts an empty database in the place of the one in use. The program must
// report that, create nothing, and go on when the right one is back.
func TestDatabaseIsReplaced(t *testing.T) {
	url := pgtest.Database(t)
	a := openHere(t, func(s *cli.Settings) { s.Database, s.Toolsets = url, []string{"tasks"} })
	add := func() engine.Result {
		return call(t, a, engine.Call{Tool: "add_task"}, `{"user_id":"ada","title":"Milk"}`)
	}
	if result := add(); result.Err != nil {
		t.Fatal(result.Err.Cause)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `ALTER SCHEMA public RENAME TO away; CREATE SCHEMA public`); err != nil {
		t.Fatal(err)
	}
	awaitCall(t, add, func(r engine.Result) bool {
		return r.Err != nil && strings.Contains(string(r.Body), "has lost its tables")
	})
	if a.health(t.Context(), false)["database"] == nil {
		t.Error("health says that a database without tables is well")
	}
	var tables int
	err = conn.QueryRow(t.Context(), `SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'`).Scan(&tables)
	if err != nil || tables > 0 {
		t.Errorf("%d tables were created, error %v", tables, err)
	}
	if _, err := conn.Exec(t.Context(), `DROP SCHEMA public; ALTER SCHEMA away RENAME TO public`); err != nil {
		t.Fatal(err)
	}
	awaitCall(t, add, func(r engine.Result) bool { return r.Err == nil })
	if err := a.health(t.Context(), false)["database"]; err != nil {
		t.Error(err)
	}
	if _, err := conn.Exec(t.Context(), `ALTER DATABASE `+conn.Config().Database+` SET default_transaction_read_only = on;
		SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()`); err != nil {
		t.Fatal(err)
	}
	if err := a.health(t.Context(), false)["database"]; err == nil || !strings.Contains(err.Error(), "is read-only") {
		t.Errorf("health of a read-only database: %v", err)
	}
}

// TestDatabaseOfEarlier puts the database back to an earlier time while a server runs. What was
// revoked since could be back, so the server must stop until the newer one is there again.
func TestDatabaseOfEarlier(t *testing.T) {
	url := pgtest.Database(t)
	a := openHere(t, func(s *cli.Settings) { s.Database, s.Toolsets = url, []string{"tasks"} })
	add := func() engine.Result {
		return call(t, a, engine.Call{Tool: "add_task"}, `{"user_id":"ada","title":"Milk"}`)
	}
	for range 3 {
		if result := add(); result.Err != nil {
			t.Fatal(result.Err.Cause)
		}
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	change := func(statement string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.storage.drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	change(`UPDATE logs SET lines = lines - 1 WHERE log = 'audit'`)
	awaitCall(t, add, func(r engine.Result) bool {
		return r.Err != nil && strings.Contains(string(r.Body), "put back to an earlier time")
	})
	if err := a.health(t.Context(), false)["database"]; err == nil {
		t.Error("health says that an older database is well")
	}
	change(`UPDATE logs SET lines = lines + 1 WHERE log = 'audit'`)
	awaitCall(t, add, func(r engine.Result) bool { return r.Err == nil })
}

// awaitCall repeats a call until its answer is the wanted one.
func awaitCall(t *testing.T, call func() engine.Result, wanted func(engine.Result) bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		result := call()
		if wanted(result) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the last answer is %s", result.Body)
		}
	}
}

// TestFailedOpeningCountsForAll checks that no caller waits for a server that was unreachable a
// moment ago.
func TestFailedOpeningCountsForAll(t *testing.T) {
	a := openHere(t, func(s *cli.Settings) { s.Database = "postgres://ada:s3cret@127.0.0.1:1/remit" })
	_, first := a.database.open(t.Context())
	if first == nil || strings.Contains(first.Error(), "s3cret") {
		t.Fatalf("open: %v", first)
	}
	a.database.last.ended = time.Now().Add(time.Hour)               // however slow this machine is
	if _, second := a.database.open(t.Context()); second != first { //nolint:errorlint // must be this very error
		t.Errorf("it was tried again: %v", second)
	}
	a.database.last.ended = time.Now().Add(-openPause)
	if _, third := a.database.open(t.Context()); third == nil || third == first { //nolint:errorlint // must be another error
		t.Errorf("it was not tried again: %v", third)
	}
}

// TestOneWaitsForAServerThatIsSlow checks that after a failure, only the caller that tries again
// waits for the server.
func TestOneWaitsForAServerThatIsSlow(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, but does not answer
	if err != nil {
		t.Fatal(err)
	}
	a := openHere(t, func(s *cli.Settings) { s.Database = "postgres://" + silent.Addr().String() + "/remit?sslmode=disable" })
	first := errors.New("it did not answer")
	ended := &attempt[*sqlstore.DB]{stop: func() {}, done: make(chan struct{}), err: first, ended: time.Now().Add(-openPause)}
	close(ended.done)
	a.database.last = ended
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.database.open(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("the caller that tries again: %v", err)
	}
	if _, err := a.database.open(t.Context()); err != first { //nolint:errorlint // must be this very error
		t.Errorf("a caller during the attempt: %v", err)
	}
	if err := silent.Close(); err != nil { // ends the attempt
		t.Fatal(err)
	}
}

// TestCloseWaitsForNoServer checks that a server that does not answer does not delay closing.
func TestCloseWaitsForNoServer(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	d := newDatabase("postgres://"+silent.Addr().String()+"/remit?sslmode=disable", nil, nil, nil)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.open(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("open: %v", err)
	}
	if err := d.close(); err != nil {
		t.Error(err)
	}
	if err := d.last.err; !errors.Is(err, context.Canceled) {
		t.Errorf("the try went on until it ended with %v", err)
	}
}

// TestServeRefuses checks that a problem that only an operator can fix stops the server, with a
// clear message.
func TestServeRefuses(t *testing.T) {
	url := pgtest.Database(t)
	open, err := sqlstore.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if err := open.Close(); err != nil {
		t.Fatal(err)
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	makeNewer(t, stdlib.OpenDB(*config))
	for name, tc := range map[string]struct{ url, want string }{
		"newer":        {url, "a newer Remit wrote it"},
		"no database":  {strings.Replace(url, "/"+config.Database, "/nosuchdatabase", 1), "PostgreSQL has no such database"},
		"not readable": {"postgres://ada:s3%zzcret@127.0.0.1/remit", "the database URL is invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			a := openHere(t, func(s *cli.Settings) { s.Database, s.Addr = tc.url, "127.0.0.1:0" })
			refused(t, a, tc.want)
		})
	}
}

// TestServeRefusesANewerFile checks the same for a SQLite file.
func TestServeRefusesANewerFile(t *testing.T) {
	a := openHere(t, func(s *cli.Settings) { s.Addr = "127.0.0.1:0" })
	db, err := a.database.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_ = db
	raw, err := sql.Open("sqlite", filepath.Join(a.settings.Data, "remit.db"))
	if err != nil {
		t.Fatal(err)
	}
	makeNewer(t, raw)
	other := openHere(t, func(s *cli.Settings) {
		s.Root, s.Data, s.Database, s.Addr = a.settings.Root, a.settings.Data, a.settings.Database, "127.0.0.1:0"
	})
	refused(t, other, "a newer Remit wrote it")
}

func makeNewer(t *testing.T, db *sql.DB) {
	t.Helper()
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, TRUE)"); err != nil {
		t.Fatal(err)
	}
}

// refused checks that a server does not start, and that the error says why.
func refused(t *testing.T, a *App, want string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := a.Serve(ctx, func(string) {
		t.Error("it serves")
		cancel()
	})
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3") {
		t.Errorf("it says %v; want %q", err, want)
	}
	if reached := a.database.reach(t.Context()); reached == nil || errors.Is(reached, context.Canceled) {
		t.Errorf("reach: %v", reached)
	}
}

// TestNothingIsOpenedBeforeItIsNeeded checks that opening a workspace needs no connection.
func TestNothingIsOpenedBeforeItIsNeeded(t *testing.T) {
	a := openHere(t, func(s *cli.Settings) {
		s.Database, s.Toolsets = "postgres://127.0.0.1:1/remit", []string{"learning-os", "tasks"}
	})
	if result := call(t, a, engine.Call{Tool: "read_repo_file"}, `{"path":"docs/no.md"}`); result.Err.Kind != contract.NotFound {
		t.Errorf("%s", result.Body)
	}
	if a.database.last != nil {
		t.Error(fmt.Sprint("the database was opened for a file: ", a.database.last.err))
	}
}
