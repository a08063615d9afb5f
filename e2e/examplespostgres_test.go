package e2e

import (
	"os"
	"testing"

	"remit/internal/stores/sqlstore/pgtest"
)

// Every example holds on PostgreSQL too, and is answered in the bytes that SQLite answers
// it with.
func TestPostgreSQLAnswersAsSQLiteDoes(t *testing.T) {
	t.Parallel()
	for set, all := range exampleSets(t) {
		t.Run(set, func(t *testing.T) {
			if (all[0].set.Hidden || set == "books") && os.Getenv("REMIT_FULL") != "true" {
				t.Skip("it keeps nothing in the database, and takes long; ./test.sh --full runs it")
			}
			t.Parallel()
			database := pgtest.Database(t)
			onSQLite := answersIn(t, "SQLite", newSpace, checkExample, all)
			onPostgres := answersIn(t, "PostgreSQL", func(t *testing.T, given map[string]string) *space {
				empty(t, database)
				s := newSpace(t, given)
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
