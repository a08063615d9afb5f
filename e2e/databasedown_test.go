package e2e

import (
	"database/sql"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // to read the database without Remit
	_ "modernc.org/sqlite"             // as above

	"remit/internal/stores/sqlstore/pgtest"
)

// databaseDown matches the error envelope of the task tools with one plain sentence.
var databaseDown = regexp.MustCompile(`^{"success":false,"error":{"code":"processing_error","message":"[A-Z][a-z_ ,;]+","details":{}}}$`)

// TestPostgresDown checks that calls fail with the seed's error and no internal details while the
// database is down, and that the server recovers by itself. It also waits for a database that is
// down at the start.
func TestPostgresDown(t *testing.T) {
	t.Parallel()
	pg := pgtest.New(t)
	pg.Stop(t)
	w := newWorkspace(t, nil).serve("--toolsets", "tasks", "--database", pg.URL())
	add := func() httpAnswer { return w.post("/tools/add_task", `{"user_id":"ann","title":"x"}`, nil) }
	for range 2 {
		if got := add(); got.status != http.StatusInternalServerError || !databaseDown.Match(got.body) {
			t.Errorf("down: status %d: %s", got.status, got.body)
		}
		if got := getFrom(t, w.url+"/health"); got.status != http.StatusServiceUnavailable {
			t.Errorf("health while the database is down: status %d: %s", got.status, got.body)
		}
		pg.Start(t)
		end := time.Now().Add(timeout)
		for add().status != http.StatusOK {
			if time.Now().After(end) {
				t.Fatalf("the server does not recover: %s", w.stderr)
			}
			time.Sleep(50 * time.Millisecond)
		}
		if got := getFrom(t, w.url+"/health"); got.status != http.StatusOK {
			t.Errorf("health while the database is up: status %d: %s", got.status, got.body)
		}
		pg.Stop(t)
	}
}

// TestNewerDatabase checks that a database of a newer version is rejected with one sentence and not
// changed.
func TestNewerDatabase(t *testing.T) {
	t.Parallel()
	onEachDatabase(t, func(t *testing.T, flags ...string) {
		s := newWorkspace(t, nil)
		if got := s.remit(append([]string{"call", "add_task", "user_id=ann", "title=x", "--toolsets", "tasks"}, flags...)...); got.code != 0 {
			t.Fatalf("add: %s%s", got.out, got.errOut)
		}
		driver, source := "sqlite", s.path(".remit/remit.db")
		if len(flags) > 0 {
			driver, source = "pgx", flags[1]
		}
		db, err := sql.Open(driver, source)
		s.check(err)
		_, err = db.ExecContext(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, true)")
		s.check(err)
		s.check(db.Close())
		got := s.remit(append([]string{"serve", "--addr", "127.0.0.1:0"}, flags...)...)
		if got.code == 0 || !strings.Contains(got.errOut, "newer") || !strings.Contains(got.errOut, "999") {
			t.Errorf("serve: exit %d: %s", got.code, got.errOut)
		}
		got = s.remit(append([]string{"call", "add_task", "user_id=ann", "title=x", "--toolsets", "tasks"}, flags...)...)
		if got.code == 0 || !strings.Contains(got.out, `"code":"processing_error"`) || strings.Contains(got.out, "goose") {
			t.Errorf("call: exit %d: %s%s", got.code, got.out, got.errOut)
		}
	})
}
