package e2e

import (
	"os"
	"testing"

	"remit/internal/contract"
)

// Every example holds on PostgreSQL too, and is answered in the bytes that SQLite answers
// it with.
func TestPostgreSQLAnswersAsSQLiteDoes(t *testing.T) {
	t.Parallel()
	databases, asked := newLender(t), distinctFaces
	if os.Getenv("REMIT_FULL") == "true" {
		asked = faces
	}
	eachExample(t, func(t *testing.T, set *contract.Set, c *contract.Contract, e contract.Example) {
		if (set.Hidden || set.Name == "books") && os.Getenv("REMIT_FULL") != "true" {
			t.Skip("it keeps nothing in the database, and takes long; ./test.sh --full runs it")
		}
		database := databases.lend(t)
		onPostgres := holdsOn(t, asked, set, c, e, func(t *testing.T) *space {
			empty(t, database)
			s := newSpace(t, e.Given)
			s.database = database
			return s
		})
		got := replay(t, func(t *testing.T) *space { return newSpace(t, e.Given) }, faces[0], set, c, e)
		if onSQLite := masked(t, got.text, e.Varies); onSQLite != onPostgres {
			t.Errorf("SQLite and PostgreSQL differ:\n%s\n%s", onSQLite, onPostgres)
		}
	})
}
