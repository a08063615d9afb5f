//go:build unix

// Package unprivilegedtest runs tests of files that may not be read. Root may read every file, so
// such a test runs again in a process of another user.
package unprivilegedtest

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// Rerun runs the calling test in a process of the user nobody, if this process is root's, and
// reports whether it did. The other process needs a temporary folder of its own.
func Rerun(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return false
	}
	const nobody = 65534
	temp, err := os.MkdirTemp("", "unprivileged")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(temp) }()
	if err := os.Chown(temp, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	// Another user may run this program by this path, even if the folder of it is closed to them.
	test := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$")
	test.Dir = temp
	test.Env = append(os.Environ(), "TMPDIR="+temp)
	test.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("as the user nobody: %v\n%s", err, out)
	}
	return true
}
