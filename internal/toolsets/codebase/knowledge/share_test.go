package knowledge

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// pages writes a number of files.
func (b *bench) pages(count int) {
	for i := range count {
		b.write(fmt.Sprintf("d%d/page.md", i), fmt.Sprintf("# Page\n\nThis is about subject%d alone.\n", i))
	}
}

// TestTwoProcesses: two processes share a store; what one indexes the other finds, and nothing is
// embedded twice.
func TestTwoProcesses(t *testing.T) {
	b := newBench(t)
	b.project()
	one, two := b.open(), b.open()
	b.finds(one, "tractors", "docs/guide.md")
	b.model.took()
	b.finds(two, "tractors", "docs/guide.md")
	b.embeds("tractors")
	b.memory.add("discoveries.jsonl", discoveryLine("rule", "zoo", "2026-01-01", "Every zebra is counted"))
	b.finds(two, "zebra", "discoveries.jsonl")
	b.finds(one, "zebra", "discoveries.jsonl")
	b.write("docs/guide.md", "# Guide\n\nAbout balloons.\n")
	b.finds(one, "balloons", "docs/guide.md")
	b.model.took()
	b.finds(two, "balloons", "docs/guide.md")
	b.embeds("balloons")
	b.remove("docs/guide.md")
	b.finds(two, "balloons", "")
	b.finds(one, "balloons", "")
	b.sound(one)
	b.sound(two)
}

