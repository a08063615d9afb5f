package bookimport_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract"
	"remit/internal/toolsets/books/bookimport"
)

// source returns a folder with these names. Each is "name=content" or a name, which is then also
// the content.
func source(names ...string) fstest.MapFS {
	files := fstest.MapFS{}
	for _, name := range names {
		name, text, given := strings.Cut(name, "=")
		if !given {
			text = name
		}
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

func makePlan(t *testing.T, from fs.FS, keepPlaces bool) *bookimport.Plan {
	t.Helper()
	p, err := bookimport.NewPlan(t.Context(), from, keepPlaces, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func moves(p *bookimport.Plan) map[string]string {
	found := map[string]string{}
	for _, f := range p.Files {
		found[f.From] = f.To
	}
	return found
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		from  fs.FS
		keep  bool
		wants map[string]string
	}{
		{"any folder", source("README.md", "Week 1/Intro to Go.md", "Week 1/img/a b.PNG", "talk.pptx", "x/talk.pptx", "code/main.py", "s.mp3", "v.mp4"), false, map[string]string{
			"README.md": "lessons/README.md", "Week 1/Intro to Go.md": "lessons/Week-1/Intro-to-Go.md", "Week 1/img/a b.PNG": "assets/images/a-b.PNG",
			"talk.pptx": "assets/slides/talk.pptx", "x/talk.pptx": "assets/slides/talk-2.pptx", "code/main.py": "lessons/code/main.py",
			"s.mp3": "assets/audio/s.mp3", "v.mp4": "assets/videos/v.mp4",
		}},
		{"media that stay", source("a.md", "img/a.png"), true, map[string]string{"a.md": "lessons/a.md", "img/a.png": "lessons/img/a.png"}},
		{"a book", source("book.yaml", "lessons/a.md", "lessons/img/b c.png", "chapters/chapter-01/.summary.md", "assets/images/d.png", "notes.md"), false, map[string]string{
			"book.yaml": "book.yaml", "lessons/a.md": "lessons/a.md", "lessons/img/b c.png": "lessons/img/b-c.png",
			"chapters/chapter-01/.summary.md": "chapters/chapter-01/.summary.md", "assets/images/d.png": "assets/images/d.png", "notes.md": "notes.md",
		}},
		{"assets alone make no book of it", source("assets/a.png", "docs/a.md"), false, map[string]string{"assets/a.png": "assets/images/a.png", "docs/a.md": "lessons/docs/a.md"}},
		{"names", source("a b.md", "a-b.md", "A-B.md", "Größe Ñandú.md", "e\u0301te\u0301.md", "数据.md", "数据/x.md", "a..b.md", "what?*.md", "week 1/x.md", "week-1"), false, map[string]string{
			"A-B.md": "lessons/A-B.md", "a-b.md": "lessons/a-b-2.md", "a b.md": "lessons/a-b-3.md", "Größe Ñandú.md": "lessons/Groesse-Nandu.md", "e\u0301te\u0301.md": "lessons/ete.md",
			"数据.md": "lessons/untitled-4a2d9d.md", "数据/x.md": "lessons/untitled-5440f7/x.md", "a..b.md": "lessons/a.b.md", "what?*.md": "lessons/what.md",
			"week-1": "lessons/week-1", "week 1/x.md": "lessons/week-1-2/x.md",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.wants, moves(makePlan(t, tc.from, tc.keep))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLinksLeadToTheNewPlaces(t *testing.T) {
	t.Parallel()
	const text = "![a](img/a%20b.png \"A\") [b](../Week%202/b.md#Part) [c](<../Week 2/>) [d](c.md) [e](/img/top.png?x=1)\r\n" +
		"[f](https://example.org/img/a.png) `[g](img/a%20b.png)` [h](missing.md) [i](../Week%202/b) [l](../Week%202/b.html#p) [m](../Week%202/index.html) [n](c.html) <img src='img/a b.png'> [j](#x) [k](../../out.md)\n"
	const want = "![a](../../assets/images/a-b.png \"A\") [b](../Week-2/b.md#Part) [c](<../Week-2/>) [d](c.md) [e](../../assets/images/top.png?x=1)\r\n" +
		"[f](https://example.org/img/a.png) `[g](img/a%20b.png)` [h](missing.md) [i](../Week-2/b) [l](../Week-2/b.html#p) [m](../Week-2/index.html) [n](c.html) <img src='../../assets/images/a-b.png'> [j](#x) [k](../../out.md)\n"
	p := makePlan(t, source("Week 1/a.md="+text, "Week 1/c.md", "Week 1/img/a b.png", "Week 2/b.md", "Week 2/README.md", "img/top.png", "out.md"), false)
	for _, f := range p.Files {
		if f.From != "Week 1/a.md" {
			continue
		}
		got, links, err := p.Markdown(f)
		if err != nil || string(got) != want || links != 8 || f.Links != links || f.Size != int64(len(want)) {
			t.Errorf("%d links, %d planned, size %d, error %v\n%s\n%s", links, f.Links, f.Size, err, got, want)
		}
	}
}

func TestWhatStaysOut(t *testing.T) {
	t.Parallel()
	from := source("a.md", ".git/config", ".DS_Store", "x/node_modules/a.js", "__MACOSX/a.md", ".summary.md", "chapters/.summary.md")
	from["link.md"] = &fstest.MapFile{Mode: fs.ModeSymlink, Data: []byte("a.md")}
	from["pipe"] = &fstest.MapFile{Mode: fs.ModeNamedPipe}
	p := makePlan(t, from, false)
	if diff := cmp.Diff(map[string]string{"a.md": "lessons/a.md"}, moves(p)); diff != "" {
		t.Error(diff)
	}
	left := map[string]string{}
	for _, r := range p.Skipped {
		left[r.From] = r.Reason
	}
	want := map[string]string{
		".git": "hidden", ".DS_Store": "hidden", "x/node_modules": "generated by a program", "__MACOSX": "generated by a program", ".summary.md": "hidden",
		"chapters/.summary.md": "hidden", "link.md": "a link; links are not followed", "pipe": "not a file",
	}
	if diff := cmp.Diff(want, left); diff != "" {
		t.Error(diff)
	}
}

func TestWhatCannotBeImported(t *testing.T) {
	t.Parallel()
	from := source("a.md", "latin.md=caf\xe9", strings.Repeat("x", 200)+"/"+strings.Repeat("y", 60)+".md")
	from["big.md"] = &fstest.MapFile{Data: bytes.Repeat([]byte("x"), bookimport.MaxMarkdown+1)}
	from["most.md"] = &fstest.MapFile{Data: bytes.Repeat([]byte("x"), bookimport.MaxMarkdown)}
	p := makePlan(t, from, false)
	said := fmt.Sprint(p.Failed)
	for _, want := range []string{"latin.md it is not UTF-8", "big.md it has more than 1048576 bytes", "its path in the book would have 272 characters; the limit is 255"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing: %s", want, said)
		}
	}
	if len(p.Files) != 2 || len(p.Failed) != 3 {
		t.Errorf("%d files, %d bad", len(p.Files), len(p.Failed))
	}
	if _, err := bookimport.NewPlan(t.Context(), source(".git/config"), false, nil); contract.AsError(err).Kind != contract.Invalid {
		t.Errorf("nothing to import gives %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := bookimport.NewPlan(ctx, source("a.md"), false, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("an import that was given up gives %v", err)
	}
}

// closed is a folder with unreadable parts.
type closed struct {
	fstest.MapFS
	names string
}

func (c closed) Open(name string) (fs.File, error) {
	if name != "." && strings.Contains(c.names, name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return c.MapFS.Open(name)
}

func (c closed) ReadDir(name string) ([]fs.DirEntry, error) {
	if name != "." && strings.Contains(c.names, name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return c.MapFS.ReadDir(name)
}

// TestWhatCannotBeRead: unreadable files are found before anything is written, and can be skipped.
func TestWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	from := closed{source("a.md", "mine.md", "mine.png", "mine/b.md"), "mine.md mine.png mine"}
	p := makePlan(t, from, false)
	want := []bookimport.RejectedFile{{From: "mine", Reason: "you have no permission to read it"}, {From: "mine.png", Reason: "you have no permission to read it"}, {From: "mine.md", Reason: "you have no permission to read it"}}
	if diff := cmp.Diff(want, p.Failed); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"a.md": "lessons/a.md"}, moves(p)); diff != "" {
		t.Error(diff)
	}
}

// TestNamesWithoutLetters: some systems allow any bytes in a name.
func TestNamesWithoutLetters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a.md", "caf\xe9.md", "\xff/b.md"} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("x"), 0o600)); err != nil {
			t.Skip("this system has no such names: ", err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "\uFFFD")); err == nil {
		t.Skip("this system makes letters of such names")
	}
	p := makePlan(t, os.DirFS(dir), false)
	want := []bookimport.RejectedFile{{From: "caf\uFFFD.md", Reason: "its name is not UTF-8"}, {From: "\uFFFD", Reason: "its name is not UTF-8"}}
	if diff := cmp.Diff(want, p.Failed); diff != "" || len(p.Files) != 1 {
		t.Errorf("%d files, %s", len(p.Files), diff)
	}
}

func TestBookID(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Python for Agents (2025)": "python-for-agents-2025", "Größe_v1.2": "groesse-v1-2", "course-main": "course-main", "数据": "", " - a - ": "a",
		strings.Repeat("abcd ", 20): strings.TrimSuffix(strings.Repeat("abcd-", 10), "-"),
	} {
		if got := bookimport.BookID(name); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
}

func TestTitle(t *testing.T) {
	t.Parallel()
	for want, from := range map[string]fs.FS{
		"From YAML":   source("book.yaml=title: From YAML", "README.md=# Other"),
		"A heading":   source("README.md=Text\n\n# A *heading*", "a.md"),
		"In front":    source("index.md=---\ntitle: In front\n---\n# Other"),
		"Of lessons":  source("lessons/README.md=# Of lessons", "x.md=# Other"),
		"":            source("a.md=# Of a lesson"),
		"YAML broken": source("book.yaml=title: [", "README.md=# YAML broken"),
		"The Rust Book": source("book.toml=[book]\ntitle = \"The Rust Book\"\nauthors = [\"A\"]\n\n[output.html]\n", "src/ch01.md=# One",
			"README.md=# Read me"),
		"My Docs": source("mkdocs.yml=---\nsite_name: My Docs\nmarkdown_extensions:\n  - pymdownx.emoji:\n"+
			"      emoji_index: !!python/name:material.extensions.emoji.twemoji\n", "README.md=# Read me"),
		"Forecasting": source("_quarto.yml=project:\n  type: book\nbook:\n  title: Forecasting\n", "README.md=# Read me"),
		"A site":      source("_quarto.yaml=website:\n  title: A site\n", "a.md"),
		"Of README":   source("README.md=---\ntitle: Of README\n---\n# Other", "book.toml=[book]\ntitle = \"x\"\n"),
		"No title":    source("book.toml=[book]\ntitle = 7\n", "mkdocs.yml=- x", "_quarto.yml=book: x", "Readme.md=# No title"),
	} {
		if got := makePlan(t, from, false).Title; got != want {
			t.Errorf("the title is %q, want %q", got, want)
		}
	}
}

// pack creates an archive. change may modify the header of each entry before it is written.
func pack(t *testing.T, change func(*zip.FileHeader), files ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, file := range files {
		name, text, _ := strings.Cut(file, "=")
		header := &zip.FileHeader{Name: name, Method: zip.Deflate}
		if change != nil {
			change(header)
		}
		entry, err := w.CreateHeader(header)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := entry.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func open(t *testing.T, data []byte) *zip.Reader {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestArchives(t *testing.T) {
	t.Parallel()
	inFolder := makePlan(t, open(t, pack(t, nil, "course-main/README.md=# C", "course-main/a/b.md=x", "__MACOSX/x=1")), false)
	if diff := cmp.Diff(map[string]string{"README.md": "lessons/README.md", "a/b.md": "lessons/a/b.md"}, moves(inFolder)); diff != "" {
		t.Error(diff)
	}
	book := makePlan(t, open(t, pack(t, nil, "lessons/a.md=x")), false)
	if diff := cmp.Diff(map[string]string{"lessons/a.md": "lessons/a.md"}, moves(book)); diff != "" {
		t.Error(diff)
	}
	linked := makePlan(t, open(t, pack(t, func(h *zip.FileHeader) {
		if h.Name == "link.md" {
			h.SetMode(fs.ModeSymlink | 0o777)
		}
	}, "a.md=x", "link.md=/etc/passwd")), false)
	if diff := cmp.Diff(map[string]string{"a.md": "lessons/a.md"}, moves(linked)); diff != "" {
		t.Error(diff)
	}
}

func TestArchivesThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, says string
		archive    func(t *testing.T) []byte
	}{
		{"out of it", "is not a path within it", func(t *testing.T) []byte { return pack(t, nil, "a.md=x", "../b.md=x") }},
		{"absolute", "is not a path within it", func(t *testing.T) []byte { return pack(t, nil, "/etc/b.md=x") }},
		{"empty part", "is not a path within it", func(t *testing.T) []byte { return pack(t, nil, "a//b.md=x") }},
		{"backslash", "is not a path within it", func(t *testing.T) []byte { return pack(t, nil, "a\\..\\b.md=x") }},
		{"NUL", "is not a path within it", func(t *testing.T) []byte { return pack(t, nil, "a\x00.md=x") }},
		{"not UTF-8", "is not UTF-8", func(t *testing.T) []byte { return pack(t, nil, "caf\xe9.md=x") }},
		{"twice", "two entries", func(t *testing.T) []byte { return pack(t, nil, "a.md=x", "a.md=y") }},
		{"encrypted", "encrypted", func(t *testing.T) []byte {
			return flip(pack(t, nil, "a.md=x"), func(central []byte) { central[8] |= 1 })
		}},
		{"a bomb", "200 times its size", func(t *testing.T) []byte { return pack(t, nil, "a.md="+strings.Repeat("x", 1<<20)) }},
		{"says that it is small", "is damaged or does not have its declared size", func(t *testing.T) []byte {
			return flip(pack(t, nil, "a.md="+strings.Repeat("x", 1<<20)), func(central []byte) { binary.LittleEndian.PutUint32(central[24:], 10) })
		}},
		{"says that it is large", "is damaged or does not have its declared size", func(t *testing.T) []byte {
			return flip(pack(t, nil, "a.md=xyz"), func(central []byte) { binary.LittleEndian.PutUint32(central[24:], 400) })
		}},
		{"of 5 GiB", "more than 4294967296 bytes", func(t *testing.T) []byte {
			return flip(pack(t, nil, "a.md=x", "b.md=y"), func(central []byte) { binary.LittleEndian.PutUint32(central[24:], 3<<30) })
		}},
		{"altered", "is damaged or does not have its declared size", func(t *testing.T) []byte {
			return flip(pack(t, nil, "a.md=xyz"), func(central []byte) { central[16] ^= 1 })
		}},
		{"many entries", "the limit is 20000", func(t *testing.T) []byte {
			names := make([]string, 20_001)
			for i := range names {
				names[i] = fmt.Sprintf("%d.md=x", i)
			}
			return pack(t, func(h *zip.FileHeader) { h.Method = zip.Store }, names...)
		}},
		{"a file that is a folder", "cannot be", func(t *testing.T) []byte { return pack(t, nil, "a=x", "a/b.md=x") }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			data := tc.archive(t)
			_, err := bookimport.NewPlan(t.Context(), open(t, data), false, nil)
			if e := contract.AsError(err); e.Kind != contract.Invalid || !strings.Contains(e.Message, tc.says) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// flip changes every entry of the table of contents.
func flip(data []byte, change func(central []byte)) []byte {
	mark := []byte("PK\x01\x02")
	for at := bytes.Index(data, mark); at >= 0; {
		change(data[at:])
		next := bytes.Index(data[at+len(mark):], mark)
		if next < 0 {
			break
		}
		at += len(mark) + next
	}
	return data
}

// FuzzArchive: whatever an archive contains, the planned paths are clean and unique.
func FuzzArchive(f *testing.F) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range []string{"a b.md", "A-B.md", "数/x.png", "../c.md", "d/", "e..f/g"} {
		if _, err := w.Create(name); err != nil {
			f.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		p, err := bookimport.NewPlan(t.Context(), archive, false, nil)
		if err != nil {
			return
		}
		cleanPlaces(t, p)
	})
}

// FuzzNames: whatever the files of a folder are called, the planned paths are clean and unique.
func FuzzNames(f *testing.F) {
	f.Add("a b.md", "a-b.md", "x/a..b.png")
	f.Add("数据.md", "-", "é/é.md")
	f.Add("0. .0", "a -.md", ". .")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		from := fstest.MapFS{}
		for _, name := range []string{a, b, c} {
			if fs.ValidPath(name) && name != "." {
				from[name] = &fstest.MapFile{Data: []byte("x")}
			}
		}
		p, err := bookimport.NewPlan(t.Context(), from, false, nil)
		if err != nil {
			return
		}
		cleanPlaces(t, p)
	})
}

func cleanPlaces(t *testing.T, p *bookimport.Plan) {
	t.Helper()
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_.-"
	seen := map[string]bool{}
	for _, file := range p.Files {
		if !fs.ValidPath(file.To) || strings.Contains(file.To, "..") || strings.Trim(file.To, letters) != "" || seen[strings.ToLower(file.To)] {
			t.Errorf("%q goes to %q", file.From, file.To)
		}
		seen[strings.ToLower(file.To)] = true
	}
}
