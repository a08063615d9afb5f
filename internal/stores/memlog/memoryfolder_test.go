package memlog_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"remit/internal/contract"
	"remit/internal/stores/memlog"
)

// newMemory returns the memory files in a folder below dir, and a function that adds an entry.
func newMemory(t *testing.T, dir string) (m *memlog.Memory, add func(file string) error) {
	t.Helper()
	m = &memlog.Memory{Files: memlog.Dir(dir), Folder: "memory", Path: filepath.Join(dir, "memory"), Check: func() error { return nil }}
	t.Cleanup(func() { _ = m.Close() })
	return m, func(file string) error {
		_, err := m.Append(context.Background(), file, []byte(`{}`), nil)(context.Background())
		return err
	}
}

func mustBeAway(t *testing.T, what string, err error) {
	t.Helper()
	if e, ok := errors.AsType[*contract.Error](err); !ok || e.Kind != contract.Unavailable {
		t.Errorf("%s: %v", what, err)
	}
}

// TestTheMemoryFolderGoesAway moves the folder away, deletes it and puts an empty one in its place:
// no entry is acknowledged, nothing is created, and writing goes on when the folder is back.
func TestTheMemoryFolderGoesAway(t *testing.T) {
	for _, empty := range []bool{false, true} {
		dir := t.TempDir()
		m, add := newMemory(t, dir)
		check(t, m.Ready())
		check(t, add("a.jsonl"))
		check(t, os.Rename(m.Path, m.Path+".away"))
		if empty { // as the mount point of a volume
			check(t, os.Mkdir(m.Path, 0o755))
		}
		mustBeAway(t, "the same file", add("a.jsonl"))
		mustBeAway(t, "another file", add("b.jsonl"))
		mustBeAway(t, "ready", m.Ready())
		if !empty {
			if _, err := os.Stat(m.Path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the folder was created anew: %v", err)
			}
		}
		check(t, os.RemoveAll(m.Path))
		check(t, os.Rename(m.Path+".away", m.Path))
		check(t, add("a.jsonl"))
		check(t, add("b.jsonl"))
		same(t, "file", read(t, filepath.Join(m.Path, "a.jsonl")), "{}\n{}\n")
	}
}

// TestGitPutsTheMemoryFolderBack replaces the folder with another one that has the files, as git
// does when it switches branches.
func TestGitPutsTheMemoryFolderBack(t *testing.T) {
	m, add := newMemory(t, t.TempDir())
	check(t, add("a.jsonl"))
	check(t, os.RemoveAll(m.Path))
	mustBeAway(t, "a deleted folder", add("a.jsonl"))
	check(t, os.Mkdir(m.Path, 0o755))
	write(t, filepath.Join(m.Path, "a.jsonl"), "{}\n")
	check(t, add("a.jsonl"))
	same(t, "file", read(t, filepath.Join(m.Path, "a.jsonl")), "{}\n{}\n")
}

// goneAfter is a Place that is gone when a batch was written.
type goneAfter struct{ gone bool }

func (*goneAfter) Before(bool) error { return nil }

func (p *goneAfter) After() error {
	if p.gone {
		return errors.New("unmounted")
	}
	return nil
}

// TestNothingIsAcknowledgedIntoNothing takes the folder away between the write and the answer.
func TestNothingIsAcknowledgedIntoNothing(t *testing.T) {
	place := &goneAfter{}
	l := openWith(t, memlog.Options{Files: memlog.Dir(t.TempDir()), Name: name, Place: place})
	put(t, l, `{}`)
	place.gone = true
	if _, err := l.Append([]byte(`{}`), true).Wait(t.Context()); err == nil {
		t.Error("an entry was acknowledged, though its folder is gone")
	}
}
