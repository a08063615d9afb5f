package sqlstore_test

import (
	"testing"

	"remit/internal/toolsets/codebase"
	"remit/internal/toolsets/codebase/codebasetest"
)

func TestAccesses(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		codebasetest.Suite(t, func(t *testing.T) (here, elsewhere codebase.Accesses) {
			db := open(t, url(t))
			return db.Accesses("here"), db.Accesses("elsewhere")
		})
	})
}

// TestAccessesOfProcesses checks that two processes with the same database add to the same counts.
func TestAccessesOfProcesses(t *testing.T) {
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		codebasetest.Together(t, func(t *testing.T) []codebase.Accesses {
			at := url(t)
			return []codebase.Accesses{open(t, at).Accesses("here"), open(t, at).Accesses("here")}
		})
	})
}
