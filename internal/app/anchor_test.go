package app

import (
	"sync"
	"testing"

	"remit/internal/frontends/cli"
)

// TestDatabaseThatManyOpenFirst lets several servers open the new database of a workspace at once.
// None takes the id that another one gave the database for that of another database.
func TestDatabaseThatManyOpenFirst(t *testing.T) {
	for range 10 {
		root := t.TempDir()
		var servers sync.WaitGroup
		for range 4 {
			a := openHere(t, func(s *cli.Settings) {
				s.Root, s.Data = root, root+"/.remit"
				s.Database = "sqlite://" + s.Data + "/remit.db"
			})
			servers.Go(func() {
				if _, err := a.database.open(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		servers.Wait()
	}
}
