package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

// TestSecretsWithin: whichever folder is served, the one with the key in it is known.
func TestSecretsWithin(t *testing.T) {
	home, err := homeFolder()
	if err != nil {
		t.Fatal(err)
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

// TestSecretIsNeverChangedInPassing: a key that is there and cannot be used is an error,
// because another one would make strangers of all who were let in with it. Only where
// none can be kept is the temporary folder good enough, and only if it is ours alone.
func TestSecretIsNeverChangedInPassing(t *testing.T) {
	log, base := slog.New(slog.DiscardHandler), t.TempDir()
	home, passing := filepath.Join(base, "home"), filepath.Join(base, "passing")
	first, err := secretIn([]string{home, passing}, log)
	if err != nil || len(first) != secretSize {
		t.Fatalf("%d bytes, %v", len(first), err)
	}
	if err := os.WriteFile(filepath.Join(home, secretName), []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := secretIn([]string{home, passing}, log); err == nil {
		t.Error("a damaged key was replaced by another")
	}
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	nowhere := filepath.Join(file, "remit") // beneath a file nothing can be made
	if kept, err := secretIn([]string{nowhere, passing}, log); err != nil || len(kept) != secretSize {
		t.Errorf("%d bytes, %v", len(kept), err)
	}
	if runtime.GOOS == "windows" {
		return // modes are not those of Windows
	}
	if err := os.Chmod(passing, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := secretIn([]string{nowhere, passing}, log); err == nil {
		t.Error("a folder of others was trusted")
	}
}
