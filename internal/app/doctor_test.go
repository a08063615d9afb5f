package app

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"remit/internal/contract"
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

// TestDatabaseWithoutMeta checks that a database which cannot say whose it is counts as damaged,
// and that every way out says what to do.
func TestDatabaseWithoutMeta(t *testing.T) {
	root := t.TempDir()
	data := filepath.Join(root, ".remit")
	here := func(s *cli.Settings) {
		s.Root, s.Data, s.Database = root, data, "sqlite://"+filepath.Join(data, "remit.db")
	}
	if _, err := openHere(t, here).database.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(data, "remit.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "DROP TABLE meta"); err != nil {
		t.Fatal(err)
	}
	a := openHere(t, here)
	c := finding(t, a, "database")
	if c.Status != cli.StatusFail || !strings.Contains(c.Finding, "is damaged: its table meta is missing") || !strings.Contains(c.Fix, "remit restore") {
		t.Errorf("%+v", c)
	}
	for _, how := range []cli.Recovery{cli.Moved, cli.Copied} {
		if err := a.CanRecover(t.Context(), how); err == nil || !strings.Contains(err.Error(), "its table meta is missing") {
			t.Errorf("recovery %d: %v", how, err)
		}
	}
	if err := a.CanRecover(t.Context(), cli.NewData); err != nil {
		t.Error(err)
	}
}

// TestEmptyDatabaseStaysEmpty checks that looking whether a workspace can be recovered creates no
// tables.
func TestEmptyDatabaseStaysEmpty(t *testing.T) {
	a := openHere(t, func(*cli.Settings) {})
	if err := os.Mkdir(a.settings.Data, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(a.settings.Data, "remit.db")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for how, isRefused := range map[cli.Recovery]bool{cli.Moved: true, cli.Copied: false, cli.NewData: false} {
		if err := a.CanRecover(t.Context(), how); (err != nil) != isRefused {
			t.Errorf("recovery %d: %v", how, err)
		}
		if info, err := os.Stat(file); err != nil || info.Size() > 0 {
			t.Errorf("after recovery %d the database has %d bytes, error %v", how, info.Size(), err)
		}
	}
}

// TestUnusableKeysAreExplained checks that only the operator is told the path of a key folder that
// cannot be used.
func TestUnusableKeysAreExplained(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	a := openHere(t, func(*cli.Settings) {})
	_, err := a.database.open(t.Context())
	if _, keyErr := a.keys.Key(); err != nil || keyErr != nil {
		t.Fatal(err, keyErr)
	}
	if err := os.Chmod(a.keys.Path(), 0o755); err != nil {
		t.Fatal(err)
	}
	again := openHere(t, func(s *cli.Settings) { *s = a.settings })
	_, err = again.anchor.Place()
	var refused *contract.Error
	if !errors.As(err, &refused) || strings.Contains(refused.Message, a.keys.Path()) {
		t.Errorf("callers are told: %v", err)
	}
	if e, ok := errors.AsType[*doubtError](err); !ok || !strings.Contains(e.Detail(), "chmod 700 "+a.keys.Path()) {
		t.Errorf("the operator is told: %v", err)
	}
}

// TestMissingData checks that doctor reports a missing data folder if it was in use, and only then.
func TestMissingData(t *testing.T) {
	root := t.TempDir()
	data := filepath.Join(root, ".remit")
	here := func(s *cli.Settings) {
		s.Root, s.Data, s.Database = root, data, "sqlite://"+filepath.Join(data, "remit.db")
	}
	a := openHere(t, here)
	if c := a.checkData(); c.Status != cli.StatusOK {
		t.Errorf("before the first call: %+v", c)
	}
	if _, err := a.database.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c := a.checkData(); c.Status != cli.StatusOK {
		t.Errorf("in use: %+v", c)
	}
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}
	c := finding(t, openHere(t, here), "data")
	if c.Status != cli.StatusFail || !strings.Contains(c.Finding, "is missing") || !strings.Contains(c.Fix, "remit trust --new-data") {
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
	for _, name := range []string{"ends", "endless"} {
		if _, err := a.identities.tokens.Revoke(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	if c := finding(t, a, "tokens"); c.Status != cli.StatusWarn || !strings.Contains(c.Finding, "none is valid") || !strings.Contains(c.Fix, "remit token create") {
		t.Errorf("without a valid token: %+v", c)
	}
	a.settings.Identity = "off"
	if c := finding(t, a, "tokens"); c.Status != cli.StatusOK || c.Finding != "0 in use" {
		t.Errorf("without identity: %+v", c)
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

// TestDamagedRegistry checks that doctor and the health check name a registry that cannot be read:
// books can neither be listed nor written then.
func TestDamagedRegistry(t *testing.T) {
	library := t.TempDir()
	a := openHere(t, func(s *cli.Settings) { s.Toolsets, s.Books = []string{"books"}, []string{"file://" + library} })
	for text, damaged := range map[string]bool{"books: []\n": false, "{{{": true} {
		if err := os.WriteFile(filepath.Join(library, "registry.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c := finding(t, a, "books")
		if damaged != (c.Status == cli.StatusFail && strings.Contains(c.Finding, "registry.yaml has an error in line 1")) {
			t.Errorf("%q: %+v", text, c)
		}
		if err := a.health(t.Context(), false)["books"]; damaged != (err != nil) {
			t.Errorf("%q: health: %v", text, err)
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
