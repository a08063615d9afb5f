package corpus

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"remit/internal/search/tree"
)

// TestConcurrentUse runs many searches while files change, parts are rebuilt and texts are moved,
// until the corpus is closed. Each file always contains its own name, so that results can be
// checked.
func TestConcurrentUse(t *testing.T) {
	root := t.TempDir()
	body := strings.Repeat("some text to fill the file with\n", 300)
	for i := range 150 {
		write(t, root, fmt.Sprintf("%d/%03d", i%5, i), fmt.Sprintf("%sname=%03d.\n", body, i))
	}
	for _, noWatch := range []bool{false, true} {
		t.Run(fmt.Sprintf("no watch %v", noWatch), func(t *testing.T) {
			c := openTree(t, tree.Options{Root: root, NoWatch: noWatch, Env: noEnvironment}, Options{Budget: 3 << 20})
			var searching, changing sync.WaitGroup
			var done atomic.Bool
			for n := range 3 {
				searching.Go(func() { searchOn(t, c, n) })
			}
			changing.Go(func() {
				for i := 0; !done.Load(); i++ {
					name := i * 7 % 150
					write(t, root, fmt.Sprintf("%d/%03d", name%5, name), fmt.Sprintf("%sname=%03d.\n", body[:i*37%len(body)/32*32], name))
					_ = os.Remove(filepath.Join(root, fmt.Sprintf("0/new%d", i-1)))
					write(t, root, fmt.Sprintf("0/new%d", i), body)
				}
			})
			for range 15 {
				got, _ := c.search(t, Query{Pattern: pattern(t, "nothing", false)})
				same(t, "nothing", got, nil)
			}
			c.Close()
			searching.Wait()
			done.Store(true)
			changing.Wait()
		})
	}
}

// searchOn searches until the corpus is closed.
func searchOn(t *testing.T, c *Corpus, n int) {
	p := pattern(t, []string{`name=[0-9]+`, "name=", `^name`}[n], false)
	for {
		_, err := c.Search(context.Background(), Query{Pattern: p, Context: n, Limit: n * 50}, func(f FileMatches) bool {
			for _, l := range f.Lines {
				if !strings.HasSuffix(f.Path, strings.Trim(l.Text, "name=.")) {
					t.Errorf("%q was found in %s", l.Text, f.Path)
				}
			}
			return true
		})
		if errors.Is(err, ErrClosed) {
			return
		}
		if err != nil {
			t.Error(err)
			return
		}
	}
}

// TestCompact checks that texts are moved out of sparse arenas and that these are released.
func TestCompact(t *testing.T) {
	root := t.TempDir()
	for i := range 200 {
		write(t, root, fmt.Sprintf("%03d", i), fmt.Sprintf("%sname=%03d.\n", strings.Repeat("some text\n", 500), i))
	}
	c := open(t, root, Options{})
	p := pattern(t, "name=", false)
	want, _ := c.search(t, Query{Pattern: p})
	c.maintained()
	for i := range 200 {
		if i%10 > 1 {
			write(t, root, fmt.Sprintf("%03d", i), fmt.Sprintf("%sname=%03d.\n", strings.Repeat("some text\n", 500), i))
		}
	}
	held, _ := c.search(t, Query{Pattern: p})
	c.maintained()
	same(t, "before", held, want)
	before := c.textBytes.Load()
	if c.wastedBytes() == 0 {
		t.Fatal("nothing is wasted")
	}
	l := c.newAllocator()
	v := c.acquireView()
	c.compact(v, l)
	v.release()
	l.close()
	if c.wastedBytes() > 0 || c.textBytes.Load() >= before {
		t.Errorf("%d of %d bytes are wasted, then %d of %d", c.unreclaimed, before, c.wastedBytes(), c.textBytes.Load())
	}
	got, _ := c.search(t, Query{Pattern: p})
	same(t, "after", got, want)
	checkMemory(t, c)
}

// checkMemory fails if the recorded use of an arena is not exact. Such an arena would be released
// too early, or never.
func checkMemory(t *testing.T, c *Corpus) {
	t.Helper()
	live := map[*arena]int64{}
	for _, p := range c.view.parts {
		p.each(func(_ int, d *doc) { live[d.arena] += int64(d.length) })
		if m := p.index.arena(); m != nil {
			live[m] = 1
		}
	}
	delete(live, nil)
	for _, a := range c.arenas {
		if a.live != live[a] {
			t.Errorf("%d bytes of an arena are in use, not %d", live[a], a.live)
		}
		delete(live, a)
	}
	if len(live) > 0 {
		t.Errorf("%d arenas are in use but not recorded", len(live))
	}
}
