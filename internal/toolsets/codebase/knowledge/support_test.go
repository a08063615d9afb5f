package knowledge

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"remit/internal/search/tree"
)

// wordModel embeds texts by their words, and counts the texts.
type wordModel struct {
	id  string
	dim int

	mu    sync.Mutex
	texts []string
	words map[string]int // the dimension of each
	// Used instead of embedding if it returns vectors or an error.
	hook func(ctx context.Context, texts []string) ([][]float32, error)
}

func (w *wordModel) ID() string { return w.id }
func (w *wordModel) Dim() int   { return w.dim }

func (w *wordModel) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	w.mu.Lock()
	hook := w.hook
	w.mu.Unlock()
	if hook != nil {
		if vectors, err := hook(ctx, texts); vectors != nil || err != nil {
			return vectors, err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, texts...)
	if w.words == nil {
		w.words = map[string]int{}
	}
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float32, w.dim)
		for word := range bagOf(text) {
			if _, known := w.words[word]; !known {
				w.words[word] = len(w.words) % w.dim
			}
			vectors[i][w.words[word]]++
		}
	}
	return vectors, nil
}

func (w *wordModel) setHook(hook func(ctx context.Context, texts []string) ([][]float32, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hook = hook
}

// took returns the texts embedded since the last call.
func (w *wordModel) took() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	texts := w.texts
	w.texts = nil
	return texts
}

// fakeMemory holds memory files in a map.
type fakeMemory struct {
	mu     sync.Mutex
	files  map[string]string
	before int // lines before those that are searched
	reads  int
}

func (m *fakeMemory) Stamps(context.Context) (map[string]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	stamps := map[string]string{}
	for name, content := range m.files {
		stamps[name] = fmt.Sprint(len(content), keyOf(content))
	}
	return stamps, nil
}

func (m *fakeMemory) Read(_ context.Context, name string) ([]byte, int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	content, found := m.files[name]
	if !found {
		return nil, 0, fs.ErrNotExist
	}
	return []byte(content), m.before, nil
}

func (m *fakeMemory) add(name, line string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[name] += line + "\n"
}

func (m *fakeMemory) remove(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.files, name)
}

// bench is the test environment: a folder, a store, memory files and a model.
type bench struct {
	t      *testing.T
	root   string
	store  *memoryStore
	model  *wordModel
	memory *fakeMemory
	log    *bytes.Buffer
	logs   sync.Mutex
	now    time.Time
}

func newBench(t *testing.T) *bench {
	return &bench{
		t: t, root: t.TempDir(), store: newMemoryStore(), model: &wordModel{id: "words:1", dim: 2048},
		memory: &fakeMemory{files: map[string]string{}}, log: &bytes.Buffer{}, now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC),
	}
}

func (b *bench) Write(p []byte) (int, error) {
	b.logs.Lock()
	defer b.logs.Unlock()
	return b.log.Write(p)
}

func (b *bench) logged() string {
	b.logs.Lock()
	defer b.logs.Unlock()
	return b.log.String()
}

// write writes a file with its own modification time long ago.
func (b *bench) write(path, content string) {
	b.t.Helper()
	at := filepath.Join(b.root, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
	b.now = b.now.Add(time.Second)
	old := b.now.Add(-24*time.Hour + 123456*time.Microsecond)
	if err := os.Chtimes(at, old, old); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) remove(path string) {
	b.t.Helper()
	if err := os.Remove(filepath.Join(b.root, path)); err != nil {
		b.t.Fatal(err)
	}
}

// options returns the options of an index whose clock stands still.
func (b *bench) options() Options {
	now := b.now.Add(time.Minute)
	return Options{
		Open: func(context.Context) (Store, error) { return b.store, nil },
		Tree: func() (*tree.Tree, error) {
			return tree.Open(tree.Options{Root: b.root, Env: func(string) (string, bool) { return "", false }})
		},
		Memory: b.memory,
		Local:  func() (Embedder, error) { return b.model, nil },
		Now:    func() time.Time { return now },
		Log:    slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
}

// open opens an index with limits long enough for a busy machine.
func (b *bench) open(change ...func(*Options)) *Index {
	b.t.Helper()
	o := b.options()
	for _, c := range change {
		c(&o)
	}
	x := New(o)
	x.limits.longest, x.limits.first, x.limits.fresh, x.limits.busy = time.Minute, time.Minute, time.Minute, time.Minute
	x.limits.start, x.limits.loading = time.Minute, time.Minute
	x.limits.retry, x.limits.others = time.Millisecond, time.Millisecond
	x.limits.snapshot = 1
	b.t.Cleanup(func() {
		if err := x.Close(); err != nil {
			b.t.Error(err)
		}
	})
	return x
}

func (b *bench) run(x *Index) {
	b.t.Helper()
	if err := x.Run(b.t.Context(), nil); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) search(x *Index, q Query) Answer {
	b.t.Helper()
	a, err := x.Search(b.t.Context(), q)
	if err != nil {
		b.t.Fatalf("%+v: %v", q, err)
	}
	for i, h := range a.Hits {
		if h.Score < 0 || h.Score > 1 || i > 0 && h.Score > a.Hits[i-1].Score {
			b.t.Errorf("%+v: scores are not in order within 0 and 1: %v", q, h.Score)
		}
	}
	if a.Total < len(a.Hits) {
		b.t.Errorf("%+v: %d of %d", q, len(a.Hits), a.Total)
	}
	return a
}

// finds checks that the first hit has a path; "" expects no hit.
func (b *bench) finds(x *Index, text, path string) {
	b.t.Helper()
	a := b.search(x, Query{Text: text})
	got := ""
	if len(a.Hits) > 0 {
		got = a.Hits[0].Path
	}
	if got != path {
		b.t.Errorf("%q finds %q, want %q: %+v", text, got, path, a)
	}
}

func (b *bench) embeds(want ...string) {
	b.t.Helper()
	got := b.model.took()
	if len(got) != len(want) {
		b.t.Errorf("embedded %q, want %q", got, want)
		return
	}
	slices.Sort(got)
	for i, text := range got {
		if !strings.Contains(text, want[i]) {
			b.t.Errorf("embedded %q, want %q", text, want[i])
		}
	}
}

// sound checks the invariants of an idle catalog.
func (b *bench) sound(x *Index) {
	b.t.Helper()
	c := x.catalog
	c.mu.Lock()
	defer c.mu.Unlock()
	chunks, covered := 0, 0
	used := map[*entry]bool{}
	for _, o := range c.origins {
		for i, id := range o.ids {
			e := c.table.get(id)
			if e == nil || e.origin != o || int(e.number) != i || used[e] {
				b.t.Fatalf("chunk %d of %s is %+v", i, o.path, e)
			}
			used[e] = true
			chunks++
			if e.covered {
				covered++
			}
		}
	}
	if chunks != c.chunks || covered != c.covered || c.local().Len() != chunks {
		b.t.Fatalf("%d chunks, %d covered; counted %d, %d; searched %d", chunks, covered, c.chunks, c.covered, c.local().Len())
	}
	if len(c.free)+len(c.resting)+chunks != int(c.size) {
		b.t.Fatalf("%d numbers: %d free, %d resting, %d used", c.size, len(c.free), len(c.resting), chunks)
	}
}

// settled waits until there are no more goroutines than before.
func settled(t *testing.T, before int) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for runtime.NumGoroutine() > before {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, there were %d:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
		runtime.Gosched()
	}
}
