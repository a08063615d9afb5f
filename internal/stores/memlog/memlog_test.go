package memlog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"remit/internal/stores/memlog"

	"github.com/google/go-cmp/cmp"
)

const name = "memory/progress_log.jsonl"

// open returns a log of a format in a folder, and closes it at the end of the test.
func open(t testing.TB, dir string, format memlog.Format) *memlog.Log {
	t.Helper()
	return openWith(t, memlog.Options{Files: memlog.Dir(dir), Name: name, Format: format})
}

func openWith(t testing.TB, o memlog.Options) *memlog.Log {
	t.Helper()
	l := memlog.New(o)
	t.Cleanup(func() { _ = l.Close() }) // some tests make it fail on purpose
	return l
}

// put appends one durable entry and returns its place.
func put(t testing.TB, l *memlog.Log, body string) memlog.Position {
	t.Helper()
	p, err := l.Append([]byte(body), true).Wait(context.Background())
	if err != nil {
		t.Fatalf("append %s: %v", body, err)
	}
	return p
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// write writes content to path, in the same inode if the file exists.
func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func same[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("%s (-want +got):\n%s", what, d)
	}
}

func TestLinesAreNumberedInTheOrderOfEachCaller(t *testing.T) {
	const callers, each = 16, 50
	dir := t.TempDir()
	l := open(t, dir, memlog.JSONLines)
	places := make([][each]memlog.Position, callers)
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			var tickets [each]*memlog.Ticket
			for i := range each {
				tickets[i] = l.Append(fmt.Appendf(nil, `{"caller":%d,"i":%d}`, c, i), i%2 == 0)
			}
			for i, ticket := range tickets {
				p, err := ticket.Wait(context.Background())
				if err != nil {
					t.Error(err)
				}
				places[c][i] = p
			}
		})
	}
	wg.Wait()

	lines := strings.Split(read(t, filepath.Join(dir, name)), "\n")
	same(t, "lines", len(lines), callers*each+1)
	for c := range callers {
		for i, p := range places[c] {
			want := fmt.Sprintf(`{"caller":%d,"i":%d}`, c, i)
			same(t, "line", lines[p.Line-1], want)
			same(t, "bytes", p.Bytes, len(want)+1)
			if i > 0 && p.Line <= places[c][i-1].Line {
				t.Fatalf("caller %d: entry %d is on line %d, after an entry on line %d", c, i, p.Line, places[c][i-1].Line)
			}
		}
	}
}

func TestTwoLogsOfOneFileInOneProcess(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir, memlog.JSONLines), open(t, dir, memlog.JSONLines)
	var got []int64
	for i := range 6 {
		got = append(got, put(t, []*memlog.Log{a, b}[i%2], `{}`).Line)
	}
	same(t, "numbers", got, []int64{1, 2, 3, 4, 5, 6})
}

func TestTextEntriesOfSeveralLines(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, memlog.Text)
	tickets := []*memlog.Ticket{
		l.Append([]byte("# One\n\ntext"), true),
		l.Append([]byte("two"), true),
		l.Append(nil, true),
		l.Append([]byte("four\n"), true),
		l.Append([]byte("five"), true),
	}
	var got []memlog.Position
	for _, ticket := range tickets {
		p, err := ticket.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, p)
	}
	same(t, "places", got, []memlog.Position{{1, 12}, {4, 4}, {5, 1}, {6, 6}, {8, 5}})
	same(t, "next", put(t, l, "six"), memlog.Position{Line: 9, Bytes: 4})
	same(t, "file", read(t, filepath.Join(dir, name)), "# One\n\ntext\ntwo\n\nfour\n\nfive\nsix\n")
}

func TestAnEntryOfJSONLinesIsOneLine(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, memlog.JSONLines)
	if _, err := l.Append([]byte("{\n}"), true).Wait(t.Context()); err == nil {
		t.Fatal("an entry of two lines was stored")
	}
	same(t, "next", put(t, l, `{}`), memlog.Position{Line: 1, Bytes: 3})
}

func TestCloseWritesWhatIsQueued(t *testing.T) {
	const n = 1000 // several batches
	dir := t.TempDir()
	l := open(t, dir, memlog.JSONLines)
	var want bytes.Buffer
	for i := range n {
		body := fmt.Sprintf(`{"i":%d}`, i)
		l.Append([]byte(body), false)
		want.WriteString(body + "\n")
	}
	for range 2 {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "file", read(t, filepath.Join(dir, name)), want.String())
	if _, err := l.Append([]byte(`{}`), true).Wait(t.Context()); !errors.Is(err, memlog.ErrClosed) {
		t.Fatalf("append after close: %v", err)
	}
}

func TestCloseOfALogThatWasNeverUsedOpensNothing(t *testing.T) {
	dir := t.TempDir()
	if err := open(t, dir, memlog.JSONLines).Close(); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Fatalf("found %v", entries)
	}
}

func TestCloseReportsUnawaitedFailures(t *testing.T) {
	dir := t.TempDir()
	inTheWay := filepath.Join(dir, "memory")
	write(t, inTheWay, "")
	l := open(t, dir, memlog.JSONLines)
	l.Append([]byte(`{}`), false)
	if _, err := l.Append([]byte(`{}`), false).Wait(t.Context()); err == nil {
		t.Fatal("a file in a file")
	}
	check(t, os.Remove(inTheWay))
	same(t, "place", put(t, l, `{}`), memlog.Position{Line: 1, Bytes: 3})
	if err := l.Close(); err == nil || !strings.HasPrefix(err.Error(), "append to "+name+": open: ") {
		t.Fatalf("close: %v", err)
	}
}

// A caller may wait for the outcome late: it gets the error then, and Close need not return it too.
func TestCloseDoesNotReportDurableFailures(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "memory"), "")
	l := open(t, dir, memlog.JSONLines)
	late := l.Append([]byte(`{}`), true)
	if _, err := l.Append([]byte(`{}`), true).Wait(t.Context()); err == nil {
		t.Fatal("a file in a file")
	}
	if err := l.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if _, err := late.Wait(t.Context()); err == nil {
		t.Error("the outcome is lost")
	}
}

func TestDirStaysBeneathItsFolder(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "target"), "")
	if err := os.Symlink("target", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"../x", "/x", "", "link"} {
		if f, err := memlog.Dir(dir).OpenAppend(bad); err == nil {
			f.Close()
			t.Errorf("opened %q", bad)
		}
	}
	f, err := memlog.Dir(dir).OpenAppend("a/b/c")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	for path, want := range map[string]os.FileMode{"a": 0o700, "a/b": 0o700, "a/b/c": 0o600} {
		info, err := os.Stat(filepath.Join(dir, path))
		if err != nil {
			t.Fatal(err)
		}
		same(t, path, info.Mode().Perm(), want)
	}
}
