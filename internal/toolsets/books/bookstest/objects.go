package bookstest

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"remit/internal/toolsets/books"
)

const lesson = "books/ai-native-python/lessons/part-1/01.md"

func putAndGet(t *testing.T, s books.Store) {
	for key, content := range map[string]string{
		"registry.yaml": "books: []\n", lesson: "# One\r\n\x00\xff", "books/b/.hidden": "x", "books/b/a_B-9.": "y",
		".history/b/log/lessons/01.md/1.json": "{}",
	} {
		stored, created, err := putIf(t, s, key, content, books.Cond{})
		if err != nil || !created || stored.Hash != HashOf(content) {
			t.Errorf("put %s: %+v, created %v, error %v", key, stored, created, err)
		}
		describes(t, stored, key, content)
		holds(t, s, key, content)
	}
	lacks(t, s, "books/ai-native-python/lessons/part-1")
	lacks(t, s, "books/ai-native-python/lessons/part-1/01.md/x")
	lacks(t, s, "books/ai-native-python/lessons/part-1/0")
	lacks(t, s, "books/none/01.md")
}

func replace(t *testing.T, s books.Store) {
	put(t, s, lesson, "a longer one")
	stored, created, err := putIf(t, s, lesson, "short", books.Cond{})
	if err != nil || created || stored.Hash != HashOf("short") {
		t.Errorf("replaced: %+v, created %v, error %v", stored, created, err)
	}
	holds(t, s, lesson, "short")
	equal(t, keys(t, s, ""), []string{lesson})
}

func emptyStore(t *testing.T, s books.Store) {
	lacks(t, s, lesson)
	equal(t, keys(t, s, ""), []string(nil))
	equal(t, keys(t, s, "books/b/"), []string(nil))
	existed, err := s.Delete(t.Context(), lesson, books.Cond{})
	if existed || err != nil {
		t.Errorf("delete: existed %v, error %v", existed, err)
	}
	if s.Name() == "" {
		t.Error("it has no name")
	}
}

func sizes(t *testing.T, s books.Store) {
	for name, size := range map[string]int{"none": 0, "one": 1, "block": 128 << 10, "more": 128<<10 + 1, "large": 9 << 20} {
		key, content := "books/b/"+name, noise(size)
		stored := put(t, s, key, content)
		if stored.Hash != HashOf(content) {
			t.Errorf("%s: the hash is %s", name, stored.Hash)
		}
		holds(t, s, key, content)
	}
}

func longKeys(t *testing.T, s books.Store) {
	for _, key := range []string{
		"books/b/" + strings.Repeat("n", 255),
		"books/b/" + strings.Repeat(strings.Repeat("d", 120)+"/", 5) + strings.Repeat("n", 200),
		"books/b/" + strings.Repeat("d/", 100) + "n",
	} {
		put(t, s, key, key)
		holds(t, s, key, key)
		equal(t, keys(t, s, key[:len(key)-1]), []string{key})
	}
}

// wrongSize also uses readers that report their end in several ways.
func wrongSize(t *testing.T, s books.Store) {
	put(t, s, lesson, "old")
	large := noise(300 << 10)
	for _, c := range []struct {
		name    string
		content string
		size    int64
	}{
		{"short", "new", 4},
		{"long", "new", 2},
		{"nothing was announced", "new", 0},
		{"nothing came", "", 1},
		{"large and short", large, int64(len(large)) + 1},
		{"large and long", large, int64(len(large)) - 1},
	} {
		for _, key := range []string{lesson, "books/new/x"} {
			for _, reading := range []func(io.Reader) io.Reader{
				func(r io.Reader) io.Reader { return r }, // a reader that can seek
				iotest.DataErrReader, iotest.HalfReader,
			} {
				_, _, err := s.Put(t.Context(), key, reading(strings.NewReader(c.content)), c.size, books.Cond{})
				if err == nil || errors.Is(err, books.ErrConflict) {
					t.Errorf("%s to %s: error %v", c.name, key, err)
				}
			}
		}
	}
	endless := &counted{Reader: zeros{}}
	if _, _, err := s.Put(t.Context(), lesson, io.LimitReader(endless, 2<<20), 3, books.Cond{}); err == nil || endless.given > 1<<20 {
		t.Errorf("endless: %d bytes were read, error %v", endless.given, err)
	}
	holds(t, s, lesson, "old")
	equal(t, keys(t, s, ""), []string{lesson})
}

