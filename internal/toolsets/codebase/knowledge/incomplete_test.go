package knowledge

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"remit/internal/search/chunk"
	"remit/internal/search/tree"
)

// TestIncompleteWhileComparing: a search that does not wait for the comparison of a large index
// with the files says so, and finds nothing of a file that does not exist any more.
func TestIncompleteWhileComparing(t *testing.T) {
	b, _, open := snapshotBench(t)
	b.fill()
	b.run(open())
	b.remove("a.go")
	b.write("d.go", "package d\n\n// Delta peels figs.\nfunc Delta() {}\n")
	walking, goOn := make(chan struct{}), make(chan struct{})
	var reached atomic.Bool
	x := open(func(o *Options) {
		o.Tree = func() (*tree.Tree, error) {
			return tree.Open(tree.Options{Root: b.root, Env: func(string) (string, bool) { return "", false }, Skip: func(string, bool) bool {
				if !reached.Swap(true) {
					close(walking)
				}
				<-goOn
				return false
			}})
		}
	})
	x.limits.large, x.limits.start, x.limits.busy = 1, time.Millisecond, time.Millisecond
	if a := b.search(x, Query{Text: "elderberries"}); !a.Incomplete || len(a.Hits) == 0 || a.Hits[0].Path != "notes.jsonl" {
		t.Errorf("%+v", a)
	}
	<-walking
	// What an earlier call remembered is found although the comparison goes on.
	b.memory.add("notes.jsonl", `{"type":"rule","content":"Gooseberries are topped"}`)
	if a := b.search(x, Query{Text: "gooseberries"}); !a.Incomplete || len(a.Hits) == 0 || a.Hits[0].Path != "notes.jsonl" {
		t.Errorf("%+v", a)
	}
	a := b.search(x, Query{Text: "bananas"})
	if !a.Incomplete {
		t.Errorf("%+v", a)
	}
	for _, hit := range a.Hits {
		if hit.Path == "a.go" {
			t.Errorf("found %+v, which is gone", hit)
		}
	}
	close(goOn)
	b.run(x)
	if a := b.search(x, Query{Text: "figs"}); a.Incomplete || a.Hits[0].Path != "d.go" || a.Indexed != a.Known {
		t.Errorf("%+v", a)
	}
}

// TestIncompleteWhileLoading: a search does not wait until a large index is loaded, and says how
// much of it was searched.
func TestIncompleteWhileLoading(t *testing.T) {
	const count, size = 40, 30
	b := newBench(t)
	var sources []Source
	for i := range count {
		s := Source{Path: fmt.Sprintf("memory:f%d.md", i)}
		for n := range size {
			s.Chunks = append(s.Chunks, newChunk(s.Path, n, chunk.Chunk{Source: chunk.Docs, Text: fmt.Sprintf("word number%d", i*size+n)}))
		}
		sources = append(sources, s)
	}
	if _, err := b.store.Replace(t.Context(), sources); err != nil {
		t.Fatal(err)
	}
	goOn := make(chan struct{})
	var batches atomic.Int32
	b.store.setBefore(func(op string) {
		if op == "put vectors" && batches.Add(1) > 1 { // the first batch of chunks can be searched
			<-goOn
		}
	})
	x := b.open()
	x.limits.large, x.limits.start, x.limits.loading = count/2, time.Millisecond, time.Millisecond
	a := b.search(x, Query{Text: "number3"})
	if !a.Incomplete || a.Known != count || a.Indexed == 0 || a.Indexed >= count || len(a.Hits) == 0 {
		t.Errorf("%d of %d, incomplete: %v, %d hits", a.Indexed, a.Known, a.Incomplete, len(a.Hits))
	}
	close(goOn)
	b.run(x)
}

// TestIncompleteCounts: of the files that wait, those that are indexed already are outdated.
func TestIncompleteCounts(t *testing.T) {
	b, _, open := snapshotBench(t)
	b.fill()
	x := open()
	b.run(x)
	if err := x.Close(); err != nil { // from here on, nothing takes jobs
		t.Fatal(err)
	}
	x.queue.put(&job{path: "a.go", known: true}, &job{path: "new.go"}, &job{path: "newer.go"})
	// These are three files and the memory file.
	if indexed, total := x.progress(); indexed != 3 || total != 6 {
		t.Errorf("%d of %d", indexed, total)
	}
}
