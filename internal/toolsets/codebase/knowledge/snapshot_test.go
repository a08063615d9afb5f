package knowledge

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"remit/internal/search/chunk"
)

// snapshotFile is a SnapshotFile that can be made to fail, and that several indexes may share.
type snapshotFile struct {
	path string

	mu       sync.Mutex
	fail     error
	replaced int
}

func (f *snapshotFile) Open() (*os.File, error) { return os.Open(f.path) }

func (f *snapshotFile) Replace(write func(io.Writer) error) (bool, error) {
	var data bytes.Buffer
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := errors.Join(write(&data), f.fail); err != nil {
		return false, err
	}
	f.replaced++
	next := f.path + ".new"
	if err := os.WriteFile(next, data.Bytes(), 0o600); err != nil {
		return false, err
	}
	return true, os.Rename(next, f.path)
}

// failWith makes Replace fail, or succeed again.
func (f *snapshotFile) failWith(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = err
}

// writes returns how often the file was replaced.
func (f *snapshotFile) writes() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.replaced
}

// snapshotBench returns a bench, and a function that opens an index with a snapshot.
func snapshotBench(t *testing.T) (*bench, *snapshotFile, func(...func(*Options)) *Index) {
	b := newBench(t)
	file := &snapshotFile{path: filepath.Join(t.TempDir(), "snapshot")}
	return b, file, func(change ...func(*Options)) *Index {
		return b.open(append(change, func(o *Options) { o.Snapshots = file })...)
	}
}

// loaded returns the number of sources loaded since the last call.
func (b *bench) loaded() int {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	n := b.store.loads
	b.store.loads = 0
	return n
}

// fill writes some files and a memory entry.
func (b *bench) fill() {
	b.write("a.go", "package a\n\n// Alpha counts apples.\nfunc Alpha() {}\n\n// Beta sorts bananas.\nfunc Beta() {}\n")
	b.write("docs/c.md", "# Cherries\n\nThey are red.\n\n# Dates\n\nThey are sweet.\n")
	b.write("empty.go", "")
	b.memory.add("notes.jsonl", `{"type":"rule","content":"Elderberries are cooked first"}`)
}

// TestSnapshot: a new process loads only what changed since the snapshot, and finds everything.
func TestSnapshot(t *testing.T) {
	b, file, open := snapshotBench(t)
	b.fill()
	first := open()
	b.run(first)
	if file.writes() != 1 {
		t.Fatalf("%d snapshots were written", file.writes())
	}
	b.run(first)
	if file.writes() != 1 {
		t.Errorf("a snapshot was written after no change")
	}
	b.model.took()
	b.loaded()

	second := open()
	b.finds(second, "who sorts bananas", "a.go")
	b.finds(second, "dates", "docs/c.md")
	b.finds(second, "elderberries", "notes.jsonl")
	if n := b.loaded(); n != 0 {
		t.Errorf("%d sources were loaded", n)
	}
	b.embeds("dates", "elderberries", "who sorts bananas") // the queries
	b.sound(second)
	if got, want := second.State(), first.State(); got.Files != want.Files || got.Chunks != want.Chunks {
		t.Errorf("%+v, want %+v", got, want)
	}

	// Changes since the snapshot, by another process and without any.
	b.write("d.go", "package d\n\n// Delta peels figs.\nfunc Delta() {}\n")
	b.search(first, Query{Text: "figs"})
	b.write("docs/c.md", "# Grapes\n\nThey are green.\n")
	b.remove("a.go")
	b.memory.add("notes.jsonl", `{"type":"rule","content":"Huckleberries are washed"}`)
	third := open()
	b.finds(third, "figs", "d.go")
	b.finds(third, "grapes", "docs/c.md")
	b.finds(third, "huckleberries", "notes.jsonl")
	for _, gone := range []string{"bananas", "cherries", "dates"} {
		for _, hit := range b.search(third, Query{Text: gone}).Hits {
			if strings.Contains(hit.Content, gone) {
				t.Errorf("%q finds %+v", gone, hit)
			}
		}
	}
	b.sound(third)
	b.run(third)
	b.sound(third)
}

