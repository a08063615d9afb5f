//go:build unix

package clients

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestOwner: with sudo the file stays that of its owner.
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
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if is := info.Sys().(*syscall.Stat_t); is.Uid != 1234 || is.Gid != 5678 || info.Mode().Perm() != 0o640 {
			t.Errorf("it is of %d:%d with mode %o", is.Uid, is.Gid, info.Mode().Perm())
		}
	}
}
