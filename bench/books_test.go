//go:build linux

package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"remit/internal/toolsets/books/bookstest"
)

// bookFolder creates a library with one book of this many lessons, and returns the folders of the
// library and of the book.
func bookFolder(t *testing.T, lessons int) (library, book string) {
	t.Helper()
	library, course := t.TempDir(), t.TempDir()
	if err := os.CopyFS(course, bookstest.Course(1, lessons)); err != nil {
		t.Fatal(err)
	}
	if out, err := remit(t, "books", "import", course, "--book", "measured-book", "--books", "file://"+library).CombinedOutput(); err != nil {
		t.Fatalf("import: %v\n%s", err, out)
	}
	book = filepath.Join(library, "books", "measured-book")
	past := time.Now().Add(-time.Hour) // as in any library, nothing was changed recently
	err := filepath.WalkDir(book, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, past, past))
	})
	if err != nil {
		t.Fatal(err)
	}
	return library, book
}

// remitWithBooks returns a command that serves the books of a library on stdio.
func remitWithBooks(t *testing.T, library string) *exec.Cmd {
	t.Helper()
	return remit(t, "stdio", "--toolsets", "books", "--books", "file://"+library)
}

// TestReadContentAgainstFilesystemServer compares reading a small text and one of half a megabyte.
func TestReadContentAgainstFilesystemServer(t *testing.T) {
	skipUnlessMeasuring(t)
	library, book := bookFolder(t, 1)
	for name, size := range map[string]int{"small.md": 4 << 10, "large.md": 500 << 10} {
		if err := os.WriteFile(filepath.Join(book, name), prose(size), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	theirs := startStdio(t, officialServer(t, "server-filesystem", book))
	ours := startStdio(t, remitWithBooks(t, library))
	ask := func(tool, arguments string) question {
		return question{"tools/call", `{"name":"` + tool + `","arguments":` + arguments + `}`, `"structuredContent":{"content":"`}
	}
	read := func(name string) question {
		return ask("read_content", `{"book_id":"measured-book","path":"`+name+`"}`)
	}
	peer := func(name string) question {
		return ask("read_text_file", `{"path":`+quoted(filepath.Join(book, name))+`}`)
	}
	const small, smallPeer, big, bigPeer = 0, 1, 2, 3
	contenders := []contender{
		small:     ours.contender("read_content, 4 KB", read("small.md")),
		smallPeer: theirs.contender("read_text_file, 4 KB", peer("small.md")),
		big:       ours.contender("read_content, 500 KB", read("large.md")),
		bigPeer:   theirs.contender("read_text_file, 500 KB", peer("large.md")),
	}
	compareContenders(t, contenders, []limit{
		{what: "calls/s of 4 KB against server-filesystem", ratio: func(r []speed) float64 { return r[small].rate / r[smallPeer].rate }, min: 3},
		{what: "calls/s of 500 KB against server-filesystem", ratio: func(r []speed) float64 { return r[big].rate / r[bigPeer].rate }, min: 2},
		{what: "CPU of 500 KB against server-filesystem", ratio: func(r []speed) float64 { return r[big].cpu / r[bigPeer].cpu }, max: 1},
	})
}

// prose returns Markdown of about this size.
func prose(size int) []byte {
	const paragraph = "## A heading\n\nA sentence of a lesson, with `code`, a [link](other.md) and \"quotes\".\n\n```python\nprint(\"Hello\")\n```\n\n"
	return []byte(strings.Repeat(paragraph, 1+size/len(paragraph)))[:size]
}

func quoted(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// compareTimes runs two ways to get the same answer alternately, and changes the order in every
// other round. In the median, theirs must take at least this many times as long as ours.
func compareTimes(t *testing.T, what string, least float64, rounds int, ours, theirs func() error) {
	t.Helper()
	if longRun() {
		rounds *= 4
	}
	var mine, other []time.Duration
	var ratios []float64
	for n := range rounds {
		var a, b time.Duration
		if n%2 == 0 {
			a, b = timed(t, ours), timed(t, theirs)
		} else {
			b, a = timed(t, theirs), timed(t, ours)
		}
		mine, other, ratios = append(mine, a), append(other, b), append(ratios, float64(b)/float64(a))
	}
	slices.Sort(ratios)
	ratio := ratios[len(ratios)/2]
	t.Logf("%-44s %6.1f ms, theirs %6.1f ms: %4.1fx (at least %.1fx) in the median of %d rounds",
		what, 1000*median(mine).Seconds(), 1000*median(other).Seconds(), ratio, least, len(ratios))
	if ratio < least {
		t.Errorf("%s: below the limit: %.2fx", what, ratio)
	}
}

// reply returns the whole answer to a call.
func (s *stdioServer) reply(tool, arguments string) ([]byte, error) {
	if err := s.ask(question{"tools/call", `{"name":"` + tool + `","arguments":` + arguments + `}`, ""}); err != nil {
		return nil, err
	}
	for {
		line, err := s.in.ReadSlice('\n')
		if err != nil || bytes.Contains(line, []byte(`"structuredContent":`)) {
			return line, err
		}
	}
}

// found returns the elements of the list in an answer, and whether there are more.
func found[T any](t *testing.T, s *stdioServer, tool, arguments string) (list []T, more bool) {
	t.Helper()
	line, err := s.reply(tool, arguments)
	if err != nil {
		t.Fatal(err)
	}
	var message struct {
		Result struct {
			Meta       map[string]any       `json:"_meta"`
			Structured struct{ Result []T } `json:"structuredContent"`
		}
	}
	if err := json.Unmarshal(line, &message); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return message.Result.Structured.Result, message.Result.Meta["io.remit/truncated"] == true
}

// runIn runs a program in a folder and returns its output. Finding nothing is not an error.
func runIn(dir, program string, args ...string) ([]byte, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == 1 {
		return out, nil
	}
	return out, err
}

// linesOf returns the sorted lines of a program's output.
func linesOf(t *testing.T, dir, program string, args ...string) []string {
	t.Helper()
	out, err := runIn(dir, program, args...)
	if err != nil {
		t.Fatalf("%s %q: %v", program, args, err)
	}
	if len(out) == 0 {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	slices.Sort(lines)
	return lines
}

// ripgrep returns the path of ripgrep, which searches are compared with.
func ripgrep(t *testing.T) string {
	t.Helper()
	folder := filepath.Join("peers", "node_modules", "@vscode", "ripgrep-linux-x64")
	install(t, folder)
	path, err := filepath.Abs(filepath.Join(folder, "bin", "rg"))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestGrepAgainstRipgrep: with the text of a book in memory, a search finds the same as ripgrep, at
// least as fast, over stdio and over HTTP.
func TestGrepAgainstRipgrep(t *testing.T) {
	skipUnlessMeasuring(t)
	library, _ := bookFolder(t, 500)
	rg := ripgrep(t)
	ours := startStdio(t, remitWithBooks(t, library))
	web := startHTTP(t, remit(t, "serve", "--addr", "127.0.0.1:0", "--toolsets", "books", "--books", "file://"+library))
	for _, p := range []struct{ what, pattern string }{
		{"a rare literal", "def lesson_217"},
		{"a common literal", "exercise"},
		{"no match", "no such words anywhere"},
		{"ignoring case", "(?i)DEF LESSON_217"},
		{"common, ignoring case", "(?i)EXERCISE"},
		{"an alternation", "lesson_217|lesson_301|lesson_404"},
		{"a common alternation", "bucket|digest|fixture"},
		{"an expression with a literal", `agent\.call\(\d+7\)`},
		{"an expression without a literal", `[A-Z][a-z]+ \d{3}`},
		{"the start of lines", "^> Try it"},
		{"words", `\bretry\b.*\bhash\b`},
		{"non-ASCII letters", `[^\x00-\x7f]`},
	} {
		arguments := fmt.Sprintf(`{"book_id":"measured-book","max_results":1000,"pattern":%s}`, quoted(p.pattern))
		search := []string{"-n", "--no-heading", "-g", "*.md", "--no-ignore", "--hidden", p.pattern, "books/measured-book"}
		lines := sameLines(t, ours, arguments, linesOf(t, library, rg, search...))
		theirs := func() error { _, err := runIn(library, rg, search...); return err }
		overStdio := func() error { _, err := ours.reply("grep_search", arguments); return err }
		compareTimes(t, fmt.Sprintf("%s, %d lines", p.what, lines), 1, 15, overStdio, theirs)
		overHTTP := func() error { return web.grep(t, arguments) }
		compareTimes(t, "  over HTTP", 1, 15, overHTTP, theirs)
	}
}

// grep searches over a new connection, like curl.
func (s *httpServer) grep(t *testing.T, arguments string) error {
	t.Helper()
	answer, err := s.do(t.Context(), http.MethodPost, "/tools/grep_search", http.Header{}, arguments, http.StatusOK)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return errors.Join(err, answer.Body.Close())
}

// sameLines compares a search with the sorted lines of ripgrep, and returns how many lines the
// answer has: all of them, or those that fit.
func sameLines(t *testing.T, s *stdioServer, arguments string, want []string) int {
	t.Helper()
	type match struct {
		Path   string `json:"file_path"`
		Number int    `json:"line_number"`
		Line   string `json:"matched_line"`
	}
	matches, more := found[match](t, s, "grep_search", arguments)
	for _, m := range matches {
		if _, ok := slices.BinarySearch(want, fmt.Sprintf("%s:%d:%s", m.Path, m.Number, m.Line)); !ok {
			t.Errorf("%s: ripgrep does not find %+v", arguments, m)
		}
	}
	if more != (len(matches) < len(want)) {
		t.Errorf("%s: found %d lines, ripgrep %d; more: %v", arguments, len(matches), len(want), more)
	}
	return len(matches)
}

// fd returns the path of fd, which searches for names are compared with. Debian calls it fdfind.
func fd(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"fdfind", "fd"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	skipOutsideCI(t, "the comparison with fd", "install Debian's package fd-find")
	return ""
}

// TestGlobAgainstFd: glob_search finds the same files as fd, at least as fast.
func TestGlobAgainstFd(t *testing.T) {
	skipUnlessMeasuring(t)
	library, book := bookFolder(t, 500)
	program := fd(t)
	ours := startStdio(t, remitWithBooks(t, library))
	for _, pattern := range []string{"**/*.md", "lessons/**/*7.md", "lessons/*/*", "**/lesson-0?.md", "nothing/**"} {
		arguments := fmt.Sprintf(`{"book_id":"measured-book","pattern":%s}`, quoted(pattern))
		search := []string{"--hidden", "--no-ignore", "--type", "f", "--full-path", "--glob", book + "/" + pattern, "books/measured-book"}
		files, _ := found[string](t, ours, "glob_search", arguments)
		if want := linesOf(t, library, program, search...); !slices.Equal(files, want) {
			t.Errorf("%s: found %d files, fd %d", pattern, len(files), len(want))
		}
		compareTimes(t, fmt.Sprintf("%s, %d files", pattern, len(files)), 1, 15,
			func() error { _, err := ours.reply("glob_search", arguments); return err },
			func() error { _, err := runIn(library, program, search...); return err })
	}
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}
