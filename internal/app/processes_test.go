package app

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"remit/internal/stores/workspace"
)

// newTestProcess returns a process file in a folder, as if it were that of another process.
func newTestProcess(t *testing.T, root string) *process {
	t.Helper()
	opened, err := workspace.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	return newProcess(&dataFolder{path: filepath.Join(root, ".remit"), root: opened})
}

// TestProcessIsFound checks that a running process is found with what it does, one that has ended
// is not, and that the file of one that was killed is removed.
func TestProcessIsFound(t *testing.T) {
	if os.Getenv("REMIT_TEST_PROCESS") != "" { // its folder is the root
		folder, err := os.Getwd()
		if err == nil {
			err = newTestProcess(t, folder).describe("serve", "http://127.0.0.1:1")
		}
		if err != nil {
			t.Fatal(err)
		}
		_, _ = os.Stdout.WriteString("ready\n")
		time.Sleep(time.Hour) // until it is killed
	}
	root := t.TempDir()
	p := newTestProcess(t, root)
	if list, err := p.running(); len(list) > 0 || err != nil {
		t.Fatalf("in an empty folder: %v, %v", list, err)
	}
	other := exec.Command(os.Args[0], "-test.run=^TestProcessIsFound$")
	other.Dir, other.Env = root, append(os.Environ(), "REMIT_TEST_PROCESS=1")
	out, err := other.StdoutPipe()
	if err == nil {
		err = other.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	if err := p.describe("stdio", ""); err != nil { // its own is not listed
		t.Fatal(err)
	}
	list, err := p.running()
	if err != nil || len(list) != 1 || list[0].PID != other.Process.Pid || list[0].Address != "http://127.0.0.1:1" ||
		list[0].Command != "serve" || list[0].Version != Version || list[0].Started.IsZero() {
		t.Errorf("running: %+v, %v", list, err)
	}
	if len(list) == 1 && p.hasEnded(list[0].Owner) {
		t.Error("a running process has ended")
	}
	_ = other.Process.Kill()
	_ = other.Wait()
	if len(list) == 1 && !p.hasEnded(list[0].Owner) {
		t.Error("a killed process has not ended")
	}
	if err := p.end(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Join(root, ".remit", "proc")); err != nil || len(left) > 0 {
		t.Errorf("files are left: %v, %v", left, err)
	}
}

// TestLastBackup checks that the time of the last backup is reported.
func TestLastBackup(t *testing.T) {
	root := t.TempDir()
	a := &App{process: newTestProcess(t, root)}
	a.settings.Data = filepath.Join(root, ".remit")
	if at := a.lastBackup(); !at.IsZero() {
		t.Errorf("before the first one: %v", at)
	}
	for _, want := range []time.Time{time.Date(2026, 1, 9, 12, 0, 0, 5, time.UTC), time.Date(2026, 1, 10, 12, 0, 0, 0, time.UTC)} {
		if err := a.NoteBackup(want); err != nil || !a.lastBackup().Equal(want) {
			t.Errorf("%v, want %v; %v", a.lastBackup(), want, err)
		}
	}
}
