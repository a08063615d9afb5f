package memlog_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"remit/internal/stores/memlog"

	"pgregory.net/rapid"
)

func TestTailWithoutNewline(t *testing.T) {
	big := strings.Repeat("x", 300<<10)
	for _, c := range []struct {
		name   string
		format memlog.Format
		before string
		after  string // content of the file before the new line
		torn   string
		place  memlog.Position
	}{
		{"torn object", memlog.JSONLines, "{}\n{\"a\":", "{}\n", "{\"a\":\n", memlog.Position{Line: 2, Bytes: 8}},
		{"torn, alone", memlog.JSONLines, `{"a`, "", "{\"a\n", memlog.Position{Line: 1, Bytes: 8}},
		{"zeroes", memlog.JSONLines, "{}\n\x00\x00", "{}\n", "\x00\x00\n", memlog.Position{Line: 2, Bytes: 8}},
		{"two values", memlog.JSONLines, "{}\n{} {}", "{}\n", "{} {}\n", memlog.Position{Line: 2, Bytes: 8}},
		{"torn, large", memlog.JSONLines, "{}\n{\"a\":\"" + big, "{}\n", "{\"a\":\"" + big + "\n", memlog.Position{Line: 2, Bytes: 8}},
		{"JSON", memlog.JSONLines, "{}\n{\"a\":1}", "{}\n{\"a\":1}\n", "", memlog.Position{Line: 3, Bytes: 9}},
		{"JSON, alone", memlog.JSONLines, `[1,{"b":null}]`, "[1,{\"b\":null}]\n", "", memlog.Position{Line: 2, Bytes: 9}},
		{"JSON, large", memlog.JSONLines, "\"" + big + "\"", "\"" + big + "\"\n", "", memlog.Position{Line: 2, Bytes: 9}},
		{"a number no float holds", memlog.JSONLines, "1e999", "1e999\n", "", memlog.Position{Line: 2, Bytes: 9}},
		{"bad lines before are not ours to judge", memlog.JSONLines, "{bad\n\n", "{bad\n\n", "", memlog.Position{Line: 3, Bytes: 8}},
		{"text", memlog.Text, "# T\n{\"a\":", "# T\n{\"a\":\n", "", memlog.Position{Line: 3, Bytes: 9}},
		{"text, empty", memlog.Text, "", "", "", memlog.Position{Line: 1, Bytes: 8}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, name)
			write(t, path, c.before)
			l := open(t, dir, c.format)
			same(t, "place", put(t, l, `{"n":1}`), c.place)
			same(t, "next place", put(t, l, `{"n":2}`), memlog.Position{Line: c.place.Line + 1, Bytes: 8})
			same(t, "file", read(t, path), c.after+"{\"n\":1}\n{\"n\":2}\n")
			torn, _ := os.ReadFile(path + ".torn")
			same(t, "torn", string(torn), c.torn)
		})
	}
}

func TestTornLinesCollect(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, name)
	l := open(t, dir, memlog.JSONLines)
	for range 3 {
		put(t, l, `{}`)
		write(t, path, read(t, path)+"{torn")
	}
	same(t, "place", put(t, l, `{}`), memlog.Position{Line: 4, Bytes: 3})
	same(t, "torn", read(t, path+".torn"), "{torn\n{torn\n{torn\n")
}

func TestATornLineThatCannotBeKeptIsNotCutOff(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, name)
	write(t, path, "{}\n{torn")
	if err := os.Mkdir(path+".torn", 0o700); err != nil {
		t.Fatal(err)
	}
	l := open(t, dir, memlog.JSONLines)
	_, err := l.Append([]byte(`{}`), true).Wait(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(), "append to "+name+": set torn line aside: ") {
		t.Fatalf("append: %v", err)
	}
	same(t, "file", read(t, path), "{}\n{torn")
	if err := os.Remove(path + ".torn"); err != nil {
		t.Fatal(err)
	}
	same(t, "place", put(t, l, `{}`), memlog.Position{Line: 2, Bytes: 3})
}

// FuzzTail compares an append to a file of any content with a simple model.
func FuzzTail(f *testing.F) {
	for _, seed := range []string{
		"", "\n", "{}", "{}\n", "{}\n{", "\n\n x", "{}\n{\"a\":[1,2", "\"\xff\"", "1 2", "[1,]", "{\"a\":1}}", "nul", "tru\n", "-", "1.", " {} ", "[[],{}]", "\r\n", "{}{", "1 [",
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, content []byte, text bool) {
		format := memlog.JSONLines
		if text {
			format = memlog.Text
		}
		checkTail(t, t.TempDir(), string(content), format)
	})
}

