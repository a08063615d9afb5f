package memlog

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract"
	"remit/internal/engine/idempotency"
	"remit/internal/filelock"
)

// syncs records the content of the file at each sync, and fails if err is set.
type syncs struct {
	found []string
	err   error
}

func (s *syncs) sync(f *os.File) error {
	b, err := os.ReadFile(f.Name())
	s.found = append(s.found, string(b))
	return errors.Join(err, s.err)
}

func TestOnlyDurableEntriesAreSynced(t *testing.T) {
	var disk syncs
	l := New(Options{Files: Dir(t.TempDir()), Name: "log"})
	l.file.sync = disk.sync
	for _, durable := range []bool{false, true, false} {
		if _, err := l.Append([]byte(`{}`), durable).Wait(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"{}\n{}\n"}, disk.found); d != "" {
		t.Fatal(d)
	}
}

func TestABatchIsOneSync(t *testing.T) {
	var disk syncs
	dir := Dir(t.TempDir())
	l := New(Options{Files: dir, Name: "log"})
	l.file.sync = disk.sync
	f, err := dir.OpenAppend("log")
	if err != nil {
		t.Fatal(err)
	}
	if err := filelock.Lock(f); err != nil { // all of them are queued before any is taken
		t.Fatal(err)
	}
	var tickets []*Ticket
	for range maxBatch + 1 {
		tickets = append(tickets, l.Append([]byte(`{}`), true))
	}
	f.Close()
	for i, ticket := range tickets {
		if p, err := ticket.Wait(context.Background()); err != nil || p.Line != int64(i+1) {
			t.Fatalf("entry %d: %v, %v", i, p, err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{strings.Repeat("{}\n", maxBatch), strings.Repeat("{}\n", maxBatch+1)}
	if d := cmp.Diff(want, disk.found); d != "" {
		t.Fatal(d)
	}
}

func TestAFailedSyncFailsTheBatchAndResetsTheFile(t *testing.T) {
	broken := errors.New("broken disk")
	disk := syncs{err: broken}
	l := New(Options{Files: Dir(t.TempDir()), Name: "log"})
	l.file.sync = disk.sync
	p, err := l.Append([]byte(`{}`), true).Wait(context.Background())
	if !errors.Is(err, broken) || !errors.Is(err, ErrUnknown) || !strings.HasPrefix(err.Error(), "append to log: ") || p != (Position{}) {
		t.Fatalf("append: %v, %v", p, err)
	}
	if err := l.Close(); err != nil {
		t.Fatalf("a reported error is returned again: %v", err)
	}
	if l.file.f != nil || l.file.known.size != 0 {
		t.Fatalf("still believes in %+v", l.file.known)
	}
}

// TestAnEntryWithUnknownOutcomeKeepsItsKey checks the error that callers get: a call with an
// idempotency key must not run again, because the entry may be in the file.
func TestAnEntryWithUnknownOutcomeKeepsItsKey(t *testing.T) {
	disk := syncs{err: errors.New("broken disk")}
	m := &Memory{Files: Dir(t.TempDir())}
	m.log("a.jsonl").file.sync = disk.sync
	_, err := m.Append(t.Context(), "a.jsonl", []byte(`{}`), nil)(t.Context())
	if !errors.Is(err, idempotency.ErrUnknown) || contract.AsError(err).Kind != contract.Unavailable {
		t.Errorf("the entry was written, but not synced: %v", err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	full := &Memory{Files: noFiles{}}
	_, err = full.Append(t.Context(), "a.jsonl", []byte(`{}`), nil)(t.Context())
	if err == nil || errors.Is(err, idempotency.ErrUnknown) {
		t.Errorf("nothing was written: %v", err)
	}
	if err := full.Close(); err != nil {
		t.Error(err)
	}
}

// noFiles cannot open a file.
type noFiles struct{}

func (noFiles) OpenAppend(string) (*os.File, error) { return nil, errors.New("no space") }

func TestAfterAFailedSyncTheNextBatchExaminesTheFile(t *testing.T) {
	disk := syncs{err: errors.New("broken disk")}
	dir := Dir(t.TempDir())
	l, other := New(Options{Files: dir, Name: "log"}), New(Options{Files: dir, Name: "log"})
	l.file.sync = disk.sync
	if _, err := l.Append([]byte(`{}`), true).Wait(context.Background()); err == nil {
		t.Fatal("a broken disk went unnoticed")
	}
	for i, log := range []*Log{other, l} { // the failure has released the lock
		p, err := log.Append([]byte(`{}`), false).Wait(context.Background())
		if want := (Position{Line: int64(i + 2), Bytes: 3}); err != nil || p != want {
			t.Fatalf("next: %v, %v", p, err)
		}
	}
	if err := errors.Join(l.Close(), other.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestATornLineIsSafeBeforeItIsCutOff checks both files when the fragment is synced, and simulates
// a writer that then continues its line.
func TestATornLineIsSafeBeforeItIsCutOff(t *testing.T) {
	for _, c := range []struct{ name, goesOn, want string }{
		{"nobody goes on", "", "{}\n{}\n"},
		{"the writer goes on", "1}\n", "{}\n{\"a\":1}\n{}\n"},
		{"the writer goes on and stops again", "1", "{}\n{}\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			put(t, path, "{}\n{\"a\":")
			var kept []string
			l := New(Options{Files: Dir(filepath.Dir(path)), Name: "log"})
			l.file.sync = func(f *os.File) error {
				if strings.HasPrefix(get(t, path), "{}\n{\"a\":") {
					kept = append(kept, get(t, f.Name()))
				}
				if len(kept) == 1 {
					put(t, path, get(t, path)+c.goesOn)
				}
				return nil
			}
			if _, err := l.Append([]byte(`{}`), false).Wait(context.Background()); err != nil {
				t.Fatal(err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, get(t, path)); d != "" {
				t.Fatal(d)
			}
			if len(kept) == 0 || kept[0] != "{\"a\":\n" {
				t.Fatalf("synced %q while the line was still there", kept)
			}
		})
	}
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Error(err)
	}
}

func get(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	return string(b)
}
