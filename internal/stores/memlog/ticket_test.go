//go:build unix

package memlog_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"remit/internal/stores/memlog"

	"golang.org/x/sys/unix"
)

// lockFile holds the lock of the log as another process would.
func lockFile(t testing.TB, dir string) (unlock func()) {
	t.Helper()
	f, err := memlog.Dir(dir).OpenAppend(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return func() { f.Close() }
}

func TestWaitWithdrawsAnEntryThatIsNotTaken(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, memlog.JSONLines)
	unlock := lockFile(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	gone, stays := l.Append([]byte(`"gone"`), true), l.Append([]byte(`"stays"`), true)
	cancel()
	for range 2 { // the outcome is final
		if _, err := gone.Wait(ctx); !errors.Is(err, context.Canceled) {
			t.Fatalf("wait: %v", err)
		}
	}
	unlock()
	p, err := stays.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "place", p, memlog.Position{Line: 1, Bytes: 8})
	if _, err := gone.Wait(t.Context()); !errors.Is(err, context.Canceled) {
		t.Fatalf("wait again: %v", err)
	}
	same(t, "file", read(t, filepath.Join(dir, name)), "\"stays\"\n")
}

func TestWaitStaysWithAnEntryThatIsTaken(t *testing.T) {
	dir := t.TempDir()
	sealing, goOn := make(chan struct{}), make(chan struct{})
	l := openWith(t, memlog.Options{
		Files: memlog.Dir(dir), Name: name,
		Seal: func(b, _ []byte, _ int64, body []byte) []byte {
			close(sealing)
			<-goOn
			return append(b, body...)
		},
	})
	ticket := l.Append([]byte(`{}`), true)
	<-sealing
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	answer := make(chan error)
	go func() {
		_, err := ticket.Wait(ctx)
		answer <- err
	}()
	close(goOn)
	if err := <-answer; err != nil {
		t.Fatalf("wait: %v", err)
	}
	same(t, "file", read(t, filepath.Join(dir, name)), "{}\n")
}

func TestWaitOfAnOutcomeThatIsThereIgnoresTheContext(t *testing.T) {
	l := open(t, t.TempDir(), memlog.JSONLines)
	ticket := l.Append([]byte(`{}`), false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p, err := ticket.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "place", p, memlog.Position{Line: 1, Bytes: 3})
}
