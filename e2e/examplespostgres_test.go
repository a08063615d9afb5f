package e2e

import (
	"os"
	"testing"

	"remit/internal/contract"
)

// Every example holds on PostgreSQL too, on every face, and is answered in the bytes
// that SQLite answers it with.
func TestPostgreSQLAnswersAsSQLiteDoes(t *testing.T) {
	t.Parallel()
	databases := newLender(t)
	eachExample(t, func(t *testing.T, set *contract.Set, c *contract.Contract, e contract.Example) {
		if (set.Hidden || set.Name == "books") && os.Getenv("REMIT_FULL") != "true" {
			t.Skip("it keeps nothing in the database, and takes long; ./test.sh --full runs it")
		}
		database := databases.lend(t)
		onPostgres := holdsOnEveryFace(t, set, c, e, func(t *testing.T) *space {
			empty(t, database)
			s := newSpace(t, e.Given)
			s.database = database
			return s
		})
		alone := newSpace(t, e.Given)
		prepare(t, alone, faces[0], set, e)
		got := faces[0].call(t, alone, set.Name, c.Name, modeOf(e), e.Arguments.Append(nil))
		if onSQLite := masked(t, got.text, e.Varies); onSQLite != onPostgres {
			t.Errorf("SQLite and PostgreSQL differ:\n%s\n%s", onSQLite, onPostgres)
		}
	})
}
