package app

import (
	"os"
	"path/filepath"
	"testing"

	"remit/internal/frontends/cli"
)

// TestUnreadableTrust checks that decisions that were changed, that belong to another workspace or
// whose key is lost cannot be read, can be revoked and can be replaced.
func TestUnreadableTrust(t *testing.T) {
	trustIt := func(known *cli.Trust) {
		known.Trusted = append(known.Trusted, cli.TrustedEntry{Entry: cli.Entry{Key: "approve", Value: "auto"}})
	}
	for name, spoil := range map[string]func(t *testing.T, keys, file string){
		"damaged": func(t *testing.T, _, file string) { write(t, file, "{") },
		"of another workspace": func(t *testing.T, keys, file string) {
			other := filepath.Join(keys, "workspaces", "*", trustFile)
			if err := newTrustStore(keys, os.LookupEnv).Change("/other", trustIt); err != nil {
				t.Fatal(err)
			}
			files, _ := filepath.Glob(other)
			for _, found := range files {
				if found != file {
					data, err := os.ReadFile(found)
					if err != nil {
						t.Fatal(err)
					}
					write(t, file, string(data))
				}
			}
		},
		"key lost": func(t *testing.T, keys, _ string) { remove(t, filepath.Join(keys, "approvals.key")) },
		"other key": func(t *testing.T, keys, _ string) {
			write(t, filepath.Join(keys, "approvals.key"), string(make([]byte, 32)))
		},
		"not a file":  func(t *testing.T, _, file string) { remove(t, file); mkdir(t, file) },
		"key damaged": func(t *testing.T, keys, _ string) { write(t, filepath.Join(keys, "approvals.key"), "short") },
	} {
		t.Run(name, func(t *testing.T) {
			keys := filepath.Join(t.TempDir(), "keys")
			store := newTrustStore(keys, os.LookupEnv)
			if err := store.Change("/work", trustIt); err != nil {
				t.Fatal(err)
			}
			files, _ := filepath.Glob(filepath.Join(keys, "workspaces", "*", trustFile))
			if len(files) != 1 {
				t.Fatalf("files: %q", files)
			}
			spoil(t, keys, files[0])
			if known, err := store.Load("/work"); err == nil || len(known.Trusted) > 0 {
				t.Errorf("it was read: %v, %v", known, err)
			}
			if name != "not a file" && name != "key damaged" { // these must be removed first
				if err := store.Change("/work", trustIt); err != nil {
					t.Errorf("decide again: %v", err)
				}
				if known, err := store.Load("/work"); err != nil || len(known.Trusted) != 1 {
					t.Errorf("after the decision: %v, %v", known, err)
				}
			}
			if err := store.Revoke("/work"); err != nil {
				t.Errorf("revoke: %v", err)
			}
			if known, err := store.Load("/work"); err != nil || len(known.Trusted) > 0 {
				t.Errorf("after it was revoked: %v, %v", known, err)
			}
		})
	}
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, name string) {
	t.Helper()
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, name string) {
	t.Helper()
	if err := os.Mkdir(name, 0o700); err != nil {
		t.Fatal(err)
	}
}
