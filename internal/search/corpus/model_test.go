package corpus

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"remit/internal/search/tree"
)

// A randomTree is a folder whose files are created, changed and removed at random.
type randomTree struct {
	t      *testing.T
	root   string
	random *rand.Rand
}

var (
	treePatterns = []string{"kraut", "unkraut|rose", `\brose\b`, "(?i)TULPE", "(?i)kirsche", "o", "^$", ".", `[a-z]+\d{2}`, "nirgends", "ö", "(?i)ſ"}
	treeGlobs    = []string{"", "", "", "**/*.md", "beet/**", "*.txt", "keine/**"}
)

func (g *randomTree) text() string {
	words := strings.Fields("kraut unkraut rose Rosen Tulpe kirsche KIRSCHE \u212airsche o42 möhre auſ x y z")
	var b strings.Builder
	for range g.random.IntN(40) {
		for range g.random.IntN(6) {
			b.WriteString(words[g.random.IntN(len(words))] + " ")
		}
		b.WriteString([]string{"\n", "\n", "\r\n", ""}[g.random.IntN(4)])
	}
	if g.random.IntN(20) == 0 {
		b.WriteByte(0)
	}
	return b.String()
}

func (g *randomTree) path() string {
	folders := []string{"", "beet/", "beet/nord/", "beet-rand/", "haus/"}
	return folders[g.random.IntN(len(folders))] + fmt.Sprintf("f%02d", g.random.IntN(30)) + []string{".txt", ".md", ""}[g.random.IntN(3)]
}

// change makes one change to the files.
func (g *randomTree) change() {
	path := g.path()
	name := filepath.Join(g.root, path)
	switch g.random.IntN(6) {
	case 0:
		_ = os.Remove(name)
	case 1:
		if content, err := os.ReadFile(name); err == nil {
			write(g.t, g.root, g.path(), string(content))
		}
	case 2:
		other := filepath.Join(g.root, g.path())
		if err := os.MkdirAll(filepath.Dir(other), 0o755); err != nil {
			g.t.Fatal(err)
		}
		_ = os.Rename(name, other)
	case 3:
		_ = os.RemoveAll(filepath.Join(g.root, "beet", "nord"))
	default:
		write(g.t, g.root, path, g.text())
	}
}

// TestModel checks that after any changes a search finds what reading all files finds.
func TestModel(t *testing.T) {
	for seed := range 2 {
		for _, noWatch := range []bool{false, true} {
			for _, budget := range []int64{0, 1} { // all texts in memory, or none
				name := fmt.Sprintf("seed %d, no watch %v, budget %d", seed, noWatch, budget)
				t.Run(name, func(t *testing.T) { testModel(t, uint64(seed), noWatch, budget) })
			}
		}
	}
}

func testModel(t *testing.T, seed uint64, noWatch bool, budget int64) {
	g := &randomTree{t: t, root: t.TempDir(), random: rand.New(rand.NewPCG(seed, 1))}
	c := openTree(t, tree.Options{Root: g.root, NoWatch: noWatch, Env: noEnvironment}, Options{Budget: budget})
	for range 40 {
		for range g.random.IntN(8) {
			g.change()
		}
		expression := treePatterns[g.random.IntN(len(treePatterns))]
		only := treeGlobs[g.random.IntN(len(treeGlobs))]
		g.compare(c, expression, only)
		g.searchAgain(c, expression, 2)
		if g.random.IntN(4) == 0 {
			c.maintained()
		}
	}
	paths, complete, err := c.Files(t.Context(), nil)
	if err != nil || !complete {
		t.Fatal(complete, err)
	}
	same(t, "files", paths, listed(t, g.root))
	c.maintained()
	checkMemory(t, c)
}

func (g *randomTree) compare(c *Corpus, expression, only string) {
	g.t.Helper()
	want, all := bruteForce(g.t, g.root, expression, only)
	got, sum := c.search(g.t, Query{Pattern: pattern(g.t, expression, false), Only: globbing(g.t, only)})
	what := fmt.Sprintf("%q in %q", expression, only)
	same(g.t, what, got, want)
	if sum != all {
		g.t.Fatalf("%s: %+v, wanted %+v", what, sum, all)
	}
	if len(want) == 0 {
		return
	}
	limit := 1 + g.random.IntN(len(want))
	after := g.random.IntN(len(want))
	path, line := place(want[after])
	got, sum = c.search(g.t, Query{
		Pattern: pattern(g.t, expression, false), Only: globbing(g.t, only), Limit: limit,
		After: Place{path, line},
	})
	same(g.t, what+", a page", got, want[after+1:][:min(limit, len(want)-after-1)])
	all.Skipped = after + 1
	if sum != all {
		g.t.Fatalf("%s, a page: %+v, wanted %+v", what, sum, all)
	}
}

// place parses the path and line of a line that grepped returns.
func place(line string) (path string, number int) {
	path, rest, _ := strings.Cut(line, ":")
	digits, _, _ := strings.Cut(rest, ":")
	_, _ = fmt.Sscan(digits, &number)
	return path, number
}

// TestRebuilt checks the same while parts are rebuilt, split and compacted and only a few files
// change.
func TestRebuilt(t *testing.T) {
	g := &randomTree{t: t, root: t.TempDir(), random: rand.New(rand.NewPCG(7, 7))}
	for i := range 300 {
		write(t, g.root, fmt.Sprintf("wiese/%03d.txt", i), strings.Repeat(g.text(), 3))
	}
	c := open(t, g.root, Options{})
	for refresh := range 4 {
		for i := range 30 * refresh {
			write(t, g.root, fmt.Sprintf("wiese/%03d.txt", (i*7+refresh)%300), strings.Repeat(g.text(), 3))
			write(t, g.root, fmt.Sprintf("acker/%d-%03d.txt", refresh, i), g.text())
		}
		g.compare(c, "unkraut", "")
		if refresh%2 == 0 {
			c.maintained()
		}
		g.compare(c, `(?i)kirsche\s`, "wiese/**")
	}
	c.maintained()
	if c.staleSegment() >= 0 || !slices.ContainsFunc(c.view.parts, func(p *part) bool { return p.index != nil }) {
		t.Error("there should be trigrams by now")
	}
	checkMemory(t, c)
}
