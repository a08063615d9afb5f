//go:build linux

package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"remit/internal/toolsets/books/bookstest"
)

// bookFolder makes a library with one book of so many lessons, and gives the folder
// of the library and that of the book.
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
	past := time.Now().Add(-time.Hour) // as in any library, nothing has changed just now
	err := filepath.WalkDir(book, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, past, past))
	})
	if err != nil {
		t.Fatal(err)
	}
	return library, book
}

// remitWithBooks serves the books of a library on stdio.
func remitWithBooks(t *testing.T, library string) *exec.Cmd {
	t.Helper()
	return remit(t, "stdio", "--toolsets", "books", "--books", "file://"+library)
}

// TestReadContentAgainstFilesystemServer compares reading a text: a small one, and one
// of half a megabyte.
func TestReadContentAgainstFilesystemServer(t *testing.T) {
	measures(t)
	library, book := bookFolder(t, 1)
	for name, size := range map[string]int{"small.md": 4 << 10, "large.md": 500 << 10} {
		if err := os.WriteFile(filepath.Join(book, name), prose(size), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	theirs := startStdio(t, official(t, "server-filesystem", book))
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
	lanes := []lane{
		small:     ours.lane("read_content, 4 KB", read("small.md")),
		smallPeer: theirs.lane("read_text_file, 4 KB", peer("small.md")),
		big:       ours.lane("read_content, 500 KB", read("large.md")),
		bigPeer:   theirs.lane("read_text_file, 500 KB", peer("large.md")),
	}
	contest(t, lanes, []bar{
		{what: "calls/s of 4 KB against server-filesystem", ratio: func(r []pace) float64 { return r[small].rate / r[smallPeer].rate }, least: 3},
		{what: "calls/s of 500 KB against server-filesystem", ratio: func(r []pace) float64 { return r[big].rate / r[bigPeer].rate }, least: 2},
		{what: "CPU of 500 KB against server-filesystem", ratio: func(r []pace) float64 { return r[big].cpu / r[bigPeer].cpu }, most: 1},
	})
}

// prose is Markdown of about this size.
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

// duel lets two ways to the same answer take turns, and gives how much longer theirs
// takes than ours in the median.
func duel(t *testing.T, what string, ours, theirs func()) float64 {
	t.Helper()
	took := func(run func()) float64 {
		start := time.Now()
		run()
		return time.Since(start).Seconds()
	}
	rounds := 15
	if long() {
		rounds = 51
	}
	var mine, other, ratios []float64
	for range rounds {
		a, b := took(ours), took(theirs)
		mine, other, ratios = append(mine, a), append(other, b), append(ratios, b/a)
	}
	slices.Sort(mine)
	slices.Sort(other)
	slices.Sort(ratios)
	ratio := ratios[len(ratios)/2]
	t.Logf("%-34s %6.2f ms, theirs %6.2f ms: %.1fx", what, 1000*mine[rounds/2], 1000*other[rounds/2], ratio)
	return ratio
}

// told asks a server and gives the text of its answer, with what it was cut from.
func (s *stdioServer) told(t *testing.T, tool, arguments string) (text string, truncated bool) {
	t.Helper()
	if err := s.ask(question{"tools/call", `{"name":"` + tool + `","arguments":` + arguments + `}`, ""}); err != nil {
		t.Fatal(err)
	}
	for {
		line, err := s.in.ReadSlice('\n')
		if err != nil {
			t.Fatal(err)
		}
		var message struct {
			Result struct {
				Content []struct{ Text string }
				Meta    map[string]any `json:"_meta"`
			}
		}
		if err := json.Unmarshal(line, &message); err != nil {
			t.Fatal(err)
		}
		if len(message.Result.Content) == 1 {
			return message.Result.Content[0].Text, message.Result.Meta["io.remit/truncated"] == true
		}
	}
}

// output runs a program and gives its lines, sorted. To find nothing is no failure.
func output(t *testing.T, dir, program string, args ...string) []string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("%s %q: %v", program, args, err)
	}
	if len(out) == 0 {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	slices.Sort(lines)
	return lines
}

// ripgrep is the program to beat.
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

// TestGrepAgainstRipgrep: with the text of a book in memory, a search finds what
// ripgrep finds, at least as fast.
func TestGrepAgainstRipgrep(t *testing.T) {
	measures(t)
	library, _ := bookFolder(t, 500)
	rg := ripgrep(t)
	ours := startStdio(t, remitWithBooks(t, library))
	for _, p := range []struct{ what, pattern string }{
		{"a rare literal", "lesson 217"},
		{"a common literal", "exercise"},
		{"without regard to case", "(?i)EXERCISE 3"},
		{"an alternation", "generator|decorator|closure"},
		{"an expression with a literal", `lesson-\d+7\.md`},
		{"an expression without", `[A-Z][a-z]+ \d{3}`},
		{"nothing to find", "no such words anywhere"},
	} {
		arguments := fmt.Sprintf(`{"book_id":"measured-book","max_results":1000,"pattern":%s}`, quoted(p.pattern))
		found := grepLines(t, ours, arguments)
		theirs := func() []string {
			return output(t, library, rg, "-n", "--no-heading", "-g", "*.md", "--no-ignore", "--hidden", p.pattern, "books/measured-book")
		}
		if want := theirs(); !slices.Equal(found, want) && len(want) <= 1000 {
			t.Errorf("%s: %d lines are found, and %d by ripgrep", p.what, len(found), len(want))
		}
		ratio := duel(t, fmt.Sprintf("%s, %d lines", p.what, len(found)), func() { ours.told(t, "grep_search", arguments) }, func() { theirs() })
		if ratio < 1 {
			t.Errorf("%s: ripgrep is faster: %.2fx", p.what, ratio)
		}
	}
}

// grepLines are the matches as ripgrep writes them, sorted.
func grepLines(t *testing.T, s *stdioServer, arguments string) []string {
	t.Helper()
	text, _ := s.told(t, "grep_search", arguments)
	var matches []struct {
		Path   string `json:"file_path"`
		Number int    `json:"line_number"`
		Line   string `json:"matched_line"`
	}
	if err := json.Unmarshal([]byte(text), &matches); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	var lines []string
	for _, m := range matches {
		lines = append(lines, fmt.Sprintf("%s:%d:%s", m.Path, m.Number, m.Line))
	}
	slices.Sort(lines)
	return lines
}

// fd is the program to beat where names are looked for; Debian calls it fdfind.
func fd(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"fdfind", "fd"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	leaveOut(t, "the comparison with fd", "install Debian's package fd-find")
	return ""
}

// TestGlobAgainstFd: files are found by their names as fd finds them, at least as fast.
func TestGlobAgainstFd(t *testing.T) {
	measures(t)
	library, book := bookFolder(t, 500)
	program := fd(t)
	ours := startStdio(t, remitWithBooks(t, library))
	for _, pattern := range []string{"**/*.md", "lessons/**/*7.md", "lessons/*/*", "**/lesson-0?.md", "nothing/**"} {
		arguments := fmt.Sprintf(`{"book_id":"measured-book","pattern":%s}`, quoted(pattern))
		text, _ := ours.told(t, "glob_search", arguments)
		var found []string
		if err := json.Unmarshal([]byte(text), &found); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		theirs := func() []string {
			return output(t, library, program, "--hidden", "--no-ignore", "--type", "f", "--full-path", "--glob", book+"/"+pattern, "books/measured-book")
		}
		if want := theirs(); !slices.Equal(found, want) {
			t.Errorf("%s: %d files are found, and %d by fd", pattern, len(found), len(want))
		}
		ratio := duel(t, fmt.Sprintf("%s, %d files", pattern, len(found)), func() { ours.told(t, "glob_search", arguments) }, func() { theirs() })
		if ratio < 1 {
			t.Errorf("%s: fd is faster: %.2fx", pattern, ratio)
		}
	}
}