// TestLease: one of two processes does the bulk of the work.
func TestLease(t *testing.T) {
	b := newBench(t)
	b.pages(200)
	one, two := b.open(), b.open()
	var both sync.WaitGroup
	for _, x := range []*Index{one, two} {
		both.Go(func() {
			if err := x.Run(t.Context(), nil); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	b.finds(one, "subject77", "d77/page.md")
	b.finds(two, "subject150", "d150/page.md")
	if n := len(b.model.took()); n > 202+64+32 { // small amounts may be done by both
		t.Errorf("embedded %d texts of 200", n)
	}
	// The worker returns the lease after the last batch, which Run does not wait for.
	released := func() bool {
		b.store.mu.Lock()
		defer b.store.mu.Unlock()
		return b.store.holder == "" && b.store.leases > 0
	}
	if err := b.until(released); err != nil {
		t.Errorf("%q has the lease after %d questions", b.store.holder, b.store.leases)
	}
	b.sound(one)
	b.sound(two)
}

// TestLeaseOfTheDead: the lease of a dead process is taken over when it expires.
func TestLeaseOfTheDead(t *testing.T) {
	b := newBench(t)
	b.pages(100)
	b.store.holder, b.store.until = "somebody", b.now.Add(time.Hour)
	x := b.open()
	x.limits.first, x.limits.longest = time.Millisecond, time.Millisecond
	x.Search(t.Context(), Query{Text: "subject5"})
	if err := b.until(func() bool { b.store.mu.Lock(); defer b.store.mu.Unlock(); return b.store.leases > 3 }); err != nil {
		t.Fatal(err)
	}
	if got := b.store.paths(); len(got) != 0 {
		t.Errorf("indexed without the lease: %q", got)
	}
	b.store.mu.Lock()
	b.store.until = b.now
	b.store.mu.Unlock()
	b.run(x)
	b.finds(x, "subject5", "d5/page.md")
}

// until waits for a condition.
func (b *bench) until(done func() bool) error {
	for deadline := time.Now().Add(5 * time.Minute); !done(); runtime.Gosched() {
		if time.Now().After(deadline) {
			return errors.New("it does not happen")
		}
	}
	return nil
}

// TestFollower: a process loads what another has indexed, without reading it itself.
func TestFollower(t *testing.T) {
	b := newBench(t)
	b.pages(100)
	b.store.holder, b.store.until = "somebody", b.now.Add(time.Hour)
	x := b.open()
	x.limits.first, x.limits.longest = time.Millisecond, time.Millisecond
	x.Search(t.Context(), Query{Text: "subject5"})
	leader := newBench(t)
	leader.root, leader.now, leader.model = b.root, b.now, b.model
	y := leader.open()
	leader.run(y)
	b.model.took()
	for _, path := range leader.store.paths() {
		if _, err := b.store.Replace(t.Context(), []Source{leader.store.sources[path]}); err != nil {
			t.Fatal(err)
		}
		b.store.PutVectors(t.Context(), b.model.ID(), leader.store.vectors[b.model.ID()])
	}
	b.run(x)
	b.finds(x, "subject5", "d5/page.md")
	b.embeds("subject5")
}

// TestOutdated: a process starts again when the store no longer knows the deletions.
func TestOutdated(t *testing.T) {
	b := newBench(t)
	b.project()
	x := b.open()
	if err := x.AddSources(t.Context(), session("1", "about the ocelot")); err != nil {
		t.Fatal(err)
	}
	b.finds(x, "tractors", "docs/guide.md")
	b.store.mu.Lock()
	s := b.store.sources["internal/auth/login.go"]
	delete(b.store.sources, "internal/auth/login.go")
	delete(b.store.sources, "session:1")
	s.Path = "gone.go"
	b.store.generation++
	s.Generation = b.store.generation
	b.store.sources["gone.go"] = s
	b.store.outdated = true
	b.store.mu.Unlock()
	b.finds(x, "password of a user", "internal/auth/login.go")
	b.store.mu.Lock()
	b.store.outdated = false
	b.store.mu.Unlock()
	b.run(x)
	if diff := cmp.Diff([]string{"docs/empty.md", "docs/guide.md", "internal/auth/login.go"}, b.store.paths()); diff != "" {
		t.Error(diff)
	}
	if s := x.State(); s.Files != 3 || s.Chunks != 2 {
		t.Errorf("what the store lost is there: %+v", s)
	}
	b.sound(x)

	b.store.mu.Lock() // and when the store is recreated
	b.store.sources, b.store.vectors, b.store.generation = map[string]Source{}, map[string]map[Key][]float32{}, 0
	b.store.mu.Unlock()
	b.memory.add("m.jsonl", discoveryLine("rule", "zoo", "2026-01-01", "Every zebra is counted"))
	b.finds(x, "tractors", "docs/guide.md")
	b.finds(x, "password of a user", "internal/auth/login.go")
	b.finds(x, "zebra", "m.jsonl")
	if len(b.store.paths()) != 4 {
		t.Errorf("%q", b.store.paths())
	}
	b.run(x)
	b.sound(x)
}

// TestStoreFails: searches answer from memory and files; nothing is lost, and the rest is done
// later.
func TestStoreFails(t *testing.T) {
	b := newBench(t)
	b.project()
	b.memory.add("m.jsonl", discoveryLine("rule", "zoo", "2026-01-01", "Every zebra is counted"))
	x := b.open()
	down := errors.New("the database is down")
	b.store.setFail(down)
	if _, err := x.Search(t.Context(), Query{Text: "tractors"}); !errors.Is(err, down) {
		t.Errorf("%v", err)
	}
	if _, err := x.Overview(t.Context()); !errors.Is(err, down) {
		t.Errorf("%v", err)
	}
	b.store.setFail(nil)
	b.finds(x, "tractors", "docs/guide.md")
	before := b.search(x, Query{Text: "zebra"})
	b.store.setFail(down)
	b.write("docs/new.md", "# New\n\nA walrus has teeth.\n")
	b.finds(x, "tractors", "docs/guide.md")
	after := b.search(x, Query{Text: "zebra"})
	if diff := cmp.Diff(before.Hits, after.Hits); diff != "" {
		t.Error(diff)
	}
	if after.State.Note == "" || after.State.Waiting != 1 {
		t.Errorf("%+v", after.State)
	}
	b.store.setFail(nil)
	b.finds(x, "walrus", "docs/new.md")
	b.run(x)
	if s := x.State(); s.Note != "" || s.Waiting != 0 {
		t.Errorf("%+v", s)
	}
	if n := strings.Count(b.logged(), "down"); n == 0 || n > 6 {
		t.Errorf("said %d times:\n%s", n, b.logged())
	}
	b.sound(x)
}

// TestRunFails: Run returns the reason after some attempts.
func TestRunFails(t *testing.T) {
	b := newBench(t)
	b.pages(100)
	down := errors.New("the disk is full")
	x := b.open()
	b.store.setBefore(func(op string) {
		if op == "replace" {
			b.store.setFail(down)
		} else {
			b.store.setFail(nil)
		}
	})
	if err := x.Run(t.Context(), nil); !errors.Is(err, down) {
		t.Errorf("%v", err)
	}
}

// TestRunCountsAllItDid: a refresh that begins during a count does not reset it.
func TestRunCountsAllItDid(t *testing.T) {
	q := newQueue()
	q.done = 7
	stop := q.count()
	q.done++
	q.restart()
	if _, done := q.progress(); done != 1 {
		t.Errorf("%d are done", done)
	}
	stop()
	q.restart()
	if _, done := q.progress(); done != 0 {
		t.Errorf("%d are done", done)
	}
}

func TestRunTells(t *testing.T) {
	b := newBench(t)
	b.pages(100)
	x := b.open()
	var last State
	if err := x.Run(t.Context(), func(s State) { last = s }); err != nil {
		t.Fatal(err)
	}
	if last.Done != 100 || last.Total != 100 || last.Chunks != 100 || last.Indexing {
		t.Errorf("%+v", last)
	}
	if len(b.store.swept) == 0 {
		t.Error("nothing was swept")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := x.Run(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := x.Search(ctx, Query{Text: "subject5"}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestTidy: idle processes sweep at most once an hour, so that the models of processes that only
// search stay wanted.
func TestTidy(t *testing.T) {
	b := newBench(t)
	b.project()
	var now atomic.Int64
	swept := make(chan struct{}, 10)
	b.store.setBefore(func(op string) {
		if op == "sweep" {
			swept <- struct{}{}
		}
	})
	begun := b.now
	x := b.open(func(o *Options) { o.Now = func() time.Time { return begun.Add(time.Duration(now.Load())) } })
	for hour := range 2 {
		now.Store(int64(hour) * int64(sweepEvery))
		b.finds(x, "tractors", "docs/guide.md")
		<-swept
		b.finds(x, "tractors", "docs/guide.md")
		b.run(x)
	}
	x.Close()
	if len(swept) > 0 {
		t.Errorf("%d sweeps more than every hour", len(swept))
	}
}

// TestMoved: a search repeats when another process has changed what was found.
func TestMoved(t *testing.T) {
	b := newBench(t)
	b.project()
	x := b.open()
	b.finds(x, "tractors", "docs/guide.md")
	s := b.store.sources["docs/guide.md"]
	moved := false
	b.store.setBefore(func(op string) {
		if op == "vectors" && !moved { // of the running search
			moved = true
			p := s.Chunks[0].Chunk
			p.Text = "Other tractors are here"
			s.Chunks = []Chunk{newChunk(s.Path, 0, p)}
			b.store.setBefore(nil)
			b.store.Replace(t.Context(), []Source{s})
		}
	})
	a := b.search(x, Query{Text: "tractors"})
	if len(a.Hits) != 1 || a.Hits[0].Content != "Other tractors are here" {
		t.Errorf("%+v", a)
	}
}
