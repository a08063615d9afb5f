package sqlstore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"remit/internal/engine/audit"
	"remit/internal/stores/memlog"
	"remit/internal/stores/sqlstore"
	"remit/internal/toolsets/tasks"
)

// replica is a process that changes a database and moves the records.
type replica struct {
	db      *sqlstore.DB
	outbox  *sqlstore.Outbox
	log     *audit.Log
	chain   audit.Reader
	drain   func(context.Context) error
	sweep   func(context.Context) error
	close   func() error
	kill    func()    // ends the process without moving its rows
	ended   *sync.Map // the owners that have ended
	found   func()    // called when rows of others were found, if not nil
	records *sqlstore.FileRecords
}

// newReplica returns a process. All processes of a SQLite file share the folder of the chain.
func newReplica(t *testing.T, url, folder string, ended *sync.Map) *replica {
	t.Helper()
	r := &replica{db: open(t, url), outbox: &sqlstore.Outbox{Owner: t.TempDir()}, ended: ended}
	r.db.UseOutbox(r.outbox)
	if sqlstore.IsPostgres(url) {
		records := source(r.db).Records(func(err error) { t.Error(err) })
		r.log, r.chain = &audit.Log{Storage: records}, source(r.db).RecordReader()
		r.drain, r.sweep = records.Drain, records.Sweep
		r.close = func() error { r.outbox.Close(); return records.Close() }
		r.kill = func() {}
	} else {
		daily := &memlog.Daily{Files: memlog.Dir(folder), Folder: os.DirFS(folder)}
		r.chain = audit.Folder{FS: os.DirFS(folder)}
		r.records = &sqlstore.FileRecords{
			Storage: daily, Chain: r.chain, Outbox: r.outbox, Open: source(r.db), Exists: func() bool { return true }, Flush: daily.Flush,
			Sync: func(string) error { return nil },
			IsOurs: func(owner string) (bool, bool) {
				if r.found != nil {
					r.found()
				}
				_, ended := r.ended.Load(owner)
				return true, ended
			},
		}
		daily.OnReplaced = r.records.Replaced
		r.log, r.drain, r.sweep = &audit.Log{Storage: r.records}, r.records.Drain, r.records.Sweep
		r.close = func() error {
			err := r.records.Close()
			return errors.Join(err, daily.Close())
		}
		r.kill = func() {
			ended.Store(r.outbox.Owner, true)
			r.close = func() error { r.outbox.Close(); return daily.Close() }
		}
	}
	t.Cleanup(func() {
		if err := r.close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// add adds a task for a call, and returns its effect.
func (r *replica) add(t *testing.T) *audit.Effect {
	t.Helper()
	effect := newEffect(r.log)
	if _, err := r.db.Tasks().Add(audit.WithEffect(t.Context(), effect), tasks.New{UserID: "ada", Title: "Milk", Priority: tasks.Medium}, noon()); err != nil {
		t.Error(err)
	}
	return effect
}

// chained returns how many records with the outcome ok the chain has of each call, and checks the
// chain.
func chained(t *testing.T, chain audit.Reader) map[string]int {
	t.Helper()
	calls := map[string]int{}
	if _, err := audit.Verify(t.Context(), chain, func(line []byte) error {
		if strings.Contains(string(line), `"outcome":"ok"`) {
			calls[audit.CallOf(line)]++
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	return calls
}

// expectOnce checks that the chain has each call once, and that the outbox is empty.
func expectOnce(t *testing.T, url string, chain audit.Reader, want int) {
	t.Helper()
	calls := chained(t, chain)
	for call, n := range calls {
		if n != 1 {
			t.Errorf("call %s is in the chain %d times", call, n)
		}
	}
	if rows := rowsOf(t, url); len(calls) != want || len(rows) != 0 {
		t.Errorf("the chain has %d calls, want %d; the outbox has %d", len(calls), want, len(rows))
	}
}

// TestCompleteRecordReplacesRow checks that the chain gets the complete record of a call that has
// succeeded, once, and that a reader who drains the outbox sees it.
func TestCompleteRecordReplacesRow(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		at := url(t)
		r := newReplica(t, at, t.TempDir(), &sync.Map{})
		for i := range 20 {
			effect := r.add(t)
			record := audit.Record{Time: noon(), Outcome: "ok", Call: effect.Call, Duration: 7 * time.Second, Bytes: i, InOutbox: true}
			if err := r.log.Write(t.Context(), &record, false); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		expectOnce(t, at, r.chain, 20)
		lines, err := r.chain.From(t.Context(), noon().Format(time.DateOnly), 0, 100)
		if err != nil || len(lines) != 20 || !strings.Contains(string(lines[19].Text), `"micros":7000000,"bytes":19`) {
			t.Errorf("%d lines, %v", len(lines), err)
		}
	})
}

// TestThreeSweepAtOnce checks that rows of processes that have ended are moved once, although
// three processes move them at the same time.
func TestThreeSweepAtOnce(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		at, folder, ended := url(t), t.TempDir(), &sync.Map{}
		const dead, each = 4, 30
		for range dead {
			r := newReplica(t, at, folder, ended)
			for range each {
				r.add(t)
			}
			r.kill()
		}
		if sqlstore.IsPostgres(at) {
			behind(t, at, "UPDATE outbox SET added_at = added_at - 20000000")
		}
		var all, found sync.WaitGroup
		found.Add(3)
		var chain audit.Reader
		for range 3 {
			r := newReplica(t, at, folder, ended)
			// All have found the same rows before one takes them.
			r.found = sync.OnceFunc(func() {
				found.Done()
				found.Wait()
			})
			chain = r.chain
			all.Go(func() {
				for range 3 {
					if err := r.sweep(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		expectOnce(t, at, chain, dead*each)
	})
}

// TestRowsOfRunningProcess checks that nobody moves the rows of a process that runs and whose
// calls have not ended.
func TestRowsOfRunningProcess(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		at, folder, ended := url(t), t.TempDir(), &sync.Map{}
		runs, other := newReplica(t, at, folder, ended), newReplica(t, at, folder, ended)
		effect := runs.add(t)
		for _, r := range []*replica{runs, other} {
			if err := r.sweep(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if len(chained(t, other.chain)) != 0 || len(rowsOf(t, at)) != 1 {
			t.Error("the row was moved")
		}
		if err := effect.Conclude(t.Context(), nil); err != nil {
			t.Error(err)
		}
		if err := other.drain(t.Context()); err != nil { // a reader waits for the process
			t.Error(err)
		}
		expectOnce(t, at, other.chain, 1)
	})
}

// TestCallAfterItsRowWasMoved checks that a call is not recorded twice if its row was moved as it
// is before the call ended.
func TestCallAfterItsRowWasMoved(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		at, folder, ended := url(t), t.TempDir(), &sync.Map{}
		slow, other := newReplica(t, at, folder, ended), newReplica(t, at, folder, ended)
		effect := slow.add(t)
		if sqlstore.IsPostgres(at) {
			behind(t, at, "UPDATE outbox SET added_at = added_at - 20000000")
			if err := other.sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
		} else if err := slow.records.Close(); err != nil { // moves even young rows
			t.Fatal(err)
		}
		expectOnce(t, at, other.chain, 1)
		if err := effect.Conclude(t.Context(), nil); err != nil {
			t.Error(err)
		}
		if err := other.drain(t.Context()); err != nil {
			t.Error(err)
		}
		expectOnce(t, at, other.chain, 1)
	})
}

// TestKilledBetweenSteps checks that the rows of a SQLite file are moved once, at whichever step
// the process was killed that moved them.
func TestKilledBetweenSteps(t *testing.T) {
	t.Parallel()
	for name, killed := range map[string]func(t *testing.T, r *replica, e *audit.Effect){
		"row committed": func(*testing.T, *replica, *audit.Effect) {},
		"chained": func(t *testing.T, r *replica, e *audit.Effect) {
			t.Helper()
			done := audit.Record{Time: noon(), Outcome: "ok", Call: e.Call, Duration: time.Second}
			if err := (&audit.Log{Storage: r.records.Storage}).Write(t.Context(), &done, true); err != nil {
				t.Fatal(err)
			}
		},
		"chained the day after": func(t *testing.T, r *replica, e *audit.Effect) {
			t.Helper()
			for i, call := range []string{"", e.Call} {
				done := audit.Record{Time: noon().AddDate(0, 0, 1-i), Outcome: "ok", Call: call}
				if err := (&audit.Log{Storage: r.records.Storage}).Write(t.Context(), &done, true); err != nil {
					t.Fatal(err)
				}
			}
		},
		// The outcome of the commit was unknown.
		"failure chained": func(t *testing.T, r *replica, e *audit.Effect) {
			t.Helper()
			if err := e.Conclude(t.Context(), os.ErrDeadlineExceeded); err != nil {
				t.Fatal(err)
			}
			r.records.Flush()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, folder, ended := newFile(t), t.TempDir(), &sync.Map{}
			r := newReplica(t, at, folder, ended)
			effect := r.add(t)
			killed(t, r, effect)
			r.kill()
			next := newReplica(t, at, folder, ended)
			if err := next.drain(t.Context()); err != nil {
				t.Error(err)
			}
			if n := chained(t, next.chain)[effect.Call]; n != 1 || len(rowsOf(t, at)) != 0 {
				t.Errorf("the chain has %d records of the call, and the outbox %v", n, rowsOf(t, at))
			}
		})
	}
}

// TestRowsAreKeptWhileChainFails checks that rows stay in the outbox while the chain cannot be
// written, that nothing is accepted then, and that they are moved when it can.
func TestRowsAreKeptWhileChainFails(t *testing.T) {
	t.Parallel()
	at, folder := newFile(t), filepath.Join(t.TempDir(), "audit")
	r := newReplica(t, at, folder, &sync.Map{})
	if err := os.WriteFile(folder, nil, 0o600); err != nil { // a file in place of the folder
		t.Fatal(err)
	}
	effect := r.add(t)
	if err := effect.Conclude(t.Context(), nil); err != nil {
		t.Error(err)
	}
	r.records.Flush()
	if len(rowsOf(t, at)) != 1 {
		t.Error("the row is gone, but its record is not in the chain")
	}
	if err := r.log.Ready(noon()); err == nil {
		t.Error("another change would be accepted")
	}
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	if err := r.drain(t.Context()); err != nil {
		t.Error(err)
	}
	expectOnce(t, at, r.chain, 1)
}
