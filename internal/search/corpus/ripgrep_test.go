package corpus

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// ripgrep returns the path of ripgrep, which comes with the benchmarks.
func ripgrep(t testing.TB) string {
	t.Helper()
	name, err := filepath.Abs("../../../bench/peers/node_modules/@vscode/ripgrep-linux-x64/bin/rg")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(name); err != nil {
		t.Skip("NOT TESTED AGAINST RIPGREP: run `npm ci` in bench/peers to install it")
	}
	return name
}

// grep returns the lines that ripgrep finds, in the order of Search.
func grep(t testing.TB, root, expression string, ignoreCase bool) []string {
	t.Helper()
	args := []string{"--no-config", "--hidden", "--no-heading", "--no-require-git", "--color=never", "-n", "-s"}
	if ignoreCase {
		args = append(args, "-i")
	}
	for _, folder := range []string{"node_modules", ".git", "dist", "build", ".next", ".context"} {
		args = append(args, "--glob", "!**/"+folder+"/**")
	}
	cmd := exec.Command(ripgrep(t), append(args, "-e", expression, ".")...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("%v: %v", cmd, err)
	}
	var hits []ripgrepped
	for line := range bytes.Lines(out) {
		if h, ok := parseHit(string(line)); ok {
			hits = append(hits, h)
		}
	}
	slices.SortFunc(hits, func(a, b ripgrepped) int {
		return cmp.Or(strings.Compare(a.path, b.path), cmp.Compare(a.number, b.number))
	})
	lines := make([]string, len(hits))
	for i, h := range hits {
		lines[i] = h.path + ":" + strconv.Itoa(h.number) + ":" + h.text
	}
	return lines
}

type ripgrepped struct {
	path   string
	number int
	text   string
}

// parseHit parses a line of ripgrep's output. Messages about binary files are not hits.
func parseHit(line string) (h ripgrepped, ok bool) {
	path, rest, _ := strings.Cut(strings.TrimPrefix(line, "./"), ":")
	number, text, _ := strings.Cut(rest, ":")
	n, err := strconv.Atoi(number)
	return ripgrepped{path, n, contextLine([]byte(strings.TrimSuffix(text, "\n")))}, err == nil
}

// oraclePatterns covers all kinds of patterns whose meaning is the same in our syntax and in
// ripgrep's.
var oraclePatterns = []struct {
	expression string
	ignoreCase bool
}{
	{"quixotic", false},
	{"Println", false},
	{"return", false},
	{"println", true},
	{"KELVIN", true},
	{"ſ", true},
	{"mask", true},
	{"nowhere-to-be-found", false},
	{"zz", false},
	{"q", false},
	{"\t\t\t\t\t", false},
	{"世界", false},
	{"é", true},
	{"quixotic|zephyr|xylophone", false},
	{"Unmarshal|Deadline|Semaphore|Mutex|WaitGroup|Context", false},
	{"foo|bar|baz", true},
	{`func [A-Za-z]+Handler\(`, false},
	{`if err != nil \{`, false},
	{`[a-z]+Error\(`, true},
	{`TODO\([a-z]+\)`, false},
	{`TODO.*bug`, true},
	{`"[^"]+"\.?$`, false},
	{`^package [a-z]+$`, false},
	{`^$`, false},
	{`^\t`, false},
	{`^#+ `, false},
	{`\}$`, false},
	{`[A-Z][a-z]+[0-9]{3}`, false},
	{`[xq]{3}[0-9]`, false},
	{`[0-9a-f]{16}`, true},
	{`a.b.c.d`, false},
	{`(a|b|c)(d|e|f)(g|h|i)x`, false},
	{`e`, false},
	{`x{2,}`, false},
	{`(?i)http(s)?://`, false},
	{`[[:upper:]]{12}`, false},
	{`//.*[.]$`, false},
	{`case '.':`, false},
	{`0x[0-9a-fA-F]+,$`, false},
	{`s[eé]`, true},
}

