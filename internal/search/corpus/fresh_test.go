package corpus

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"remit/internal/search/tree"
)

// TestFresh checks, many times in a row, that the next search sees a file that was written,
// changed, renamed or deleted.
func TestFresh(t *testing.T) {
	rounds := 100
	if os.Getenv("REMIT_FULL") == "true" {
		rounds = 1000
	}
	for _, noWatch := range []bool{false, true} {
		t.Run(fmt.Sprintf("no watch %v", noWatch), func(t *testing.T) {
			root := t.TempDir()
			for i := range 20 {
				write(t, root, fmt.Sprintf("other/%d", i), strings.Repeat("other text\n", 3000))
			}
			c := openTree(t, tree.Options{Root: root, NoWatch: noWatch, Env: noEnvironment}, Options{})
			for i := range rounds {
				word := fmt.Sprintf("word%dword", i)
				p := pattern(t, word, false)
				write(t, root, "a", word)
				expect(t, c, Query{Pattern: p}, "a:1:"+word)
				write(t, root, "a", "x"+word)
				expect(t, c, Query{Pattern: p}, "a:1:x"+word)
				if err := os.Rename(filepath.Join(root, "a"), filepath.Join(root, "b")); err != nil {
					t.Fatal(err)
				}
				expect(t, c, Query{Pattern: p}, "b:1:x"+word)
				if err := os.Remove(filepath.Join(root, "b")); err != nil {
					t.Fatal(err)
				}
				expect(t, c, Query{Pattern: p})
			}
		})
	}
}

func expect(t *testing.T, c *Corpus, q Query, want ...string) {
	t.Helper()
	got, _ := c.search(t, q)
	same(t, "fresh", got, want)
}

// TestFoldedLetters checks that with trigrams too, k finds the Kelvin sign and s the long s.
func TestFoldedLetters(t *testing.T) {
	root := t.TempDir()
	for i := range 20 {
		write(t, root, fmt.Sprintf("%02d", i), strings.Repeat(fmt.Sprintf("a line of file %d\n", i), 1000))
	}
	write(t, root, "kelvin", "\u212aelvin")
	write(t, root, "long", "gra\u017f")
	c := open(t, root, Options{})
	for range 2 {
		expect(t, c, Query{Pattern: pattern(t, "kelvin", true)}, "kelvin:1:\u212aelvin")
		expect(t, c, Query{Pattern: pattern(t, "gras", true)}, "long:1:gra\u017f")
		expect(t, c, Query{Pattern: pattern(t, "kelvin|gras", false)})
		c.maintained()
	}
	if c.view.parts[0].index == nil {
		t.Error("there should be trigrams")
	}
}

// TestOlderRead checks that an earlier read never replaces a later one, in whatever order they
// arrive.
func TestOlderRead(t *testing.T) {
	file := func(path string) *tree.File { return &tree.File{Path: path} }
	p := newPart(newSegment([]doc{{file: file("a"), serial: 5}, {file: file("b"), serial: 5}}), "")
	var lost []uint32
	record := func(d *doc) { lost = append(lost, d.serial) }
	p = p.with([]doc{{file: file("a"), serial: 4, kind: binary}, {file: file("b"), serial: 9}}, record)
	p = p.with([]doc{{file: file("b"), serial: 8, kind: removed}, {file: file("c"), serial: 6}}, record)
	p = p.with([]doc{{file: file("c"), serial: 7, kind: removed}}, record)
	var got []string
	for _, d := range p.merged() {
		got = append(got, fmt.Sprintf("%s %d %d", d.file.Path, d.serial, d.kind))
	}
	same(t, "docs", got, []string{"a 5 0", "b 9 0"})
	if fmt.Sprint(lost) != "[4 5 8 6]" {
		t.Errorf("%v are lost", lost)
	}
	docs := latest([]doc{{file: file("b"), serial: 2}, {file: file("a"), serial: 4}, {file: file("b"), serial: 3}, {file: file("a"), serial: 1}})
	if len(docs) != 2 || docs[0].serial != 4 || docs[1].serial != 3 {
		t.Errorf("%v", docs)
	}
}

// TestReadMeanwhile checks that a file that changed while a segment is built from an older view is
// not read for that segment. Otherwise the tree would assume that the view has what was read last.
func TestReadMeanwhile(t *testing.T) {
	root := t.TempDir()
	write(t, root, "a", "one")
	write(t, root, "b", "other")
	c := open(t, root, Options{})
	if err := c.update(); err != nil {
		t.Fatal(err)
	}
	k := &segmentBuilder{corpus: c, texts: c.newAllocator(), docs: c.view.parts[0].merged()}
	defer k.texts.close()
	c.apply([]doc{{file: k.docs[0].file, serial: c.serial.Add(1)}}, true)
	if text := k.read(0, true); text != nil || k.docs[0].kind != unread {
		t.Errorf("%q was read", text)
	}
	if text := k.read(1, true); string(text) != "other" || k.docs[1].kind != textual {
		t.Errorf("%q was read", text)
	}
}

// TestOrderedQueue checks that results arrive in the order of units, and that a worker blocks with
// results that are not needed yet.
func TestOrderedQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &orderedQueue{window: 2, results: map[int][]*unitResult{}, done: map[int]bool{}, workers: 3}
		l.changed.L = &l.mu
		handed := make(chan int, 10)
		work := func(hand func(hand func(unit, matches int, last bool))) {
			defer l.workerDone()
			hand(func(unit, matches int, last bool) {
				l.put(unit, &unitResult{matches: matches}, last)
				handed <- matches
			})
		}
		go work(func(hand func(int, int, bool)) {
			hand(1, 10, false)
			hand(1, 11, true)
			hand(3, 30, true)
		})
		go work(func(hand func(int, int, bool)) { hand(2, 20, true) })
		synctest.Wait()
		if len(handed) > 0 {
			t.Errorf("%d was taken before unit 0", <-handed)
		}
		go work(func(hand func(int, int, bool)) { hand(0, 0, true) })
		var got []string
		for tr := l.take(); tr != nil; tr = l.take() {
			synctest.Wait()
			got = append(got, fmt.Sprint(tr.matches))
		}
		same(t, "results", got, []string{"0", "10", "11", "20", "30"})
	})
}
