package corpus

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/search/unprivilegedtest"
)

// TestLines checks the fields of a Line.
func TestLines(t *testing.T) {
	root := t.TempDir()
	write(t, root, "a.txt", "one\ntwo\r\nthree needle here\nfour\r\nfive")
	write(t, root, "b/c.txt", "needle\nneedle \xff\n")
	long := strings.Repeat("ö", 2000)
	write(t, root, "d.txt", long+"needle"+long)
	c := open(t, root, Options{})
	for range 2 {
		var got []FileMatches
		_, err := c.Search(t.Context(), Query{Pattern: pattern(t, "needle", false), Context: 2}, func(f FileMatches) bool {
			got = append(got, f)
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		want := []FileMatches{
			{Path: "a.txt", Count: 1, Lines: []Line{{Number: 3, Column: 7, Text: "three needle here", Before: []string{"one", "two"}, After: []string{"four", "five"}}}},
			{Path: "b/c.txt", Count: 2, Lines: []Line{
				{Number: 1, Column: 1, Text: "needle", After: []string{"needle \ufffd"}},
				{Number: 2, Column: 1, Text: "needle \ufffd", Before: []string{"needle"}},
			}},
			{Path: "d.txt", Count: 1, Lines: []Line{{Number: 1, Column: 4001, Text: strings.Repeat("ö", 100) + "needle" + strings.Repeat("ö", 397), Cut: true}}},
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		c.maintained()
	}
}

// TestTally checks that files are counted instead of lines.
func TestTally(t *testing.T) {
	root := t.TempDir()
	for i := range 5 {
		write(t, root, fmt.Sprintf("%d.txt", i), strings.Repeat("needle\nno\n", i))
	}
	c := open(t, root, Options{})
	for _, tc := range []struct {
		limit int
		after Place
		want  string
	}{
		{0, Place{}, "[{1.txt 1 [] 0 } {2.txt 2 [] 0 } {3.txt 3 [] 0 } {4.txt 4 [] 0 }]"},
		{2, Place{}, "[{1.txt 1 [] 0 } {2.txt 2 [] 0 }]"},
		{2, Place{Path: "2.txt"}, "[{3.txt 3 [] 0 } {4.txt 4 [] 0 }]"},
		{0, Place{Path: "2"}, "[{2.txt 2 [] 0 } {3.txt 3 [] 0 } {4.txt 4 [] 0 }]"},
	} {
		var got []FileMatches
		sum, err := c.Search(t.Context(), Query{Pattern: pattern(t, "needle", false), CountOnly: true, Limit: tc.limit, After: tc.after}, func(f FileMatches) bool {
			got = append(got, f)
			return true
		})
		if err != nil || fmt.Sprint(got) != tc.want || sum.Matches != 10 || sum.Matched != 4 || sum.Files != 5 {
			t.Errorf("%v: %v, %+v, %v", tc, got, sum, err)
		}
	}
}

// TestMany checks that a file with very many lines is delivered in pieces, in order, and that the
// search stops on request.
func TestMany(t *testing.T) {
	root := t.TempDir()
	const count = 3*maxBatchLines + 17
	for _, path := range []string{"a", "b", "c"} {
		write(t, root, path, strings.Repeat("needle\n", count))
	}
	c := open(t, root, Options{Workers: 2})
	for range 2 {
		numbers := map[string]int{}
		counts := 0
		sum, err := c.Search(t.Context(), Query{Pattern: pattern(t, "needle", false)}, func(f FileMatches) bool {
			if len(f.Lines) > maxBatchLines {
				t.Errorf("%d lines at once", len(f.Lines))
			}
			for _, l := range f.Lines {
				numbers[f.Path]++
				if l.Number != numbers[f.Path] {
					t.Fatalf("line %d of %s comes after %d others", l.Number, f.Path, numbers[f.Path]-1)
				}
			}
			counts += f.Count
			return true
		})
		if err != nil || sum.Matches != 3*count || counts != 3*count || sum.Matched != 3 || sum.Incomplete {
			t.Errorf("%+v, %d, %v", sum, counts, err)
		}
		pieces := 0
		sum, err = c.Search(t.Context(), Query{Pattern: pattern(t, "needle", false)}, func(FileMatches) bool {
			pieces++
			return pieces < 2
		})
		if err != nil || pieces != 2 || !sum.Incomplete {
			t.Errorf("%d pieces, %+v, %v", pieces, sum, err)
		}
		c.maintained()
	}
}

// TestTiers checks that results are the same with a small budget, where some texts are in memory,
// some only have trigrams, and some have neither.
func TestTiers(t *testing.T) {
	root := t.TempDir()
	for i := range 300 {
		var b strings.Builder
		for n := range 400 {
			fmt.Fprintf(&b, "line %d of file %d, which has the word w%dw and more\n", n, i, (n*31+i)%997)
		}
		fmt.Fprintf(&b, "alone%dalone\n", i)
		write(t, root, fmt.Sprintf("%03d.txt", i), b.String())
	}
	write(t, root, "large.txt", "w7w\n"+strings.Repeat("a line of no interest in a large file\n", 150_000)+"but w7w\n")
	write(t, root, "binary", "w7w\x00")
	var all [][]string
	for _, tc := range []struct {
		budget int64
		kinds  string // r: in memory, i: only trigrams, u: neither
	}{
		{0, "r"}, {5 << 20, "riu"}, {4_500_000, "ri"}, {1 << 20, "ru"}, {1, "u"},
	} {
		t.Run(fmt.Sprint(tc.budget), func(t *testing.T) {
			c := open(t, root, Options{Budget: tc.budget})
			var lines []string
			for _, expression := range []string{"w7w", `w7[0-9]w and`, "nowhere", "(?i)W990W", "alone3alone", "alone155alone", "alone299alone"} {
				got, sum := c.search(t, Query{Pattern: pattern(t, expression, false)})
				c.maintained()
				again, sumAgain := c.search(t, Query{Pattern: pattern(t, expression, false)})
				same(t, expression, again, got)
				if sum != sumAgain || sum.Files != 301 || sum.Matches != len(got) || sum.Matched != filesOf(got) {
					t.Errorf("%s: %+v, then %+v", expression, sum, sumAgain)
				}
				lines = append(lines, got...)
			}
			all = append(all, lines)
			same(t, "the same as with a large budget", lines, all[0])
			checkTiers(t, c, tc.kinds)
		})
	}
}

// filesOf returns the number of files that the lines are in.
func filesOf(lines []string) int {
	files := map[string]bool{}
	for _, l := range lines {
		path, _ := place(l)
		files[path] = true
	}
	return len(files)
}

// checkTiers fails if a corpus exceeds its budget or has unexpected kinds of docs.
func checkTiers(t *testing.T, c *Corpus, want string) {
	t.Helper()
	kinds := map[string]int{}
	for _, p := range c.view.parts {
		p.each(func(_ int, d *doc) {
			switch {
			case d.base != nil:
				kinds["r"]++
			case d.kind == textual:
				kinds["i"]++
			case d.kind == unread && d.file.Path != "large.txt":
				kinds["u"]++
			}
		})
	}
	if len(kinds) != len(want) || slices.ContainsFunc(strings.Split(want, ""), func(k string) bool { return kinds[k] == 0 }) {
		t.Errorf("there are %v", kinds)
	}
	if used := c.textBytes.Load() + c.indexBytes.Load(); used > c.o.Budget {
		t.Errorf("%d bytes are used of %d", used, c.o.Budget)
	}
}

// TestCancelled checks that a search ends with its context.
func TestCancelled(t *testing.T) {
	root := t.TempDir()
	for i := range 20 {
		write(t, root, fmt.Sprint(i), strings.Repeat("needle\n", 50_000))
	}
	c := open(t, root, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := c.Search(ctx, Query{Pattern: pattern(t, "needle", false)}, func(FileMatches) bool {
		cancel()
		return true
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	_, err = c.Search(ctx, Query{Pattern: pattern(t, "needle", false)}, func(FileMatches) bool { return true })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestDeadline checks that at the deadline a search returns what it has found, with the reason why
// that is not all.
func TestDeadline(t *testing.T) {
	root := t.TempDir()
	for i := range 20 {
		write(t, root, fmt.Sprint(i), strings.Repeat("needle\n", 50_000))
	}
	c := open(t, root, Options{})
	_, _ = c.search(t, Query{Pattern: pattern(t, "nothing", false)})
	c.maintained()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	<-ctx.Done()
	sum, err := c.Search(ctx, Query{Pattern: pattern(t, "needle", false)}, func(FileMatches) bool { return true })
	if err != nil || !sum.Incomplete || sum.Reason == "" || sum.Files > 20 {
		t.Errorf("%+v, %v", sum, err)
	}
	s := &search{corpus: c, query: Query{Pattern: pattern(t, "needle", false), Limit: 1}, each: func(FileMatches) bool { return true }}
	s.stop.Store(true)
	v := c.acquireView()
	defer v.release()
	s.run(v)
	if sum, err := s.result(t.Context(), ""); err != nil || !sum.Incomplete || sum.Reason != "the deadline passed" || sum.Files != 0 {
		t.Errorf("%+v, %v", sum, err)
	}
}

// TestPublishPartial checks that what the first walk has found can be searched while it continues.
func TestPublishPartial(t *testing.T) {
	root := t.TempDir()
	for i := range 300 {
		write(t, root, fmt.Sprintf("%03d", i), "needle\n")
	}
	c := open(t, root, Options{})
	if err := c.update(); err != nil {
		t.Fatal(err)
	}
	docs := c.view.parts[0].merged()
	c.install(splitParts(nil, ""), false)
	c.ingest = &ingest{corpus: c, lazy: true}
	c.ingest.loaded[0].add(docs[100:200])
	if why := c.publishPartial(); why != "the files are still being read: 100 so far" {
		t.Error(why)
	}
	c.ingest.loaded[0].add(docs[:100])
	if why := c.publishPartial(); why != "the files are still being read: 200 so far" {
		t.Error(why)
	}
	if got := c.view.paths(nil); len(got) != 200 || !slices.IsSorted(got) || c.view.complete {
		t.Errorf("%d paths, complete: %v", len(got), c.view.complete)
	}
	c.ingest = nil
	if grouped(1234567) != "1,234,567" || grouped(12) != "12" || grouped(123456) != "123,456" {
		t.Error(grouped(1234567), grouped(12), grouped(123456))
	}
}

// TestLongLine checks that a line of ten megabytes is found and cut.
func TestLongLine(t *testing.T) {
	root := t.TempDir()
	write(t, root, "long", "first\n"+strings.Repeat("x", 10_000_000)+" needle "+strings.Repeat("y", 100)+"\nlast")
	for _, budget := range []int64{0, 1} {
		t.Run(fmt.Sprint(budget), func(t *testing.T) {
			c := open(t, root, Options{Budget: budget})
			for range 2 {
				got, sum := c.search(t, Query{Pattern: pattern(t, "needle y", false), Limit: 5})
				if sum.Matches != 1 || len(got) != 1 || !strings.HasPrefix(got[0], "long:2:xxx") || !strings.Contains(got[0], "needle yyy") {
					t.Errorf("%+v, %.100q", sum, got)
				}
				c.maintained()
			}
		})
	}
}

// TestVanished checks that files that are removed or become unreadable during a search are left
// out.
func TestVanished(t *testing.T) {
	root := t.TempDir()
	for _, path := range []string{"a", "b", "c"} {
		write(t, root, path, "needle\n")
	}
	c := open(t, root, Options{Budget: 1})
	_, sum := c.search(t, Query{Pattern: pattern(t, "needle", false)})
	if sum.Files != 3 {
		t.Fatalf("%+v", sum)
	}
	v := c.acquireView()
	defer v.release()
	if err := os.Remove(filepath.Join(root, "b")); err != nil {
		t.Fatal(err)
	}
	s := &search{corpus: c, query: Query{Pattern: pattern(t, "needle", false)}, each: func(FileMatches) bool { return true }}
	s.run(v)
	if s.summary.Files != 2 || s.summary.Matches != 2 {
		t.Errorf("%+v", s.summary)
	}
}

// TestNamed checks that paths are found by their last element.
func TestNamed(t *testing.T) {
	root := t.TempDir()
	for _, path := range []string{"x/a.go", "a.go", "x-y/a.go", "x/ba.go", "x/y/a.go", "a.go.txt"} {
		write(t, root, path, "text")
	}
	c := open(t, root, Options{})
	if got := c.Named("a.go"); got != nil {
		t.Error(got)
	}
	_, _, _ = c.Files(t.Context(), nil)
	same(t, "named", c.Named("a.go"), []string{"a.go", "x-y/a.go", "x/a.go", "x/y/a.go"})
	write(t, root, "new/a.go", "text")
	if err := os.Remove(filepath.Join(root, "a.go")); err != nil {
		t.Fatal(err)
	}
	paths, complete, err := c.Files(t.Context(), globbing(t, "**/a.go"))
	if err != nil || !complete {
		t.Error(complete, err)
	}
	same(t, "files", paths, []string{"new/a.go", "x-y/a.go", "x/a.go", "x/y/a.go"})
	same(t, "named", c.Named("a.go"), paths)
}

// TestClosed checks that searches after Close, and those running during it, return ErrClosed.
func TestClosed(t *testing.T) {
	root := t.TempDir()
	write(t, root, "a", strings.Repeat("needle\n", 100_000))
	c := open(t, root, Options{})
	var closing sync.WaitGroup
	_, err := c.Search(t.Context(), Query{Pattern: pattern(t, "needle", false)}, func(FileMatches) bool {
		closing.Go(c.Close)
		<-c.ctx.Done()
		return true
	})
	closing.Wait()
	if err != nil && !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if _, err := c.Search(t.Context(), Query{Pattern: pattern(t, "needle", false)}, nil); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if _, _, err := c.Files(t.Context(), nil); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

// TestUnreadable checks that a search reports the files and folders that it cannot read, also when
// the corpus knows them already.
func TestUnreadable(t *testing.T) {
	if unprivilegedtest.Rerun(t) {
		return
	}
	root := t.TempDir()
	for _, name := range []string{"a.txt", "b.txt", "closed/c.txt", "d.txt"} {
		write(t, root, name, "rose\n")
	}
	for _, name := range []string{"b.txt", "closed", "d.txt"} {
		if err := os.Chmod(filepath.Join(root, name), 0); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(root, "closed"), 0o700) })
	c := open(t, root, Options{})
	report := func(q Query) (got []string) {
		q.Pattern = pattern(t, "rose", false)
		if _, err := c.Search(t.Context(), q, func(f FileMatches) bool {
			got = append(got, f.Path+" "+f.Error)
			return true
		}); err != nil {
			t.Fatal(err)
		}
		return got
	}
	for _, when := range []string{"first", "again"} {
		same(t, when, report(Query{Unreadable: true}), []string{"a.txt ", "b.txt permission denied", "d.txt permission denied"})
		same(t, when+", some", report(Query{Unreadable: true, Limit: 1, Only: globbing(t, "{a,b}*")}), []string{"a.txt ", "b.txt permission denied"})
		same(t, when+", without", report(Query{}), []string{"a.txt "})
		if folders := c.Unlisted(); len(folders) != 1 || folders[0].Path != "closed" || folders[0].Error != "permission denied" {
			t.Errorf("%s: folders %+v", when, folders)
		}
		c.maintained()
	}
	if err := os.Chmod(filepath.Join(root, "closed"), 0o700); err != nil {
		t.Fatal(err)
	}
	same(t, "opened", report(Query{}), []string{"a.txt ", "closed/c.txt "})
	if folders := c.Unlisted(); len(folders) > 0 {
		t.Errorf("folders %+v", folders)
	}
}
