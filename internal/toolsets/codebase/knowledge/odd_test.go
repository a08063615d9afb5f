package knowledge

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"remit/internal/search/chunk"
)

// TestLeftOut: links, large files and unreadable files are not indexed.
func TestLeftOut(t *testing.T) {
	b := newBench(t)
	b.project()
	b.write("large.md", "# Giraffe\n\n"+strings.Repeat("giraffe\n", 1<<18))
	b.write("binary.md", "giraffe\x00\x01")
	if err := os.Symlink(filepath.Join(b.root, "docs/guide.md"), filepath.Join(b.root, "link.md")); err != nil {
		t.Skip(err)
	}
	b.write("secret.md", "# Secret\n\nThe okapi knows.\n")
	os.Chmod(filepath.Join(b.root, "secret.md"), 0)
	x := b.open()
	b.finds(x, "giraffe", "")
	a := b.search(x, Query{Text: "tractors"})
	if len(a.Hits) != 1 || a.Hits[0].Path != "docs/guide.md" {
		t.Errorf("%+v", a.Hits)
	}
	if os.Geteuid() != 0 {
		b.finds(x, "okapi", "")
		if n := strings.Count(b.logged(), "secret.md"); n != 1 {
			t.Errorf("said %d times:\n%s", n, b.logged())
		}
	}
	b.write("docs/guide.md", guideText+strings.Repeat("tractors\n", 1<<18))
	b.finds(x, "tractors", "")
	b.write("large.md", "# Giraffe\n\nA giraffe is tall.\n")
	b.sound(x)
}

// TestPanic: a text with which the model panics is found by its words, also after a restart.
func TestPanic(t *testing.T) {
	b := newBench(t)
	b.project()
	b.write("docs/bad.md", "# Bad\n\nThis text is poisonous.\n")
	b.model.setHook(func(_ context.Context, texts []string) ([][]float32, error) {
		for _, text := range texts {
			if strings.Contains(text, "poisonous.") {
				panic("poison")
			}
		}
		return nil, nil
	})
	for range 2 {
		x := b.open()
		b.finds(x, "tractors", "docs/guide.md")
		b.finds(x, "password", "internal/auth/login.go")
		b.finds(x, "poisonous", "docs/bad.md")
		b.sound(x)
		x.Close()
	}
	if !strings.Contains(b.logged(), "poison") {
		t.Error(b.logged())
	}
}

// TestCutVersion: everything is cut again if another version cut it.
func TestCutVersion(t *testing.T) {
	b := newBench(t)
	b.project()
	x := b.open()
	b.run(x)
	x.Close()
	b.model.took()
	mark := b.store.sources[cutMark]
	if mark.Hash != cutHash() {
		t.Fatalf("no mark: %+v", mark)
	}
	mark.Hash[0]++
	b.store.sources[cutMark] = mark
	for _, want := range []int{len(b.store.paths()) + 1, 0} { // the files and the mark
		changes := len(b.store.replaced)
		x = b.open()
		b.run(x)
		b.run(x)
		if got := len(slices.Concat(b.store.replaced[changes:]...)); got != want {
			t.Errorf("replaced %v, want %d", b.store.replaced[changes:], want)
		}
		b.embeds()
		x.Close()
	}
}

// TestOddPaths: files are distinguished from sources that were fed.
func TestOddPaths(t *testing.T) {
	b := newBench(t)
	b.write("session:1.md", "# One\n\nThe lemur is a file.\n")
	b.write("memory:x/a b\xff#1.md", "# Two\n\nThe gibbon is a file.\n")
	x := b.open()
	b.finds(x, "lemur", "./session:1.md")
	b.finds(x, "gibbon", "./memory:x/a b\xff#1.md")
	err := x.AddSources(t.Context(), session("1.md", "A session about the ocelot"))
	if err != nil {
		t.Fatal(err)
	}
	b.finds(x, "lemur", "./session:1.md")
	b.finds(x, "ocelot", "session:1.md")
	b.remove("session:1.md")
	b.finds(x, "lemur", "")
	b.finds(x, "ocelot", "session:1.md")
	x.Close()
	x = b.open()
	b.finds(x, "ocelot", "session:1.md")
	b.finds(x, "gibbon", "./memory:x/a b\xff#1.md")
	b.sound(x)
}

