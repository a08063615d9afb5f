//go:build unix

package clients

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestOwner checks that a file keeps its owner with sudo.
func TestOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	c := Find("codex")
	file := filepath.Join(t.TempDir(), "config.toml")
	write(t, file, "")
	if err := os.Chown(file, 1234, 5678); err != nil {
		t.Fatal(err)
	}
	for _, step := range []func() (Change, error){
		func() (Change, error) { return c.Install(file, ours) },
		func() (Change, error) { return c.Remove(file, "remit") },
	} {
		if _, err := step(); err != nil {
			t.Fatal(err)
		}
		for name, mode := range map[string]fs.FileMode{file: 0o640, file + ".remit-backup": 0o600} {
			info, err := os.Stat(name)
			if errors.Is(err, fs.ErrNotExist) && name != file {
				continue // Remove deletes the backup
			}
			if err != nil {
				t.Fatal(err)
			}
			if is := info.Sys().(*syscall.Stat_t); is.Uid != 1234 || is.Gid != 5678 || info.Mode().Perm() != mode {
				t.Errorf("%s is of %d:%d with mode %o", name, is.Uid, is.Gid, info.Mode().Perm())
			}
		}
	}
}
