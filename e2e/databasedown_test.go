package e2e

import (
	"database/sql"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // to look at the database past Remit
	_ "modernc.org/sqlite"             // as above

	"remit/internal/stores/sqlstore/pgtest"
)

// down is the error envelope of the task tools with one plain sentence.
var down = regexp.MustCompile(`^{"success":false,"error":{"code":"processing_error","message":"[A-Z][a-z_ ,;]+","details":{}}}$`)

// A database that is down gives the seed's error without a word of the inside, and
// the server goes on by itself when it is back. One that is down at the start is
// waited for just so.
func TestPostgresDown(t *testing.T) {
	t.Parallel()
	pg := pgtest.New(t)
	pg.Stop(t)
	w := newSpace(t, nil).serve("--toolsets", "tasks", "--database", pg.URL())
	add := func() httpAnswer { return w.post("/tools/add_task", `{"user_id":"ann","title":"x"}`, nil) }
	for range 2 {
		if got := add(); got.status != http.StatusInternalServerError || !down.Match(got.body) {
			t.Errorf("down: status %d: %s", got.status, got.body)
		}
		if got := fetched(t, w.url+"/health"); got.status != http.StatusServiceUnavailable {
			t.Errorf("health while the database is down: status %d: %s", got.status, got.body)
		}
		pg.Start(t)
		end := time.Now().Add(patience)
		for add().status != http.StatusOK {
			if time.Now().After(end) {
				t.Fatalf("it does not recover: %s", w.stderr)
			}
			time.Sleep(50 * time.Millisecond)
		}
		if got := fetched(t, w.url+"/health"); got.status != http.StatusOK {
			t.Errorf("health while all is well: status %d: %s", got.status, got.body)
		}
		pg.Stop(t)
	}
}

// A database of a newer version is refused with a sentence, and left as it is.
func TestNewerDatabase(t *testing.T) {
	t.Parallel()
	onEachDatabase(t, func(t *testing.T, flags ...string) {
		s := newSpace(t, nil)
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
