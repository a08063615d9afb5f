package books

import (
	"encoding/base64"
	"errors"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

func TestFileName(t *testing.T) {
	for given, want := range map[string]string{
		"diagram.png": "diagram.png", "my first diagram.png": "my-first-diagram.png", "../../etc/passwd": "passwd", "é.png": "e.png", "résumé.png": "resume.png", "re\u0301sume\u0301.png": "resume.png", "../日本.png": "untitled-" + hashOf([]byte("../日本.png"))[:6] + ".png", "é/b.png": "b.png", "..": "", "": "",
		"a/b\\c.png": "c.png", ".hidden": "hidden", "a\x00b.png": "ab.png", "a．．/b.png": "b.png", "a...png": "a.png", strings.Repeat("a", 255): strings.Repeat("a", 255),
		strings.Repeat("a", 256): "", "\u2215x\u2044y": "xy", " ": "-", ".remit-tmp": "remit-tmp",
	} {
		got, err := fileName(given)
		var worded *contract.Error
		if got != want || (err != nil) != (want == "") || err != nil && (!errors.As(err, &worded) || worded.Kind != contract.Invalid || worded.Details["field"] != "filename") {
			t.Errorf("%q becomes %q, error %v; want %q", given, got, err, want)
		}
	}
}

func TestRanked(t *testing.T) {
	paths := []string{"lessons/part-1/chapter-01/lesson-01.md", "lessons/part-1/chapter-01/lesson-02.md", "lessons/part-2/chapter-09/functions.md", "book.yaml", "assets/images/diagram.png"}
	for name, want := range map[string]string{
		"lessons/part-1/chapter-01/lesson-1.md":  paths[0] + " " + paths[1],
		"lessons/functions.md":                   paths[2],
		"LESSONS/PART-1/CHAPTER-01/LESSON-02.MD": paths[1] + " " + paths[0],
		"assets/images/diagramm.png":             paths[4],
		"nothing/like/it.txt":                    "",
		"bok.yaml":                               paths[3],
	} {
		if got := strings.Join(ranked(name, paths), " "); got != want {
			t.Errorf("%s suggests %q, want %q", name, got, want)
		}
	}
	many := make([]string, 20)
	for i := range many {
		many[i] = "lesson-" + string(rune('a'+i))
	}
	if got := ranked("lesson-", many); !slices.Equal(got, many[:maxSuggested]) {
		t.Errorf("of many: %q", got)
	}
}

func TestMIME(t *testing.T) {
	for _, c := range []struct{ name, head, want string }{
		{"a.png", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "image/png"},
		{"a.jpg", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "image/png"},
		{"a", "\xff\xd8\xff\xe0\x00\x10JFIF", "image/jpeg"},
		{"a.svg", `<svg xmlns="http://www.w3.org/2000/svg"/>`, "image/svg+xml"},
		{"a.bin", "\x00\x01\x02", "application/octet-stream"},
		{"a.mp4", "\x00\x01\x02", "video/mp4"},
		{"a.key", "PK\x03\x04", "application/vnd.apple.keynote"},
		{"a.pptx", "PK\x03\x04", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
		{"a.md", "# text", "text/markdown"},
		{"A.TXT", "text", "text/plain"},
		{"a", "text", "text/plain"},
		{"a.png", "", "image/png"},
		{"a.pdf", "%PDF-1.7\n", "application/pdf"},
		{"a.wav", "RIFF\x00\x00\x00\x00WAVEfmt ", "audio/wav"},
		{"a.unknown", "text", "text/plain"},
	} {
		if got := mimeOf([]byte(c.head), c.name); got != c.want {
			t.Errorf("%s %q is %s, want %s", c.name, c.head, got, c.want)
		}
	}
}

func TestHistoryNames(t *testing.T) {
	for _, name := range []string{"ann", "ann@example.com", "a_b.c/d", "語", "\x00\xff", "-"} {
		got, ok := unescapeName(escapeName(name))
		if !ok || got != name {
			t.Errorf("%q comes back as %q", name, got)
		}
		one, ok := parseLine("abc", logKey("abc", "lessons/a.md", "20260109T100000000000000-00000000", name))
		if !ok || one.by != name || one.path != "lessons/a.md" {
			t.Errorf("%q is read as %+v", name, one)
		}
	}
	if one, ok := parseLine("abc", logKey("abc", "a", "20260109T100000000000000-00000000", strings.Repeat("é", 100))); !ok || one.by != "" {
		t.Errorf("a long name is read as %+v", one)
	}
	for _, key := range []string{"", ".history/abc/log/a", ".history/abc/log/a/b.json", ".history/abd/log/a/20260109T100000000000000-00000000.ann.json", ".history/abc/objects/x"} {
		if one, ok := parseLine("abc", key); ok {
			t.Errorf("%q is a line: %+v", key, one)
		}
	}
}

// FuzzPath: a path that the contract and Check accept is a clean key below the book.
func FuzzPath(f *testing.F) {
	sets, err := contract.LoadAll(os.DirFS("contracts"))
	if err != nil {
		f.Fatal(err)
	}
	reading := sets[0].Find("read_content")
	clean := regexp.MustCompile(`^books/abc(/[A-Za-z0-9_.-]+)+$`)
	for _, seed := range []string{"a.md", "lessons/a.md", "..", "../a", "a/..", "a/../b", "a/./b", ".", "/a", "a/", "a//b", "a\\b", "a\x00b", "a%2e%2e", "a∕b", "...", "a..b", ".remit-x", "a/.remit-x", ".summary.md", "~", "a\n", "A", "-", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, given string) {
		_, err := reading.Accept(jsontree.Obj(jsontree.M("book_id", jsontree.Str("abc")), jsontree.M("path", jsontree.Str(given))))
		if err == nil {
			err = ReadContentIn{BookID: "abc", Path: given}.Check()
		}
		if err != nil {
			if e := contract.AsError(err); e.Kind != contract.Invalid || e.Code != invalidPath || e.Details["path"] == nil {
				t.Errorf("%q is refused with %+v", given, e)
			}
			return
		}
		key := Key("abc", given)
		if !clean.MatchString(key) || path.Clean(key) != key || strings.Contains(key, "..") || len(given) > 255 {
			t.Errorf("%q leads to %q", given, key)
		}
		if book, at, ok := splitKey(key); !ok || book != "abc" || at != given {
			t.Errorf("%q is taken apart into %q and %q", key, book, at)
		}
	})
}

// FuzzFileName: every file name becomes one clean name or an error.
func FuzzFileName(f *testing.F) {
	for _, seed := range []string{"a.png", "../x", "....", " .a", "a/../b", "é", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, given string) {
		name, err := fileName(given)
		if err == nil && (checkPath(assetPath("images", name)) != nil || strings.Contains(name, "/") || name[0] == '.' || len(name) > maxName) {
			t.Errorf("%q becomes %q", given, name)
		}
		again, _ := fileName(name)
		if err == nil && again != name {
			t.Errorf("%q becomes %q and then %q", given, name, again)
		}
	})
}

// FuzzBase64: only base64 as the standard library writes it is accepted, perhaps with line breaks.
func FuzzBase64(f *testing.F) {
	for _, seed := range []string{"", "AA==", "AA", "AB==", "AAA=\n", "A", "data:,x", "A===", "AA=A"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, given string) {
		data, err := decoded(given)
		if err != nil {
			return
		}
		if padded, bare := encodeStd(data), encodeRaw(data); stripped(given) != padded && stripped(given) != bare {
			t.Errorf("%q is taken for %q", given, data)
		}
	})
}

func stripped(text string) string { return strings.NewReplacer("\r", "", "\n", "").Replace(text) }

func encodeStd(data []byte) string { return base64.StdEncoding.EncodeToString(data) }
func encodeRaw(data []byte) string { return base64.RawStdEncoding.EncodeToString(data) }
