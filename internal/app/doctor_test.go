package app

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"remit/internal/engine/identity"
	"remit/internal/frontends/cli"
	"remit/internal/stores/blob/s3test"
)

// finding returns the result of one check of a workspace.
func finding(t *testing.T, a *App, name string) cli.Check {
	t.Helper()
	for _, c := range a.Checks(t.Context(), false) {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("nothing is said of %s", name)
	return cli.Check{}
}

// TestNewerDatabaseIsFound checks that a database written by a newer Remit is reported as such.
func TestNewerDatabaseIsFound(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	here := func(s *cli.Settings) { s.Data, s.Database = data, "sqlite://"+filepath.Join(data, "remit.db") }
	a := openHere(t, here)
	if _, err := a.database.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c := finding(t, a, "database"); c.Status != cli.StatusOK || !strings.HasPrefix(c.Finding, "SQLite answers") {
		t.Errorf("%+v", c)
	}
	db, err := sql.Open("sqlite", filepath.Join(data, "remit.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)"); err != nil {
		t.Fatal(err)
	}
	if c := finding(t, openHere(t, here), "database"); c.Status != cli.StatusFail || !strings.HasPrefix(c.Fix, "A newer Remit has used it.") {
		t.Errorf("%+v", c)
	}
}

// TestEndlessTokensAreFound checks that only valid tokens without expiry are reported.
func TestEndlessTokensAreFound(t *testing.T) {
	a := openHere(t, func(*cli.Settings) {})
	all := identity.Scopes{{Set: identity.AnySet}: true}
	for _, n := range []identity.NewToken{
		{Name: "ends", User: "ada", Scopes: all, Expires: time.Now().Add(time.Hour)},
		{Name: "endless", User: "ada", Scopes: all},
		{Name: "revoked", User: "ada", Scopes: all},
	} {
		if _, _, err := a.identities.tokens.Create(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.identities.tokens.Revoke(t.Context(), "revoked"); err != nil {
		t.Fatal(err)
	}
	if c := finding(t, a, "tokens"); c.Status != cli.StatusWarn || c.Finding != "endless: no expiry is set" || !strings.Contains(c.Fix, "remit token revoke") {
		t.Errorf("%+v", c)
	}
}

// TestMissingBucket checks that doctor and the health check name a bucket that does not exist, and
// that a bucket without books is well.
func TestMissingBucket(t *testing.T) {
	server := s3test.Start(t)
	for bucket, missing := range map[string]bool{server.Bucket(t): false, "nowhere": true} {
		a := openHere(t, func(s *cli.Settings) {
			s.Toolsets, s.Books, s.Env = []string{"books"}, []string{server.URL(bucket, "course")}, server.Getenv
		})
		c := finding(t, a, "books")
		if missing != (c.Status == cli.StatusFail && strings.Contains(c.Finding, "there is no such bucket; create it")) {
			t.Errorf("%s: %+v", bucket, c)
		}
		if err := a.health(t.Context(), false)["books"]; missing != (err != nil) {
			t.Errorf("%s: health: %v", bucket, err)
		}
	}
}

// TestUnreachableBooks checks that an unreachable library is reported.
func TestUnreachableBooks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a := openHere(t, func(s *cli.Settings) {
		s.Toolsets, s.Books = []string{"books"}, []string{"file://" + filepath.Join(file, "library")}
	})
	if c := finding(t, a, "books"); c.Status != cli.StatusFail || !strings.Contains(c.Fix, "--books") {
		t.Errorf("%+v", c)
	}
}