// zeros is an endless reader of zeros.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// counted counts the bytes that were read.
type counted struct {
	io.Reader
	given int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.given += n
	return n, err
}

func readerFails(t *testing.T, s books.Store) {
	put(t, s, lesson, "old")
	broken := errors.New("the line is dead")
	for _, key := range []string{lesson, "books/new/x"} {
		r := io.MultiReader(strings.NewReader("new"), iotest.ErrReader(broken))
		if _, _, err := s.Put(t.Context(), key, r, 6, books.Cond{}); !errors.Is(err, broken) {
			t.Errorf("put %s: error %v", key, err)
		}
	}
	holds(t, s, lesson, "old")
	equal(t, keys(t, s, ""), []string{lesson})
}

func cancelled(t *testing.T, s books.Store) {
	put(t, s, lesson, "old")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, putErr := s.Put(ctx, lesson, strings.NewReader("new"), 3, books.Cond{})
	_, openErr := s.Open(ctx, lesson)
	_, statErr := s.Stat(ctx, lesson)
	_, deleteErr := s.Delete(ctx, lesson, books.Cond{})
	var listErr error
	for _, err := range s.List(ctx, "") {
		listErr = err
	}
	for act, err := range map[string]error{
		"put": putErr, "open": openErr, "stat": statErr, "delete": deleteErr, "list": listErr,
		"copy": s.Copy(ctx, lesson, "books/b/copy", HashOf("old")),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v, want context.Canceled", act, err)
		}
	}
	holds(t, s, lesson, "old")
	equal(t, keys(t, s, ""), []string{lesson})
}

// cancelling cancels its context during Read.
type cancelling struct {
	io.Reader
	cancel func()
}

func (c cancelling) Read(p []byte) (int, error) {
	c.cancel()
	return c.Reader.Read(p)
}

func cancelledWhileReading(t *testing.T, s books.Store) {
	put(t, s, lesson, "old")
	for _, key := range []string{lesson, "books/new/x"} {
		ctx, cancel := context.WithCancel(t.Context())
		_, _, err := s.Put(ctx, key, cancelling{strings.NewReader("new"), cancel}, 3, books.Cond{})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("put %s: error %v, want context.Canceled", key, err)
		}
	}
	holds(t, s, lesson, "old")
	equal(t, keys(t, s, ""), []string{lesson})
}

func seek(t *testing.T, s books.Store) {
	content := noise(1 << 20)
	put(t, s, lesson, content)
	body := open(t, s, lesson)
	for _, c := range []struct {
		offset       int64
		whence, size int
		at           int
	}{
		{0, io.SeekStart, 10, 0},
		{5, io.SeekCurrent, 10, 15},
		{-7, io.SeekEnd, 7, 1<<20 - 7},
		{512 << 10, io.SeekStart, 300 << 10, 512 << 10},
		{-(812 << 10), io.SeekCurrent, 1, 0},
	} {
		at, err := body.Seek(c.offset, c.whence)
		if err != nil || at != int64(c.at) {
			t.Fatalf("seek %d from %d: at %d, error %v", c.offset, c.whence, at, err)
		}
		got := make([]byte, c.size)
		if _, err := io.ReadFull(body, got); err != nil || string(got) != content[c.at:c.at+c.size] {
			t.Errorf("%d bytes at %d differ, error %v", c.size, c.at, err)
		}
	}
	if end, err := body.Seek(0, io.SeekEnd); err != nil || end != int64(len(content)) {
		t.Errorf("the end is at %d, want %d, error %v", end, len(content), err)
	}
	if n, err := body.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %d bytes, error %v", n, err)
	}
	if _, err := body.Seek(-1, io.SeekStart); err == nil {
		t.Error("it went before the start")
	}
}

