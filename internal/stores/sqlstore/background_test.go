package sqlstore_test

import (
	"path/filepath"
	"testing"

	"remit/internal/engine/background"
	"remit/internal/engine/background/backgroundtest"
)

func TestBackground(t *testing.T) {
	backgroundtest.Suite(t, func(t *testing.T) background.Store {
		return open(t, "sqlite://"+filepath.Join(t.TempDir(), "remit.db")).Background()
	})
}
