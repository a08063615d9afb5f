package e2e

import (
	"os"
	"testing"

	"remit/internal/stores/sqlstore/pgtest"
)

// TestPostgreSQLAnswersEqualSQLite checks that every example passes on PostgreSQL, with the same
// bytes as on SQLite.
func TestPostgreSQLAnswersEqualSQLite(t *testing.T) {
	t.Parallel()
	for set, all := range exampleSets(t) {
		t.Run(set, func(t *testing.T) {
			if (all[0].set.Hidden || set == "books") && os.Getenv("REMIT_FULL") != "true" {
				t.Skip("this toolset stores nothing in the database, and the test is slow; ./test.sh --full runs it")
			}
			t.Parallel()
			database := pgtest.Database(t)
			onSQLite := answersIn(t, "SQLite", newWorkspace, checkExample, all)
			onPostgres := answersIn(t, "PostgreSQL", func(t *testing.T, given map[string]string) *workspace {
				empty(t, database)
				s := newWorkspace(t, given)
				s.database = database
				return s
			}, checkExample, all)
			for _, e := range all {
				want, got := onSQLite[e.String()], onPostgres[e.String()]
				if got != want || want.text == "" {
					t.Errorf("%s: SQLite and PostgreSQL differ:\n%s\n%s", e, want.text, got.text)
				}
			}
		})
	}
}
