package sqlstore_test

import (
	"testing"

	"remit/internal/engine/background"
	"remit/internal/engine/background/backgroundtest"
)

func TestBackground(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		backgroundtest.Suite(t, func(t *testing.T) background.Store {
			return open(t, url(t)).Background()
		})
	})
}
