package cli

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// TestDataOfAnotherUser checks which commands refuse to start if the data folder, or the folder
// where it would be created, belongs to another user.
func TestDataOfAnotherUser(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "root")
	data := filepath.Join(root, ".remit")
	if err := os.MkdirAll(data, 0o755); err != nil {
		t.Fatal(err)
	}
	for folder, mode := range map[string]os.FileMode{filepath.Dir(filepath.Dir(root)): 0o755, root: 0o555, data: 0} {
		if err := os.Chmod(folder, mode); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.Chmod(folder, 0o700) }()
	}
	const doctor = `: permission denied; run "remit doctor"`
	written, read, created := data+" cannot be written"+doctor, data+" cannot be read"+doctor, root+" cannot be written"+doctor
	cases := []struct{ command, data, want string }{
		{"tasks", data, written},
		{"tasks add", data, written},
		{"token list", data, written},
		{"approvals list", data, written},
		{"search", data, written},
		{"memory add", data, written},
		{"books rm", data, written},
		{"audit list", data, read},
		{"memory", data, ""},
		{"books list", data, ""},
		{"grep", data, ""},
		{"call", data, ""},
		{"tasks", root + "/none", ""},
		{"tasks add", root + "/none", created},
		{"index", root + "/none/deeper", created},
		{"audit list", root + "/none", ""},
	}
	var checks sync.WaitGroup
	checks.Go(func() {
		if os.Geteuid() == 0 {
			runtime.LockOSThread() // and never unlock it: the thread ends with this goroutine
			if err := unix.Setfsuid(54321); err != nil {
				t.Errorf("become another user: %v", err)
				return
			}
		}
		for _, c := range cases {
			got := ""
			if err := (&Settings{Data: c.data}).checkAccess(commandAt(c.command)); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("%s with %s: %q, want %q", c.command, c.data, got, c.want)
			}
		}
	})
	checks.Wait()
}

// commandAt returns a command at a path below remit.
func commandAt(path string) *cobra.Command {
	at := &cobra.Command{Use: "remit"}
	for word := range strings.FieldsSeq(path) {
		below := &cobra.Command{Use: word}
		at.AddCommand(below)
		at = below
	}
	return at
}