// session returns a source to be fed.
func session(id, text string) Source {
	piece := Chunk{Chunk: chunk.Chunk{Source: chunk.Session, Session: id, Text: text}}
	return Source{Path: "session:" + id, Hash: sha256.Sum256([]byte(text)), Modified: time.Unix(1, 0), Chunks: []Chunk{piece}}
}

func TestFeed(t *testing.T) {
	b := newBench(t)
	b.project()
	x := b.open()
	feed := func(text string) {
		t.Helper()
		if err := x.AddSources(t.Context(), session("7", text)); err != nil {
			t.Fatal(err)
		}
	}
	feed("read the files of the aardvark")
	if x.State().Indexing {
		t.Error("feeding begins to index")
	}
	b.finds(x, "aardvark", "session:7")
	feed("read the files of the badger")
	b.finds(x, "aardvark", "")
	b.finds(x, "badger", "session:7")
	if a := b.search(x, Query{Text: "badger", Exclude: "session:7"}); len(a.Hits) != 0 {
		t.Errorf("%+v", a.Hits)
	}
	if err := x.AddSources(t.Context(), Source{Path: "session:7", Gone: true}); err != nil {
		t.Fatal(err)
	}
	b.finds(x, "badger", "")
	for _, path := range []string{"docs/guide.md", ":cut", "memory:x.jsonl", ""} {
		if err := x.AddSources(t.Context(), Source{Path: path}); err == nil {
			t.Errorf("%q was fed", path)
		}
	}
	b.sound(x)
}

// TestFeedAgain: new sources are stored in one change, and stored ones are not written again, also
// after a restart.
func TestFeedAgain(t *testing.T) {
	b := newBench(t)
	b.project()
	fed := []Source{session("1", "read the files of the aardvark"), session("2", "read the files of the badger")}
	feed := func(x *Index, changes int, sources ...Source) {
		t.Helper()
		b.run(x)
		before := b.store.generation
		if err := x.AddSources(t.Context(), sources...); err != nil {
			t.Fatal(err)
		}
		b.run(x)
		if got := b.store.generation - before; got != int64(changes) {
			t.Errorf("%d changes, want %d: %q", got, changes, b.store.replaced)
		}
	}
	x := b.open()
	feed(x, 1, fed...)
	feed(x, 0, fed...)
	x.Close()
	x = b.open()
	before := b.store.generation
	if err := x.AddSources(t.Context(), fed...); err != nil { // before anything is known
		t.Fatal(err)
	}
	b.finds(x, "badger", "session:2")
	if got := b.store.generation - before; got != 0 {
		t.Errorf("%d changes: %q", got, b.store.replaced)
	}
	feed(x, 1, session("1", "read the files of the caracal"), fed[1])
	b.finds(x, "caracal", "session:1")
	feed(x, 1, Source{Path: "session:1", Gone: true})
	feed(x, 0, Source{Path: "session:1", Gone: true})
	b.finds(x, "caracal", "")
	b.sound(x)
}

// TestFeedFails: after a failure, the last version that was fed is stored as soon as possible.
func TestFeedFails(t *testing.T) {
	b := newBench(t)
	b.project()
	x := b.open()
	b.run(x)
	b.store.setFail(errors.New("no store"))
	for _, text := range []string{"about the aardvark", "about the badger"} {
		if err := x.AddSources(t.Context(), session("1", text)); err != nil {
			t.Fatal(err)
		}
		if err := x.Run(t.Context(), nil); err == nil {
			t.Fatal("a failing store must be an error")
		}
	}
	b.store.setFail(nil)
	b.finds(x, "badger", "session:1")
	b.finds(x, "aardvark", "")
}
