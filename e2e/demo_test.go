package e2e

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestDemo checks that the demo serves a workspace, and removes it when it is interrupted.
func TestDemo(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no interrupts on Windows")
	}
	t.Parallel()
	temporary := t.TempDir()
	cmd := exec.Command(remitBin, "demo")
	cmd.Dir, cmd.Env = t.TempDir(), environment("TMPDIR="+temporary, "HOME="+t.TempDir())
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	hang := time.AfterFunc(timeout, func() { _ = cmd.Process.Kill() })
	defer hang.Stop()
	var said strings.Builder
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if _, url, found := strings.Cut(lines.Text(), " serves "); found {
			url, _, _ = strings.Cut(url, " ")
			if got := fetch(t, http.MethodGet, url+"/health", nil, nil); got.status != http.StatusOK {
				t.Errorf("health: %+v", got)
			}
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(said.String(), "The workspace of the demo was removed.") {
		t.Errorf("%v\n%s", err, &said)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