// TestLikeRipgrep checks that on Go's source a search finds the same lines as ripgrep, before and
// after the trigrams are built.
func TestLikeRipgrep(t *testing.T) {
	root := filepath.Join(goSource(t), "text", "template")
	if os.Getenv("REMIT_FULL") == "true" {
		root = goSource(t)
	}
	c := open(t, root, Options{})
	for _, p := range oraclePatterns {
		t.Run(strings.ReplaceAll(p.expression, "/", "_")+" "+strconv.FormatBool(p.ignoreCase), func(t *testing.T) {
			want := grep(t, root, p.expression, p.ignoreCase)
			got, sum := c.search(t, Query{Pattern: pattern(t, p.expression, p.ignoreCase)})
			same(t, "first", firstBytes(got), firstBytes(want))
			if sum.Matches != len(want) {
				t.Errorf("%d matches, wanted %d", sum.Matches, len(want))
			}
			c.maintained()
			got, _ = c.search(t, Query{Pattern: pattern(t, p.expression, p.ignoreCase)})
			same(t, "with trigrams", firstBytes(got), firstBytes(want))
		})
	}
}

// firstBytes cuts very long lines to a prefix that does not depend on the place of the match.
func firstBytes(lines []string) []string {
	short := make([]string, len(lines))
	for i, l := range lines {
		short[i] = l
		if len(l) >= maxLineBytes {
			path, number := place(l)
			short[i] = path + ":" + strconv.Itoa(number) + ": a long line"
		}
	}
	return short
}

// TestUnusualTextsLikeRipgrep checks that texts with byte order marks, or with NULs early or late,
// are searched as ripgrep does. Files with long lines have folders of their own, because ripgrep
// keeps the buffer that it enlarged for one and reads larger blocks afterwards.
func TestUnusualTextsLikeRipgrep(t *testing.T) {
	line := "a needle in a line of text" + strings.Repeat(" of some length", 10) + "\n"
	long := strings.Repeat("x", 100<<10) + "\n"
	zeros := map[string]string{}
	for _, zero := range []int{10, 8191, 8192, 60000, 65535, 65536, 66000, 131000, 131072, 200000} {
		content := []byte(strings.Repeat(line, 1300))
		content[zero] = 0
		zeros[strconv.Itoa(zero)] = string(content)
	}
	marks := map[string]string{}
	for _, text := range []string{"needle\nno\nneedle \U0001f600 ö\r\nneedle", "", "needle", "\nneedle\x00\n", strings.Repeat(line, 400)} {
		little, big := utf16(text)
		n := strconv.Itoa(len(text))
		marks["little/"+n] = "\xff\xfe" + little
		marks["big/"+n] = "\xfe\xff" + big
		marks["odd/"+n] = "\xff\xfe" + little + "x"
		marks["half/"+n] = "\xff\xfe" + little + "\x00\xd8"
		marks["broken/"+n] = "\xff\xfe" + "\x00\xd8" + little + "\x00\xdc" + little
		marks["mark/"+n] = "\xef\xbb\xbf" + text
		marks["plain/"+n] = text
	}
	for name, files := range map[string]map[string]string{
		"zeros":  zeros,
		"marks":  marks,
		"long":   {"a": strings.Repeat(line, 100) + long + strings.Repeat(line, 1500) + "\x00" + line},
		"longer": {"a": line + strings.Repeat(long, 3) + strings.Repeat(line, 5000) + "\x00" + line},
	} {
		t.Run(name, func(t *testing.T) { compareTexts(t, files, 0) })
		t.Run(name+" on disk", func(t *testing.T) { compareTexts(t, files, 1) })
	}
}

func compareTexts(t *testing.T, files map[string]string, budget int64) {
	root := t.TempDir()
	for path, content := range files {
		write(t, root, path, content)
	}
	c := open(t, root, Options{Budget: budget})
	want := grep(t, root, "^.?(a )?needle", false)
	for _, when := range []string{"at first", "again"} {
		got, _ := c.search(t, Query{Pattern: pattern(t, "^.?(a )?needle", false)})
		same(t, when, got, want)
		c.maintained()
	}
}

// utf16 encodes a text in both byte orders.
func utf16(text string) (little, big string) {
	var l, b []byte
	for _, r := range text {
		units := []rune{r}
		if r >= 0x10000 {
			units = []rune{0xD800 + (r-0x10000)>>10, 0xDC00 + (r-0x10000)&0x3FF}
		}
		for _, u := range units {
			l = append(l, byte(u), byte(u>>8))
			b = append(b, byte(u>>8), byte(u))
		}
	}
	return string(l), string(b)
}