// TestSnapshotIgnored: a snapshot that is damaged, old or of something else is not used, and
// another one is written.
func TestSnapshotIgnored(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, b *bench, file *snapshotFile, o *Options){
		"damaged": func(t *testing.T, _ *bench, file *snapshotFile, _ *Options) {
			data, err := os.ReadFile(file.path)
			if err != nil {
				t.Fatal(err)
			}
			data[len(data)/2] ^= 1
			if err := os.WriteFile(file.path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"cut off": func(t *testing.T, _ *bench, file *snapshotFile, _ *Options) {
			if err := os.Truncate(file.path, 1000); err != nil {
				t.Fatal(err)
			}
		},
		"empty": func(t *testing.T, _ *bench, file *snapshotFile, _ *Options) {
			if err := os.Truncate(file.path, 0); err != nil {
				t.Fatal(err)
			}
		},
		"a folder": func(t *testing.T, _ *bench, file *snapshotFile, _ *Options) { file.path = t.TempDir() },
		"another model": func(_ *testing.T, b *bench, _ *snapshotFile, o *Options) {
			o.Local = func() (Embedder, error) { return &wordModel{id: "words:2", dim: b.model.dim}, nil }
		},
		"no model": func(_ *testing.T, _ *bench, _ *snapshotFile, o *Options) { o.Local = nil },
		"another database": func(_ *testing.T, b *bench, _ *snapshotFile, _ *Options) {
			clear(b.store.snapshots)
		},
		"another generation": func(_ *testing.T, b *bench, _ *snapshotFile, _ *Options) {
			for id := range b.store.snapshots {
				b.store.snapshots[id]++
			}
		},
		"a new rule": func(_ *testing.T, _ *bench, _ *snapshotFile, o *Options) {
			o.Skip = func() (func(string, bool) bool, error) {
				return func(path string, _ bool) bool { return path == "docs" }, nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, file, open := snapshotBench(t)
			b.fill()
			b.run(open())
			b.loaded()
			x := open(func(o *Options) { spoil(t, b, file, o) })
			b.finds(x, "elderberries", "notes.jsonl")
			b.finds(x, "bananas", "a.go")
			if name == "a new rule" {
				for _, hit := range b.search(x, Query{Text: "cherries"}).Hits {
					if hit.Path == "docs/c.md" {
						t.Errorf("found %+v", hit)
					}
				}
			}
			if n := b.loaded(); n == 0 {
				t.Error("nothing was loaded from the store")
			}
			b.sound(x)
		})
	}
}

// TestSnapshotOutdated: deletions that the store has forgotten make all be loaded again.
func TestSnapshotOutdated(t *testing.T) {
	b, _, open := snapshotBench(t)
	b.fill()
	b.run(open())
	b.store.mu.Lock()
	delete(b.store.sources, "docs/c.md")
	b.store.generation++
	b.store.outdated = true
	b.store.before = func(op string) {
		b.store.mu.Lock()
		defer b.store.mu.Unlock()
		b.store.outdated = b.store.outdated && op != "replace"
	}
	b.store.mu.Unlock()
	b.remove("docs/c.md")
	x := open()
	b.finds(x, "bananas", "a.go")
	for _, hit := range b.search(x, Query{Text: "cherries"}).Hits {
		if hit.Path == "docs/c.md" {
			t.Errorf("found %+v", hit)
		}
	}
	b.run(x)
	b.sound(x)
}

// TestSnapshotFails: an index works without the place for its snapshot.
func TestSnapshotFails(t *testing.T) {
	b, file, open := snapshotBench(t)
	b.fill()
	file.failWith(errors.New("the disk is full"))
	x := open()
	b.run(x)
	if _, err := os.Stat(file.path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a snapshot was written: %v", err)
	}
	file.failWith(nil)
	b.run(x)
	if file.writes() != 1 {
		t.Errorf("%d snapshots were written", file.writes())
	}
}

// TestSnapshotDue: a snapshot is replaced after many changes, or after some time.
func TestSnapshotDue(t *testing.T) {
	b, file, open := snapshotBench(t)
	b.fill()
	now := b.now.Add(time.Hour)
	x := open(func(o *Options) { o.Now = func() time.Time { return now } })
	x.limits.snapshot = 4
	b.run(x)
	b.write("d.go", "package d\n\n// Delta peels figs.\nfunc Delta() {}\n")
	b.run(x)
	if file.writes() != 1 {
		t.Errorf("%d snapshots after a small change", file.writes())
	}
	now = now.Add(2 * snapshotAge)
	b.run(x)
	b.run(x)
	if file.writes() != 2 {
		t.Errorf("%d snapshots after a small change and some time", file.writes())
	}
	for _, name := range []string{"e", "f", "g", "h"} {
		b.write(name+".go", "package e\n\n// It does something.\nfunc "+name+"() {}\n")
	}
	b.run(x)
	if file.writes() != 3 {
		t.Errorf("%d snapshots after many changes", file.writes())
	}
}

// body returns the content of a valid snapshot without its checksum.
func body(t interface {
	Helper()
	Fatal(...any)
}, x *Index,
) []byte {
	t.Helper()
	s := x.catalog.capture(7)
	s.cut, s.model, s.made = cutVersion, x.modelID(), time.UnixMicro(1)
	var data bytes.Buffer
	if err := s.write(&data); err != nil {
		t.Fatal(err)
	}
	return data.Bytes()[:data.Len()-checksumSize]
}

// fruits is the content of small indexes.
func fruits() []Source {
	list := []Source{{Path: "gone.go", Gone: true, Generation: 3}, {Path: cutMark, Generation: 1}}
	for i, text := range []string{"apples bananas", "cherries", "dates and figs"} {
		path := []string{"a.go", "b/c.md", "d.txt"}[i]
		list = append(list, Source{
			Path: path, Generation: int64(i + 1), Chunks: []Chunk{newChunk(path, 0, chunk.Chunk{Source: chunk.Code, Name: "f", Text: text, Line: 1, End: 2}), newChunk(path, 1, chunk.Chunk{Source: chunk.Docs, Text: "more " + text, Module: "m"})},
		})
	}
	return list
}

// tryBody uses whatever a body of a snapshot has.
func tryBody(data []byte) {
	// Restore needs the alignment that memory of this size has.
	s, err := parseBody(append(make([]byte, 0, len(data)+64), data...))
	if err != nil {
		return
	}
	x := New(Options{Open: func(context.Context) (Store, error) { return newMemoryStore(), nil }})
	defer x.Close()
	if x.catalog.restore(s) != nil {
		return
	}
	w := method{index: x.catalog.local(), text: "more apples"}
	_, _, _ = x.find(context.Background(), Query{Text: w.text, Limit: 5}, w)
	sources := fruits()
	for i := range sources {
		sources[i].Generation = 1 << 40
	}
	x.catalog.apply(sources, nil)
	x.catalog.capture(1)
	_, _, _ = x.find(context.Background(), Query{Text: w.text, Limit: 5}, w)
}

// TestSnapshotDamaged changes single bytes of a snapshot whose checksum is right nevertheless.
func TestSnapshotDamaged(t *testing.T) {
	x := New(Options{})
	defer x.Close()
	x.catalog.apply(fruits(), nil)
	data := body(t, x)
	if s, err := parseBody(data); err != nil || len(s.origins) != 5 || len(s.entries) != 6 {
		t.Fatalf("%+v, %v", s, err)
	}
	for at := range data {
		for _, to := range []byte{0, 1, 0xff} {
			damaged := bytes.Clone(data)
			damaged[at] = to
			tryBody(damaged)
		}
	}
	for size := range data {
		tryBody(data[:size])
	}
}

func FuzzSnapshot(f *testing.F) {
	x := New(Options{})
	defer x.Close()
	x.catalog.apply(fruits(), nil)
	f.Add(body(f, x))
	f.Fuzz(func(_ *testing.T, data []byte) { tryBody(data) })
}
