package sqlstore_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"remit/internal/contract"
	"remit/internal/contract/contracttest"
	"remit/internal/engine/passkey"
	"remit/internal/engine/passkey/passkeytest"
)

func TestPasskeys(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		passkeytest.Suite(t, func(t *testing.T) passkey.Store { return open(t, url(t)).Passkeys() })
	})
}

// TestFirstPasskeyOfReplicas checks that replicas accept only one first passkey together.
func TestFirstPasskeyOfReplicas(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		at := url(t)
		var stores [8]passkey.Store
		for i := range stores {
			stores[i] = open(t, at).Passkeys()
		}
		for round := range 10 {
			var added atomic.Int32
			contracttest.Concurrently(len(stores), func(i int) {
				err := stores[i].Add(t.Context(), passkey.Passkey{ID: fmt.Sprint(i), PublicKey: []byte{1}, Created: noon()}, true)
				switch {
				case err == nil:
					added.Add(1)
				case contract.AsError(err).Kind != contract.Conflict:
					t.Error(err)
				}
			})
			if n := added.Load(); n != 1 {
				t.Errorf("round %d: %d first passkeys", round, n)
			}
			for i := range stores {
				if err := stores[0].Remove(t.Context(), fmt.Sprint(i)); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
