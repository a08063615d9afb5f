package sqlstore_test

import (
	"testing"

	"remit/internal/toolsets/codebase/sessions/sessionstest"
)

func TestSessions(t *testing.T) {
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		at := url(t)
		sessionstest.Suite(t, func(t *testing.T) sessionstest.Stores {
			db := open(t, at)
			behind(t, at, "DELETE FROM client_sessions")
			return sessionstest.Stores{Here: db.Sessions("here"), Beside: open(t, at).Sessions("here"), Elsewhere: db.Sessions("elsewhere")}
		})
	})
}
