package sqlstore_test

import (
	"testing"

	"remit/internal/engine/passkey"
	"remit/internal/engine/passkey/passkeytest"
)

func TestPasskeys(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		passkeytest.Suite(t, func(t *testing.T) passkey.Store { return open(t, url(t)).Passkeys() })
	})
}
