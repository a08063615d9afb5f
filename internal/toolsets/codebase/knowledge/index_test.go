package knowledge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/search/chunk"
	"remit/internal/search/tree"
)

const (
	authCode  = "package auth\n\n// Login checks the password of a user and gives out a session token.\nfunc Login(user, password string) (string, error) {\n\treturn issueToken(user), nil\n}\n"
	guideText = "# Guide\n\nHow to install the harvester on a farm, with all its tractors and barns.\n"
)

// project writes a small project.
func (b *bench) project() {
	b.write("internal/auth/login.go", authCode)
	b.write("docs/guide.md", guideText)
	b.write("docs/empty.md", "")
}

func TestNothingHappensBeforeItIsNeeded(t *testing.T) {
	refuse := func() { t.Error("something was opened") }
	x := New(Options{
		Open:  func(context.Context) (Store, error) { refuse(); return nil, errors.ErrUnsupported },
		Tree:  func() (*tree.Tree, error) { refuse(); return nil, errors.ErrUnsupported },
		Local: func() (Embedder, error) { refuse(); return nil, errors.ErrUnsupported },
	})
	if s := x.State(); s != (State{}) {
		t.Errorf("%+v", s)
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	if _, err := x.Search(t.Context(), Query{Text: "anything"}); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestFirstBuild(t *testing.T) {
	b := newBench(t)
	b.project()
	x := b.open()
	b.finds(x, "check the password of a user", "internal/auth/login.go")
	b.finds(x, "installing tractors on a farm", "docs/guide.md")
	b.sound(x)
	s := x.State()
	if s.Files != 3 || s.Chunks != 2 || s.Waiting != 0 || s.Indexing || s.Updated.IsZero() || s.Note != "" {
		t.Errorf("%+v", s)
	}
	if diff := cmp.Diff([]string{"docs/empty.md", "docs/guide.md", "internal/auth/login.go"}, b.store.paths()); diff != "" {
		t.Error(diff)
	}
	if b.logged() != "" {
		t.Error(b.logged())
	}
}

func TestHit(t *testing.T) {
	b := newBench(t)
	b.project()
	x := b.open()
	a := b.search(x, Query{Text: "password of a user"})
	h := a.Hits[0]
	uuid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	if !uuid.MatchString(h.ID) || h.Source != chunk.Code || h.Type != "" || h.Module != "auth" || h.Name != "Login" ||
		!strings.Contains(h.Content, "func Login") || h.Line < 1 || h.End < h.Line || h.Score <= 0 || h.Session != "" {
		t.Errorf("%+v", h)
	}
	info, err := os.Stat(filepath.Join(b.root, h.Path))
	if err != nil || !h.Date.Equal(info.ModTime().Truncate(time.Second)) {
		t.Errorf("dated %v, the file is of %v, %v", h.Date, info.ModTime(), err)
	}
	if a.State.Model != "words:1" {
		t.Errorf("model %q", a.State.Model)
	}
}

// TestRestart: a restart reads and embeds nothing again.
func TestRestart(t *testing.T) {
	b := newBench(t)
	b.project()
	b.memory.add("discoveries.jsonl", `{"type":"decision","content":"PostgreSQL was chosen over MongoDB"}`)
	x := b.open()
	first := b.search(x, Query{Text: "password of a user"})
	x.Close()
	b.model.took()
	changes := len(b.store.replaced)

	x = b.open()
	again := b.search(x, Query{Text: "password of a user"})
	b.embeds("password of a user")
	if diff := cmp.Diff(first.Hits, again.Hits); diff != "" {
		t.Error(diff)
	}
	if len(b.store.replaced) != changes {
		t.Errorf("changed %v, %+v", b.store.replaced[changes:], again.State)
	}
	b.sound(x)
}

// TestStampIsRenewed: a file with a new modification time and the same content is read once.
func TestStampIsRenewed(t *testing.T) {
	b := newBench(t)
	b.project()
	x := b.open()
	b.run(x)
	x.Close()
	b.model.took()
	b.write("docs/guide.md", guideText)
	for _, want := range [][]string{{"docs/guide.md"}, nil} {
		changes := len(b.store.replaced)
		x = b.open()
		b.run(x)
		if diff := cmp.Diff(want, slices.Concat(b.store.replaced[changes:]...)); diff != "" {
			t.Error(diff)
		}
		b.finds(x, "tractors", "docs/guide.md")
		b.embeds("tractors")
		b.sound(x)
		x.Close()
	}
}

// TestYoungFilesAreReadAgain: no stamp is stored that another write could leave unchanged.
func TestYoungFilesAreReadAgain(t *testing.T) {
	b := newBench(t)
	b.project()
	at := filepath.Join(b.root, "docs/guide.md")
	young := b.now.Add(time.Minute) // the current time of the index
	os.Chtimes(at, young, young)
	x := b.open()
	b.run(x)
	x.Close()
	os.WriteFile(at, []byte(strings.Replace(guideText, "tractors", "balloons", 1)), 0o644)
	os.Chtimes(at, young, young)
	x = b.open()
	b.finds(x, "balloons", "docs/guide.md")
}

// TestChange: only what changed is embedded.
func TestChange(t *testing.T) {
	b := newBench(t)
	b.project()
	b.write("internal/store/keep.go", "package store\n\n// Keep writes a row.\nfunc Keep(row string) error {\n\treturn nil\n}\n\n// Drop removes a row that nobody wants.\nfunc Drop(row string) error {\n\treturn nil\n}\n")
	x := b.open()
	b.run(x)
	b.model.took()
	b.write("internal/store/keep.go", "package store\n\n// Keep writes a row.\nfunc Keep(row string) error {\n\treturn nil\n}\n\n// Drop removes an elephant.\nfunc Drop(row string) error {\n\treturn errElephant\n}\n")
	b.search(x, Query{Text: "elephant"})
	texts := b.model.took()
	if len(texts) != 2 || !strings.Contains(strings.Join(texts, "\n"), "errElephant") {
		t.Errorf("embedded %q", texts)
	}
	b.finds(x, "elephant", "internal/store/keep.go")
	if a := b.search(x, Query{Text: "nobody"}); len(a.Hits) != 0 {
		t.Errorf("deleted content is found: %+v", a.Hits)
	}
	b.sound(x)
}

func TestRenameAndDelete(t *testing.T) {
	b := newBench(t)
	b.project()
	x := b.open()
	b.finds(x, "tractors", "docs/guide.md")
	if err := os.Rename(filepath.Join(b.root, "docs/guide.md"), filepath.Join(b.root, "docs/manual.md")); err != nil {
		t.Fatal(err)
	}
	b.finds(x, "tractors", "docs/manual.md")
	if got := b.store.paths(); slices.Contains(got, "docs/guide.md") {
		t.Errorf("kept %q", got)
	}
	b.remove("docs/manual.md")
	b.finds(x, "tractors", "")
	b.sound(x)
	x.Close()

	b.remove("internal/auth/login.go")
	x = b.open()
	if _, err := x.Search(t.Context(), Query{Text: "password"}); !errors.Is(err, ErrEmpty) {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff([]string{"docs/empty.md"}, b.store.paths()); diff != "" {
		t.Error(diff)
	}
	b.write("docs/guide.md", guideText)
	b.finds(x, "tractors", "docs/guide.md")
	b.sound(x)
}

func TestMemory(t *testing.T) {
	b := newBench(t)
	b.project()
	x := b.open()
	b.finds(x, "zebra", "")
	b.model.took()
	entry := func(text string) string {
		return fmt.Sprintf(`{"type":"rule","content":%q,"timestamp":"2026-03-01T10:00:00Z"}`, text)
	}
	b.memory.add("discoveries.jsonl", entry("Every zebra must be counted twice"))
	b.finds(x, "zebra", "discoveries.jsonl")
	b.embeds("Every zebra", "zebra")
	for i := range memoryPart + 10 {
		b.memory.add("discoveries.jsonl", entry(fmt.Sprintf("Animal %d has the number %d of %d and %x", i, i*i, i*i*i, i*7919)))
	}
	b.finds(x, "zebra", "discoveries.jsonl")
	b.model.took()
	changes := len(b.store.replaced)
	b.memory.add("discoveries.jsonl", entry("The walrus sleeps on Sundays"))
	b.finds(x, "walrus", "discoveries.jsonl")
	b.embeds("The walrus", "walrus")
	if diff := cmp.Diff([][]string{{"memory:discoveries.jsonl#1"}}, b.store.replaced[changes:]); diff != "" {
		t.Errorf("an append changes more than the last part: %s", diff)
	}
	a := b.search(x, Query{Text: "walrus", Type: "rule"})
	if a.Hits[0].Type != "rule" || a.Hits[0].Source != chunk.Discovery || !a.Hits[0].Date.Equal(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", a.Hits)
	}
	if want := memoryPart + 12; a.Hits[0].Line != want || a.Hits[0].End != want {
		t.Errorf("%+v, want line %d", a.Hits[0], want)
	}
	b.memory.remove("discoveries.jsonl")
	b.finds(x, "walrus", "")
	b.finds(x, "zebra", "")
	b.sound(x)
	b.memory.before = 1000 // lines that are not searched
	b.memory.add("discoveries.jsonl", entry("The walrus sleeps on Mondays"))
	if a := b.search(x, Query{Text: "walrus"}); len(a.Hits) != 1 || a.Hits[0].Line != 1001 || a.Hits[0].End != 1001 {
		t.Errorf("%+v, want line 1001", a.Hits)
	}
}

func TestMemoryIsForgottenAfterRestart(t *testing.T) {
	b := newBench(t)
	b.project()
	b.memory.add("discoveries.jsonl", `{"type":"rule","content":"Every zebra must be counted twice"}`)
	x := b.open()
	b.finds(x, "zebra", "discoveries.jsonl")
	x.Close()
	b.memory.remove("discoveries.jsonl")
	x = b.open()
	b.finds(x, "zebra", "")
}

// TestResume closes the index midway, again and again: nothing that was stored is done twice.
func TestResume(t *testing.T) {
	b := newBench(t)
	const files = 300
	for i := range files {
		b.write(fmt.Sprintf("docs/d%d/page.md", i), fmt.Sprintf("# Page\n\nThis is page number%d about subject%d and nothing else.\n", i, i))
	}
	b.model.setHook(func(_ context.Context, texts []string) ([][]float32, error) {
		b.store.mu.Lock()
		defer b.store.mu.Unlock()
		for _, text := range texts {
			if b.store.vectors[b.model.id][keyOf(text)] != nil {
				t.Errorf("embedded again: %q", text)
			}
		}
		return nil, nil
	})
	for round := 0; len(b.store.paths()) < files; round++ {
		if round > 50 {
			t.Fatalf("nothing gets done: %d", len(b.store.paths()))
		}
		x := b.open(func(o *Options) { o.Workers = 2 })
		changes := 0
		b.store.setBefore(func(op string) {
			b.store.mu.Lock()
			defer b.store.mu.Unlock()
			if op == "replace" {
				changes++
				if changes == 4 {
					x.cancel()
				}
			}
		})
		x.Run(t.Context(), nil)
		x.Close()
	}
	b.store.setBefore(nil)
	b.model.took()
	x := b.open()
	b.run(x)
	b.finds(x, "subject217", "docs/d217/page.md")
	b.embeds("subject217")
	b.sound(x)
}

func TestEmpty(t *testing.T) {
	b := newBench(t)
	x := b.open()
	if _, err := x.Search(t.Context(), Query{Text: "anything"}); !errors.Is(err, ErrEmpty) {
		t.Errorf("%v", err)
	}
	o, err := x.Overview(t.Context())
	if err != nil || o.Newest != nil || o.State.Chunks != 0 {
		t.Errorf("%+v, %v", o, err)
	}
	b.write("README.md", guideText)
	b.finds(x, "tractors", "README.md")
}

func TestBuilding(t *testing.T) {
	b := newBench(t)
	for i := range 100 {
		b.write(fmt.Sprintf("d%d/page.md", i), guideText)
	}
	hold := make(chan struct{})
	b.model.setHook(func(ctx context.Context, _ []string) ([][]float32, error) {
		select {
		case <-hold:
		case <-ctx.Done():
		}
		return nil, ctx.Err()
	})
	x := b.open()
	x.limits.first, x.limits.longest = time.Millisecond, time.Millisecond
	_, err := x.Search(t.Context(), Query{Text: "tractors"})
	for errors.Is(err, ErrEmpty) {
		t.Fatal(err)
	}
	var building *BuildingError
	if !errors.As(err, &building) {
		t.Fatalf("%v", err)
	}
	x.limits.longest = time.Minute
	// While the next search waits; otherwise it would fail.
	time.AfterFunc(50*time.Millisecond, func() { close(hold) })
	if a := b.search(x, Query{Text: "tractors"}); len(a.Hits) != 1 || a.Total < 1 {
		t.Errorf("%+v", a)
	}
}
