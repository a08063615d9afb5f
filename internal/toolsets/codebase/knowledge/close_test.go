package knowledge

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestClose closes the index at any moment and checks that no goroutine is left.
func TestClose(t *testing.T) {
	before := runtime.NumGoroutine()
	for round := range 12 {
		b := newBench(t)
		b.pages(150)
		remote := remoteModel("far:512", 512)
		x := b.open(withRemote(remote, round%2 == 0), func(o *Options) { o.Workers = 3 })
		x.limits.first, x.limits.fresh = time.Duration(round)*time.Millisecond, time.Millisecond
		ops := 0
		b.store.setBefore(func(string) {
			b.store.mu.Lock()
			defer b.store.mu.Unlock()
			ops++
			if ops == 1+3*round {
				go x.Close()
			}
		})
		var calls sync.WaitGroup
		for i := range 8 {
			calls.Go(func() {
				for n := 0; ; n++ {
					var err error
					switch i % 4 {
					case 0:
						_, err = x.Search(t.Context(), Query{Text: fmt.Sprint("subject", n)})
					case 1:
						err = x.Run(t.Context(), func(State) {})
					case 2:
						_, err = x.Overview(t.Context())
					case 3:
						b.memory.add("m.jsonl", discoveryLine("rule", "zoo", "2026-01-01", fmt.Sprint("zebra", n)))
						err = x.AddSources(t.Context(), Source{Path: "session:1"})
					}
					if errors.Is(err, ErrClosed) {
						return
					}
				}
			})
		}
		calls.Wait()
		x.Close()
		if x.State().Chunks > 150+10000 {
			t.Error("nonsense")
		}
	}
	settled(t, before)
}

// TestChurn searches from several goroutines while files come and go; in the end the index must be
// complete.
func TestChurn(t *testing.T) {
	b := newBench(t)
	b.pages(80)
	x := b.open(withRemote(remoteModel("far:512", 512), false), func(o *Options) { o.Workers = 2 })
	done := make(chan struct{})
	var readers sync.WaitGroup
	for i := range 3 {
		readers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				a, err := x.Search(t.Context(), Query{Text: fmt.Sprint("subject", (n+i*7)%80)})
				if err != nil && !errors.As(err, new(*BuildingError)) {
					t.Error(err)
				}
				for _, h := range a.Hits {
					if !strings.Contains(h.Content, "subject") && !strings.Contains(h.Content, "zebra") {
						t.Errorf("%+v", h)
					}
				}
			}
		})
	}
	for n := range 40 {
		at := filepath.Join(b.root, fmt.Sprintf("d%d/page.md", n%20))
		switch n % 3 {
		case 0:
			os.Remove(at)
		case 1:
			os.WriteFile(at, fmt.Appendf(nil, "# Page\n\nThis is about zebra%d and subject%d.\n", n, n), 0o644)
		case 2:
			b.memory.add("m.jsonl", discoveryLine("rule", "zoo", "2026-01-01", fmt.Sprintf("zebra%d of subject%d", n, n)))
		}
		b.search(x, Query{Text: "zebra"})
	}
	close(done)
	readers.Wait()
	b.run(x)
	b.sound(x)
	other := b.open()
	b.run(other)
	b.sound(other)
	if _, chunks := x.catalog.counts(); !slices.Contains(b.store.paths(), "d79/page.md") || chunks != other.State().Chunks {
		t.Errorf("%d chunks, another process has %d", chunks, other.State().Chunks)
	}
}

// TestQueue compares the queue with a map.
func TestQueue(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		q := newQueue()
		want := map[string]bool{} // still to be done
		var hands [][]*job
		held := map[string]bool{}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			switch rapid.IntRange(0, 4).Draw(rt, "step") {
			case 0, 1:
				path := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(rt, "path")
				q.put(&job{path: path, urgency: urgency(rapid.IntRange(0, 2).Draw(rt, "urgency")), stamp: stamp{size: rapid.Int64Range(-1, 9).Draw(rt, "size")}})
				want[path] = true
			case 2:
				least := urgency(rapid.IntRange(0, 2).Draw(rt, "least"))
				batch := q.take(least)
				for i, j := range batch {
					if held[j.path] || !want[j.path] || j.urgency > least || i > 0 && j.before(batch[i-1]) {
						rt.Fatalf("took %+v", j)
					}
					held[j.path] = true
					delete(want, j.path)
				}
				if len(batch) > 0 {
					hands = append(hands, batch)
				}
			case 3:
				if len(hands) == 0 {
					continue
				}
				done := rapid.Bool().Draw(rt, "done")
				for _, j := range hands[0] {
					delete(held, j.path)
					if !done {
						want[j.path] = true
					}
				}
				q.finish(hands[0], done)
				hands = hands[1:]
			case 4:
				q.prune(func(j *job) bool { return j.path == "e" })
				if !held["e"] {
					delete(want, "e")
				}
			}
			left := len(held)
			for path := range want {
				if !held[path] {
					left++
				}
			}
			if got, _ := q.progress(); got != left {
				rt.Fatalf("%d left, want %d", got, left)
			}
		}
		for _, h := range hands {
			for _, j := range h {
				delete(held, j.path)
			}
			q.finish(h, true)
		}
		for batch := q.take(other); len(batch) > 0; batch = q.take(other) {
			for _, j := range batch {
				delete(want, j.path)
			}
			q.finish(batch, true)
		}
		if len(want) > 0 || !q.none() || !q.calm() {
			rt.Fatalf("forgotten: %v", want)
		}
	})
}
