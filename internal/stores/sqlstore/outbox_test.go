package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"remit/internal/contract/jsontree"
	"remit/internal/engine/approval"
	"remit/internal/engine/audit"
	"remit/internal/engine/identity"
	"remit/internal/engine/passkey"
	"remit/internal/stores/sqlstore"
	"remit/internal/toolsets/learning"
	"remit/internal/toolsets/tasks"
)

// newEffect returns the effect of a call of a tool, whose record is written to log.
func newEffect(log audit.Writer) *audit.Effect {
	return audit.NewEffect(&audit.Record{
		Time: noon(), Principal: "ada", Tool: "tasks/add_task", Outcome: "ok",
		Arguments: jsontree.Obj(jsontree.M("title", jsontree.Str("Milk"))),
	}, log)
}

// rowsOf returns the calls in the outbox, with their records.
func rowsOf(t *testing.T, url string) map[string]string {
	t.Helper()
	rows := map[string]string{}
	raw(t, url, func(db *sql.DB) error {
		found, err := db.QueryContext(t.Context(), "SELECT call, body FROM outbox")
		if err != nil {
			return err
		}
		defer found.Close()
		for found.Next() {
			var call, body string
			if err := found.Scan(&call, &body); err != nil {
				return err
			}
			rows[call] = body
		}
		return found.Err()
	})
	return rows
}

// TestChangeIsRecorded checks that each change for a call adds the record of the call, and that
// nothing else does.
func TestChangeIsRecorded(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		at := url(t)
		db := open(t, at)
		todo, expires := db.Tasks(), noon().Add(time.Hour)
		add := func(ctx context.Context) error {
			_, err := todo.Add(ctx, tasks.New{UserID: "ada", Title: "Milk", Priority: tasks.Medium}, noon())
			return err
		}
		edit := func(changed bool, id int64) func(context.Context) error {
			return func(ctx context.Context) error {
				_, err := todo.Change(ctx, "ada", id, noon(), func(*tasks.Task) bool { return changed })
				return err
			}
		}
		keyedAdd := func(key string) func(context.Context) error {
			return func(ctx context.Context) error {
				_, _, err := db.Idempotency().Do(ctx, keyed(key), "r", noon(), addOne(db, "Milk"))
				return err
			}
		}
		ask := func(ctx context.Context) error {
			_, err := db.Approvals().Ask(ctx, approval.Request{ID: "r1", Key: "k", Tool: "a/b", Arguments: []byte("{}"), CreatedAt: noon(), ExpiresAt: expires})
			return err
		}
		if err := ask(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, tc := range []struct {
			name string
			do   func(context.Context) error
			want string // in the record; "": there is none
			fail bool
		}{
			{"add a task", add, `"title":"Milk"`, false},
			{"edit a task", edit(true, 1), `"outcome":"ok"`, false},
			{"edit nothing", edit(false, 1), "", false},
			{"edit a missing task", edit(true, 99), "", true},
			{"refuse to delete a task", func(ctx context.Context) error {
				return todo.Delete(ctx, "ada", 1, func(*tasks.Task) error { return os.ErrPermission })
			}, "", true},
			{"delete a task", func(ctx context.Context) error { return todo.Delete(ctx, "ada", 1, nil) }, `"outcome":"ok"`, false},
			{"keyed call", keyedAdd("k1"), `"outcome":"ok"`, false},
			{"replayed call", keyedAdd("k1"), "", false},
			{"effect outside", func(ctx context.Context) error {
				_, _, err := db.Idempotency().DoOutside(ctx, keyed("k2"), "r", noon(), expires, func(context.Context) ([]byte, error) { return nil, nil })
				return err
			}, "", false},
			{"ask", ask, "", false},
			{"approve", func(ctx context.Context) error {
				_, err := db.Approvals().Decide(ctx, "r1", approval.Verdict{Approve: true, By: "grace"}, noon(), expires)
				return err
			}, `"tool":"a/b"`, false},
			{"approve again", func(ctx context.Context) error {
				_, err := db.Approvals().Decide(ctx, "r1", approval.Verdict{Approve: true, By: "grace"}, noon(), expires)
				return err
			}, "", true},
			{"withdraw", func(ctx context.Context) error {
				_, err := db.Approvals().Withdraw(ctx, "r1", approval.Verdict{By: "grace"}, noon())
				return err
			}, `"tool":"a/b"`, false},
			{"create a token", func(ctx context.Context) error {
				return db.AgentTokens().Add(ctx, identity.Token{ID: "t1", Name: "bot", Hash: "h", Created: noon()})
			}, `"outcome":"ok"`, false},
			{"revoke a token", func(ctx context.Context) error {
				_, err := db.AgentTokens().Revoke(ctx, "bot", noon())
				return err
			}, `"name":"bot"`, false},
			{"sign in", func(ctx context.Context) error {
				return db.ConsoleSessions().Add(ctx, identity.Session{Hash: "h", Name: "grace", Role: identity.Admin, Created: noon(), Expires: expires, Seen: noon()})
			}, `"outcome":"ok"`, false},
			{"use a session", func(ctx context.Context) error { return db.ConsoleSessions().Touch(ctx, "h", expires) }, "", false},
			{"sign out", func(ctx context.Context) error { return db.ConsoleSessions().End(ctx, "h") }, `"outcome":"ok"`, false},
			{"add a passkey", func(ctx context.Context) error {
				return db.Passkeys().Add(ctx, passkey.Passkey{ID: "c", PublicKey: []byte("k"), Created: noon()}, true)
			}, `"outcome":"ok"`, false},
			{"remove a passkey", func(ctx context.Context) error { return db.Passkeys().Remove(ctx, "c") }, `"outcome":"ok"`, false},
		} {
			effect := newEffect(nil)
			err := tc.do(audit.WithEffect(t.Context(), effect))
			row := rowsOf(t, at)[effect.Call]
			if (err != nil) != tc.fail || effect.IsInOutbox() != (tc.want != "") || (row != "") != (tc.want != "") || !strings.Contains(row, tc.want) {
				t.Errorf("%s: %v; in the outbox: %v, %q; want %q", tc.name, err, effect.IsInOutbox(), row, tc.want)
			}
		}
	})
}

