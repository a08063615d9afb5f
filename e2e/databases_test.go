package e2e

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"remit/internal/stores/sqlstore/pgtest"
)

// onEachDatabase runs a test on SQLite and on an empty PostgreSQL database. Every command of the
// test needs the flags.
func onEachDatabase(t *testing.T, test func(t *testing.T, flags ...string)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) { test(t) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, "--database", pgtest.Database(t)) })
}

// flags returns the flags that every command in the workspace needs.
func (s *workspace) flags() []string {
	flags := []string{"--root", s.root}
	if s.database != "" {
		flags = append(flags, "--database", s.database)
	}
	return flags
}

// emptyAll deletes the rows of all tables and restarts the sequences. The tables stay.
const emptyAll = `DO $$
DECLARE
	names TEXT;
BEGIN
	SELECT string_agg(format('%I', tablename), ', ') INTO names FROM pg_tables
		WHERE schemaname = current_schema() AND tablename <> 'goose_db_version';
	IF names IS NOT NULL THEN
		EXECUTE 'TRUNCATE ' || names;
	END IF;
	FOR names IN SELECT sequencename FROM pg_sequences
		WHERE schemaname = current_schema() AND sequencename NOT LIKE 'goose%' LOOP
		EXECUTE format('ALTER SEQUENCE %I RESTART', names);
	END LOOP;
END $$`

func empty(t *testing.T, url string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), emptyAll); err != nil {
		t.Fatal(err)
	}
}
