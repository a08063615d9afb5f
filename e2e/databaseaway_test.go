package e2e

import (
	"database/sql"
	"net/http"
	"strings"
	"testing"

	"remit/internal/stores/sqlstore/pgtest"
)

// TestReadsGoOnWithoutTheDatabase stops PostgreSQL. Where no token exists, reads of files, books
// and code go on, and writes fail. Where one exists, calls without a token are refused.
func TestReadsGoOnWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	pg := pgtest.New(t)
	s := newWorkspace(t, map[string]string{"notes.md": "hello\n", "main.go": "package main\n"})
	s.ownKeys()
	w := s.serve("--toolsets", "booster,context,books", "--approve", "auto", "--database", pg.URL(), "--log-level", "error")
	if got := w.post("/tools/write_content", `{"book_id":"a-book","path":"lessons/a.md","content":"A"}`, nil); got.status != http.StatusOK {
		t.Fatalf("write_content: %d %s", got.status, got.body)
	}
	reads := map[string]string{
		"read_repo_file": `{"path":"notes.md"}`,
		"read_file":      `{"path":"main.go"}`,
		"grep_codebase":  `{"pattern":"package"}`,
		"read_content":   `{"book_id":"a-book","path":"lessons/a.md"}`,
	}
	read := func(when string, want int) {
		t.Helper()
		for tool, args := range reads {
			if got := w.post("/tools/"+tool, args, nil); got.status != want {
				t.Errorf("%s: %s: %d %s", when, tool, got.status, clip(got.body))
			}
		}
	}
	read("before", http.StatusOK)
	pg.Stop(t)
	read("away", http.StatusOK)
	if got := w.post("/tools/write_content", `{"book_id":"a-book","path":"lessons/b.md","content":"B"}`, nil); got.status < 500 {
		t.Errorf("a write: %d %s", got.status, got.body)
	}
	pg.Start(t)
	s.database = pg.URL()
	s.mustRun("token", "create", "--name", "ci", "--scopes", "*", "--database", pg.URL())
	eventually(t, "the server notices the token", func() bool {
		return w.post("/tools/read_repo_file", reads["read_repo_file"], nil).status == http.StatusUnauthorized
	})
	read("with a token", http.StatusUnauthorized)
	pg.Stop(t)
	read("with a token, away", http.StatusUnauthorized)
}

// TestAnotherClock gives a replica a database whose clock is 90 seconds ahead: doctor and /health
// name it. A schema before that of PostgreSQL has another function for the time.
func TestAnotherClock(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	s := newWorkspace(t, nil)
	db, err := sql.Open("pgx", url)
	s.check(err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), `CREATE SCHEMA shifted;
		CREATE TABLE shifted.skew (by interval NOT NULL);
		INSERT INTO shifted.skew VALUES ('0 seconds');
		CREATE FUNCTION shifted.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS
		$$ SELECT pg_catalog.clock_timestamp() + (SELECT by FROM shifted.skew) $$`)
	s.check(err)
	separator := "?"
	if strings.Contains(url, "?") {
		separator = "&"
	}
	url += separator + "search_path=shifted,pg_catalog,public"
	w := s.serve("--toolsets", "tasks", "--database", url, "--log-level", "error")
	for skew, word := range map[string]string{"0 seconds": "", "90 seconds": "behind that of the database", "-90 seconds": "ahead of that of the database"} {
		_, err = db.ExecContext(t.Context(), "UPDATE shifted.skew SET by = $1::text::interval", skew)
		s.check(err)
		want := http.StatusOK
		if word != "" {
			want = http.StatusServiceUnavailable
		}
		if got := w.get("/health", nil); got.status != want || (word != "") != strings.Contains(string(got.body), `"clock":"failed"`) {
			t.Errorf("%s: health: %d %s", skew, got.status, got.body)
		}
		got := s.remit("doctor", "--root", s.root, "--toolsets", "tasks", "--database", url)
		if word != "" && (got.code != 1 || !strings.Contains(strings.Join(strings.Fields(got.out), " "), word)) {
			t.Errorf("%s: doctor: exit %d\n%s", skew, got.code, got.out)
		}
		if word == "" && !strings.Contains(got.out, "it agrees with the clock of this machine") {
			t.Errorf("doctor: %s", got.out)
		}
	}
}