// TestSharedMemoryIsRecorded checks that each entry of a batch has its own record, and an entry
// that was refused has none.
func TestSharedMemoryIsRecorded(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	m := source(open(t, url)).Memory(sqlstore.MemoryOptions{Folder: "memory", Files: filesIn(t, t.TempDir()), Now: noon})
	defer m.Close()
	var effects []*audit.Effect
	var waits []func(context.Context) (learning.Position, error)
	for i := range 10 {
		e := newEffect(nil)
		var follows *learning.Extent
		if i == 3 {
			follows = &learning.Extent{End: 1000}
		}
		effects = append(effects, e)
		waits = append(waits, m.Append(audit.WithEffect(t.Context(), e), "a.jsonl", fmt.Appendf(nil, `{"n":%d}`, i), follows))
	}
	for i, wait := range waits {
		_, err := wait(t.Context())
		if stored := i != 3; (err == nil) != stored || effects[i].IsInOutbox() != stored {
			t.Errorf("entry %d: %v, in the outbox: %v", i, err, effects[i].IsInOutbox())
		}
	}
	rows := rowsOf(t, url)
	if len(rows) != 9 || rows[effects[3].Call] != "" {
		t.Errorf("the outbox has %v", slices.Collect(maps.Keys(rows)))
	}
}

// TestNoChangeWithoutRecord checks that nothing is changed if its record cannot be added.
func TestNoChangeWithoutRecord(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		at := url(t)
		db := open(t, at)
		behind(t, at, "ALTER TABLE outbox RENAME COLUMN body TO gone")
		effect := newEffect(nil)
		milk := tasks.New{UserID: "ada", Title: "Milk", Priority: tasks.Medium}
		if _, err := db.Tasks().Add(audit.WithEffect(t.Context(), effect), milk, noon()); err == nil || effect.IsInOutbox() {
			t.Errorf("add: %v; in the outbox: %v", err, effect.IsInOutbox())
		}
		if n := tasksOf(t, db); n != 0 {
			t.Errorf("%d tasks were added", n)
		}
	})
	at := newFile(t)
	db := open(t, at)
	db.UseOutbox(&sqlstore.Outbox{Owner: "a", Begin: func() error { return os.ErrPermission }})
	_, err := db.Tasks().Add(audit.WithEffect(t.Context(), newEffect(nil)), tasks.New{UserID: "ada", Title: "Milk", Priority: tasks.Medium}, noon())
	if !errors.Is(err, os.ErrPermission) || tasksOf(t, db) != 0 {
		t.Errorf("a process that cannot announce itself: %v, %d tasks", err, tasksOf(t, db))
	}
}
