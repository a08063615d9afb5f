package idempotency_test

import (
	"strings"
	"testing"

	"remit/internal/contract"
	"remit/internal/engine/idempotency"
	"remit/internal/engine/idempotency/idempotencytest"
)

func TestMemory(t *testing.T) {
	idempotencytest.Suite(t, func(*testing.T) idempotency.Store { return &idempotencytest.Memory{} })
}

func TestCheckKey(t *testing.T) {
	for key, good := range map[string]bool{
		"a":                                    true,
		"8e03978e-40d5-43e8-bc93-6894a57f9324": true,
		`"quoted"`:                             true,
		strings.Repeat("~", 255):               true,
		"!":                                    true,
		"":                                     false,
		" ":                                    false,
		"a b":                                  false,
		"a\n":                                  false,
		"a\x00":                                false,
		"\x7f":                                 false,
		"ü":                                    false,
		strings.Repeat("~", 256):               false,
	} {
		err := idempotency.CheckKey(key)
		if good != (err == nil) || err != nil && (contract.AsError(err).Kind != contract.Invalid ||
			!strings.Contains(err.Error(), "1 to 255 visible ASCII characters")) {
			t.Errorf("CheckKey(%q) = %v", key, err)
		}
	}
}
