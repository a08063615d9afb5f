package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

// TestSecretsWithin checks that the folder of the key is found, whichever folder is served.
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
	t.Setenv("HOME", "/nowhere") // set by a client that starts us
	if found := secretsWithin(home); !slices.Contains(found, key) {
		t.Errorf("%q", found)
	}
}

// TestSecretIsNeverReplaced checks that a key that exists but cannot be used is an error,
// because a new one would invalidate everything that was sealed with it. The temporary folder is
// used only if the home folder cannot store a key, and only if it belongs to us alone.
func TestSecretIsNeverReplaced(t *testing.T) {
	log, base := slog.New(slog.DiscardHandler), t.TempDir()
	home, temporary := filepath.Join(base, "home"), filepath.Join(base, "temporary")
	first, err := secretIn([]string{home, temporary}, log)
	if err != nil || len(first) != secretSize {
		t.Fatalf("%d bytes, %v", len(first), err)
	}
	if err := os.WriteFile(filepath.Join(home, secretName), []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := secretIn([]string{home, temporary}, log); err == nil {
		t.Error("a damaged key was replaced by another")
	}
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	nowhere := filepath.Join(file, "remit") // nothing can be created below a file
	if kept, err := secretIn([]string{nowhere, temporary}, log); err != nil || len(kept) != secretSize {
		t.Errorf("%d bytes, %v", len(kept), err)
	}
	if runtime.GOOS == "windows" {
		return // Windows has no such modes
	}
	if err := os.Chmod(temporary, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := secretIn([]string{nowhere, temporary}, log); err == nil {
		t.Error("a folder of others was trusted")
	}
}
