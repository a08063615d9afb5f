package e2e

import (
	"testing"

	"remit/internal/contract"
)

// Every example holds on PostgreSQL too, on every face, and is answered in the bytes
// that SQLite answers it with.
func TestPostgreSQLAnswersAsSQLiteDoes(t *testing.T) {
	t.Parallel()
	databases := newLender(t)
	eachExample(t, func(t *testing.T, set *contract.Set, c *contract.Contract, e contract.Example) {
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