// readWhileReplaced checks that a reader gets the rest of the content it began with, or an error if
// the content is gone.
func readWhileReplaced(t *testing.T, s books.Store) {
	before, after := strings.Repeat("old ", 128<<10), strings.Repeat("new ", 128<<10)
	put(t, s, lesson, before)
	body := open(t, s, lesson)
	begun := make([]byte, 1000)
	if _, err := io.ReadFull(body, begun); err != nil {
		t.Fatal(err)
	}
	put(t, s, lesson, after)
	rest, err := io.ReadAll(body)
	if got := string(begun) + string(rest); err == nil && got != before || !strings.HasPrefix(before, got) {
		t.Errorf("read %q and %q, error %v", short(string(begun)), short(string(rest)), err)
	}
	holds(t, s, lesson, after)
}

func versions(t *testing.T, s books.Store) {
	seen := map[string]string{}
	for _, content := range []string{"one", "two", "six", "ten", "", "three"} {
		stored := put(t, s, lesson, content)
		if other, taken := seen[stored.Version]; taken {
			t.Errorf("%q has the version of %q", content, other)
		}
		seen[stored.Version] = content
		at, err := s.Stat(t.Context(), lesson)
		if err != nil {
			t.Fatal(err)
		}
		listed := books.Object{}
		for o := range s.List(t.Context(), lesson) {
			listed = o
		}
		for act, o := range map[string]books.Object{"stat": at, "open": open(t, s, lesson).Object, "list": listed} {
			describes(t, o, lesson, content)
			if o.Version != stored.Version {
				t.Errorf("%s: %q has version %s, and was stored as %s", act, content, o.Version, stored.Version)
			}
		}
	}
}

func deleteOnce(t *testing.T, s books.Store) {
	put(t, s, lesson, "x")
	put(t, s, "books/b/kept", "y")
	for i, want := range []bool{true, false} {
		existed, err := s.Delete(t.Context(), lesson, books.Cond{})
		if err != nil || existed != want {
			t.Errorf("delete %d: existed %v, error %v", i, existed, err)
		}
		lacks(t, s, lesson)
	}
	for _, key := range []string{"books/b", "books/b/", "books", "books/b/kept/x", "books/b/kep"} {
		if existed, err := s.Delete(t.Context(), key, books.Cond{}); existed || err != nil {
			t.Errorf("delete %s: existed %v, error %v", key, existed, err)
		}
	}
	holds(t, s, "books/b/kept", "y")
	_, created, err := putIf(t, s, lesson, "again", books.Cond{Absent: true})
	if err != nil || !created {
		t.Errorf("put again: created %v, error %v", created, err)
	}
}

func copies(t *testing.T, s books.Store) {
	for name, content := range map[string]string{"none": "", "text": "# One\n", "large": noise(3 << 20)} {
		from, to := "books/b/"+name, ".history/b/objects/"+HashOf(content)
		put(t, s, from, content)
		for range 2 {
			if err := s.Copy(t.Context(), from, to, HashOf(content)); err != nil {
				t.Fatalf("copy %s: %v", name, err)
			}
			holds(t, s, from, content)
			holds(t, s, to, content)
		}
		put(t, s, from, "another")
		holds(t, s, to, content)
	}
	at, err := s.Stat(t.Context(), "books/b/text")
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, "books/b/there", "stays")
	if err := s.Copy(t.Context(), "books/b/text", "books/b/there", HashOf("another")); err != nil {
		t.Error(err)
	}
	holds(t, s, "books/b/there", "stays")
	if now, err := s.Stat(t.Context(), "books/b/text"); err != nil || now.Version != at.Version {
		t.Errorf("what was copied is %+v, was %+v, error %v", now, at, err)
	}
}

func copyConflicts(t *testing.T, s books.Store) {
	put(t, s, lesson, "new")
	put(t, s, "books/b/there", "stays")
	for _, to := range []string{"books/b/copy", "books/b/there"} {
		conflicts(t, "copy another content to "+to, s.Copy(t.Context(), lesson, to, HashOf("old")), HashOf("new"))
		conflicts(t, "copy nothing to "+to, s.Copy(t.Context(), "books/b/none", to, HashOf("old")), "")
	}
	equal(t, keys(t, s, ""), []string{lesson, "books/b/there"})
	holds(t, s, "books/b/there", "stays")
}
