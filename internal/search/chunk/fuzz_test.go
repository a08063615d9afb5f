package chunk_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"remit/internal/search/chunk"
)

// check reports violations of the promises about a chunk.
func check(t *testing.T, p chunk.Chunk, limit int) {
	t.Helper()
	switch {
	case p.Text == "" || len(p.Text) > limit || !utf8.ValidString(p.Text) || strings.Contains(p.Text, "\x00"):
		t.Errorf("text of %d bytes: %.100q", len(p.Text), p.Text)
	case !utf8.ValidString(p.Name) || len(p.Name) > 200 || strings.Contains(p.Name, "\x00"):
		t.Errorf("name %q", p.Name)
	case len(p.Module) > 200 || len(p.Session) > 200:
		t.Errorf("module %q, session %q", p.Module, p.Session)
	case p.Line < 1 || p.End < p.Line:
		t.Errorf("lines %d to %d", p.Line, p.End)
	case (p.Source == chunk.Discovery) != (p.Type != ""):
		t.Errorf("%s has the type %q", p.Source, p.Type)
	case !p.Date.IsZero() && (p.Date.Year() < 1980 || p.Date.Year() > 2200):
		t.Errorf("date %s", p.Date)
	}
}

// checkAll reports violations in the chunks of a content.
func checkAll(t *testing.T, found []chunk.Chunk, content []byte) {
	t.Helper()
	lines := strings.Count(string(content), "\n") + 1
	last := 1
	for i := range found {
		p := found[i]
		check(t, p, chunk.MaxText)
		if p.Line < last || p.End > lines {
			t.Errorf("lines %d to %d of %d after one from %d", p.Line, p.End, lines, last)
		}
		if !utf8.ValidString(p.Module) || !utf8.ValidString(p.Session) || !utf8.ValidString(p.IndexText("a/b.md")) {
			t.Errorf("module %q, session %q", p.Module, p.Session)
		}
		last = p.Line
	}
}

func seeds(f *testing.F, add func(name string, content []byte)) {
	files, err := filepath.Glob("testdata/code/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		add(strings.TrimSuffix(filepath.Base(file), ".txt"), content)
	}
}

func FuzzOf(f *testing.F) {
	seeds(f, func(name string, content []byte) { f.Add(name, content) })
	for _, name := range []string{"a.md", "a.rst", "a.adoc", "CLAUDE.md", "docs/adr/0001-a.md", "CONTRIBUTING.md", ".cursorrules", "best_practices.md", "a.lua", "a.sql", "a.json"} {
		f.Add(name, []byte("---\ntitle: a\n---\n# A\n\n- one\n  - two\n```\ncode\n\nB\n==\n\n/* TODO: a\n*/ 'x \"y\"\n<!-- b\n"))
	}
	f.Add("adr/\xff.md", []byte("This was decided by all of them.\n"))
	f.Add("\xff/a.go", []byte("package a\n\nfunc Something() {}\n"))
	f.Add("a.java", []byte(strings.Repeat("word ", 40)+"\n "))
	f.Fuzz(func(t *testing.T, name string, content []byte) {
		found := chunk.Of(name, content)
		if len(found) > chunk.MaxChunks {
			t.Errorf("%d pieces", len(found))
		}
		checkAll(t, found, content)
	})
}

func FuzzMemory(f *testing.F) {
	seeds(f, func(name string, content []byte) { f.Add(name, content) })
	f.Add("decisions.jsonl", []byte(`{"type":"decision","title":"a","content":"use it","files":["a/b.go"],"timestamp":1700000000,"session":"s"}`+"\n\"a text\"\n[\"a\",{\"b\":\"c\"}]\n{\"n\":1}\n{"))
	f.Add("best_practices.md", []byte("# Practices\n\n- one thing\n- another\n\n## Tests\n\nAlways test.\n"))
	f.Fuzz(func(t *testing.T, name string, content []byte) { checkAll(t, chunk.Memory(name, content), content) })
}

// TestHostile: contents of hostile size or shape break nothing, and take at most linear time.
func TestHostile(t *testing.T) {
	lines := 1 << 10
	if os.Getenv("REMIT_FULL") == "true" {
		lines = 1 << 16
	}
	for name, content := range hostile(lines) {
		for _, file := range []string{"a.go", "a.ts", "a.py", "a.md", "CLAUDE.md", "docs/adr/a.md", "a.rst", "a.adoc", "a.txt", "a.lua", "a.jsonl"} {
			t.Run(name+" "+file, func(t *testing.T) {
				checkAll(t, chunk.Of(file, []byte(content)), []byte(content))
				checkAll(t, chunk.Memory(file, []byte(content)), []byte(content))
			})
		}
	}
}

func hostile(n int) map[string]string {
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 10*n)
	for i := range noise {
		noise[i] = byte(1 + random.IntN(255))
	}
	return map[string]string{
		"one line":      strings.Repeat("word ", 40*n),
		"noise":         string(noise),
		"newlines":      strings.Repeat("\n", 10*n),
		"braces":        strings.Repeat("{", 10*n),
		"nested":        strings.Repeat("class A {\n", n),
		"deep json":     strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n),
		"fences":        strings.Repeat("- a\n  ```\n", n),
		"comments":      strings.Repeat("<!-- open\n", n),
		"quotes":        strings.Repeat("TODO '\"` /* \\\n", n),
		"headings":      strings.Repeat("# a heading\ntext\n", n),
		"deep headings": strings.Repeat("# a\n## b\n### c\n#### d\n##### e\n###### f\n- an item of a list\n", n/4),
		"long title":    "# " + strings.Repeat("title ", 20*n) + "\n## Rules\n" + strings.Repeat("- an item of a list\n", n),
		"notes":         `{"text":"` + strings.Repeat("Word ", 20*n) + `","notes":["` + strings.Repeat(`a note","`, n) + `"]}`,
		"items":         strings.Repeat("  - a\n    b\n\n", n),
		"todos":         strings.Repeat("// TODO: do something here\n\n", n),
		"imports":       strings.Repeat("import (\n", n),
		"licence":       strings.Repeat("// copyright\n", n),
		"indented":      strings.Repeat(" ", 10*n) + "x",
		"chinese":       strings.Repeat("這是一個很長的句子", n),
	}
}

// TestMemoryInProportion: a file that repeats a long text for each of many short ones takes linear,
// not quadratic, memory.
func TestMemoryInProportion(t *testing.T) {
	for _, tc := range []struct{ shape, file string }{{"long title", "CLAUDE.md"}, {"long title", "docs/adr/a.md"}, {"notes", "a.jsonl"}} {
		took := func(n int) uint64 {
			content := []byte(hostile(n)[tc.shape])
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			chunk.Of(tc.file, content)
			chunk.Memory(tc.file, content)
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc
		}
		took(1 << 8) // allocations that happen once
		if little, much := took(1<<9), took(1<<11); much > 8*little {
			t.Errorf("%s in %s: %d bytes, then %d", tc.shape, tc.file, little, much)
		}
	}
}

// TestLongLine: a line of several megabytes works.
func TestLongLine(t *testing.T) {
	// Within the size limit of a project file.
	content := []byte(`{"content": "` + strings.Repeat("word ", 600_000) + `"}`)
	for _, name := range []string{"a.md", "a.go", "a.jsonl"} {
		checkAll(t, chunk.Of(name, content), content)
		found := chunk.Memory(name, content)
		if len(found) == 0 {
			t.Errorf("%s has no chunks", name)
		}
		checkAll(t, found, content)
	}
}
