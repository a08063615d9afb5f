package app

import (
	"path/filepath"
	"slices"
	"testing"
)

// TestSecretsWithin: whichever folder is served, the one with the key in it is known.
func TestSecretsWithin(t *testing.T) {
	home, err := homeFolder()
	if err != nil {
		t.Skip(err)
	}
	key := filepath.Join(home, ".config", "remit")
	for _, root := range []string{"/", filepath.Dir(home), home} {
		if found := secretsWithin(root); !slices.Contains(found, key) {
			t.Errorf("%s: %q", root, found)
		}
	}
	t.Setenv("HOME", "/nowhere") // by a client that starts us
	if found := secretsWithin(home); !slices.Contains(found, key) {
		t.Errorf("%q", found)
	}
}