func checkTail(t testing.TB, dir, content string, format memlog.Format) {
	t.Helper()
	wholeLines := content[:strings.LastIndexByte(content, '\n')+1]
	tail := content[len(wholeLines):]
	after, torn, extra := content, "", 0
	switch {
	case tail == "":
	case format == memlog.Text || json.Valid([]byte(tail)):
		after, extra = content+"\n", 1
	default:
		after, torn = wholeLines, tail+"\n"
	}

	path := filepath.Join(dir, name)
	write(t, path, content)
	l := memlog.New(memlog.Options{Files: memlog.Dir(dir), Name: name, Format: format})
	got, err := l.Append([]byte(`{"new":1}`), false).Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	same(t, "place", got, memlog.Position{Line: int64(strings.Count(after, "\n")) + 1, Bytes: 10 + extra})
	same(t, "file", read(t, path), after+"{\"new\":1}\n")
	kept, _ := os.ReadFile(path + ".torn")
	same(t, "torn", string(kept), torn)
}

// TestAnyEditInBetween lets two logs and a person edit one file, and checks that each appended line
// is at the returned line number.
func TestAnyEditInBetween(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, name)
	content := rapid.StringMatching(`(\{"h":[0-9]{0,3}\}|\n|x){0,9}`)
	rapid.Check(t, func(rt *rapid.T) {
		if err := os.RemoveAll(dir); err != nil {
			rt.Fatal(err)
		}
		write(t, path, "")
		format := rapid.SampledFrom([]memlog.Format{memlog.JSONLines, memlog.Text}).Draw(rt, "format")
		logs := []*memlog.Log{open(t, dir, format), open(t, dir, format)}
		appendTo := func(rt *rapid.T) {
			before, _ := os.ReadFile(path)
			body := rapid.StringMatching(`\{"n":[0-9]{1,4}\}`).Draw(rt, "body")
			p, err := rapid.SampledFrom(logs).Draw(rt, "log").Append([]byte(body), false).Wait(t.Context())
			if err != nil {
				rt.Fatal(err)
			}
			checkAppended(rt, path, string(before), body, p)
		}
		rt.Repeat(map[string]func(*rapid.T){
			"append":  appendTo,
			"append2": appendTo,
			"delete":  func(*rapid.T) { _ = os.Remove(path) },
			"rotate":  func(*rapid.T) { _ = os.Rename(path, path+".1") },
			"restore": func(*rapid.T) { _ = os.Rename(path+".1", path) },
			"rewrite": func(rt *rapid.T) { write(t, path, content.Draw(rt, "content")) },
			"replace": func(rt *rapid.T) {
				write(t, path+".new", content.Draw(rt, "content"))
				_ = os.Rename(path+".new", path)
			},
			"insert": func(rt *rapid.T) {
				old, _ := os.ReadFile(path)
				write(t, path, content.Draw(rt, "content")+string(old))
			},
			"add": func(rt *rapid.T) {
				old, _ := os.ReadFile(path)
				write(t, path, string(old)+content.Draw(rt, "content"))
			},
			"cut": func(rt *rapid.T) {
				old, _ := os.ReadFile(path)
				write(t, path, string(old[:rapid.IntRange(0, len(old)).Draw(rt, "size")]))
			},
		})
		for _, l := range logs {
			if err := l.Close(); err != nil {
				rt.Fatal(err)
			}
		}
	})
}

func checkAppended(rt *rapid.T, path, before, body string, p memlog.Position) {
	b, err := os.ReadFile(path)
	if err != nil {
		rt.Fatal(err)
	}
	torn, _ := os.ReadFile(path + ".torn")
	after, found := strings.CutSuffix(string(b), body+"\n")
	switch {
	case !found:
		rt.Fatalf("%q does not end with %q", b, body)
	case p.Line != int64(strings.Count(after, "\n"))+1:
		rt.Fatalf("returned line %d of %q", p.Line, b)
	case after == before, after == before+"\n":
	case !strings.HasPrefix(before, after), !strings.HasSuffix(string(torn), before[len(after):]+"\n"):
		rt.Fatalf("%q became %q, and %q was set aside", before, after, torn)
	}
}
