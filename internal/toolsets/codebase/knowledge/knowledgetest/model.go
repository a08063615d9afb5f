package knowledgetest

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"remit/internal/search/chunk"
	"remit/internal/toolsets/codebase/knowledge"
)

// model runs random operations of two processes on the sources of a workspace, and compares the
// stores with a simple implementation in Go. The workspace is shared by all runs: each has its own
// paths.
func model(t *testing.T, s Stores) {
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		m := &project{t: t, stores: []knowledge.Store{s.Here, s.OtherProcess}, run: run, kept: map[string]knowledge.Source{}}
		_, m.start = load(t, s.Here, 0)
		for _, store := range m.stores {
			m.followers = append(m.followers, &follower{store: store, since: m.start, known: map[string]knowledge.Source{}})
		}
		m.newest = m.start
		for range rapid.IntRange(1, 10).Draw(rt, "steps") {
			m.step(rt)
		}
		for _, f := range m.followers {
			m.catchUp(rt, f)
		}
		m.compareChunks(rt)
	})
}

// project is the expected content of one run.
type project struct {
	t             *testing.T
	stores        []knowledge.Store
	run           int
	start, newest int64
	kept          map[string]knowledge.Source
	followers     []*follower
}

// follower is what a process has loaded.
type follower struct {
	store knowledge.Store
	since int64
	known map[string]knowledge.Source
}

func (m *project) step(rt *rapid.T) {
	switch rapid.SampledFrom([]string{"replace", "replace", "catch up", "load", "pieces"}).Draw(rt, "act") {
	case "replace":
		m.replace(rt)
	case "catch up":
		m.catchUp(rt, rapid.SampledFrom(m.followers).Draw(rt, "follower"))
	case "load":
		m.compareLoad(rt, rapid.Int64Range(m.start, m.newest).Draw(rt, "since"))
	case "pieces":
		m.compareChunks(rt)
	}
}

func (m *project) path(rt *rapid.T) string {
	return fmt.Sprint(m.run, rapid.SampledFrom([]string{"/a", "/b", "/b\x00", "/\xff"}).Draw(rt, "path"))
}

func (m *project) replace(rt *rapid.T) {
	var batch []knowledge.Source
	for range rapid.IntRange(0, 4).Draw(rt, "sources") {
		texts := many(rapid.IntRange(0, 3).Draw(rt, "pieces"), rapid.SampledFrom([]string{"x", "y"}).Draw(rt, "text"))
		one := code(m.path(rt), texts...)
		switch rapid.SampledFrom([]string{"code", "code", "discovery", "gone"}).Draw(rt, "kind") {
		case "discovery":
			for i := range one.Chunks {
				one.Chunks[i].Source, one.Chunks[i].Date = chunk.Discovery, noon
			}
		case "gone":
			one = gone(one.Path)
		}
		batch = append(batch, one)
	}
	g, err := rapid.SampledFrom(m.stores).Draw(rt, "store").Replace(m.t.Context(), batch)
	if err != nil || g != m.newest+1 {
		rt.Fatalf("replace after generation %d: %d, error %v", m.newest, g, err)
	}
	m.newest = g
	for _, one := range batch {
		m.kept[one.Path] = of(g, one)
	}
}

// after returns the sources that changed after a generation, in order.
func (m *project) after(since int64) (list []knowledge.Source) {
	for _, one := range m.kept {
		if one.Generation > since {
			list = append(list, one)
		}
	}
	slices.SortFunc(list, func(a, b knowledge.Source) int {
		return cmp.Or(cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.Path, b.Path))
	})
	return list
}

func (m *project) compareLoad(rt *rapid.T, since int64) {
	if since == 0 {
		return // the order is different
	}
	store := rapid.SampledFrom(m.stores).Draw(rt, "store")
	list, newest := load(m.t, store, since)
	if diff := gocmp.Diff(m.after(since), list); diff != "" || newest != m.newest {
		rt.Fatalf("since %d: newest %d, want %d; -want +got:\n%s", since, newest, m.newest, diff)
	}
}

// catchUp loads what a follower has missed; then it must know everything.
func (m *project) catchUp(rt *rapid.T, f *follower) {
	list, newest := load(m.t, f.store, f.since)
	for _, one := range list {
		f.known[one.Path] = one
	}
	f.since = newest
	if diff := gocmp.Diff(m.kept, f.known); diff != "" || newest != m.newest {
		rt.Fatalf("newest %d, want %d; -want +got:\n%s", newest, m.newest, diff)
	}
}

func (m *project) compareChunks(rt *rapid.T) {
	var refs []knowledge.Ref
	var want []knowledge.Chunk
	for range rapid.IntRange(0, 6).Draw(rt, "refs") {
		ref := knowledge.Ref{Path: m.path(rt), Number: rapid.IntRange(0, 3).Draw(rt, "number")}
		refs = append(refs, ref)
		if one := m.kept[ref.Path]; ref.Number < len(one.Chunks) {
			want = append(want, one.Chunks[ref.Number])
		}
	}
	got, err := rapid.SampledFrom(m.stores).Draw(rt, "store").Chunks(m.t.Context(), refs)
	if diff := gocmp.Diff(want, got); diff != "" || err != nil {
		rt.Fatalf("%v: error %v, -want +got:\n%s", refs, err, diff)
	}
}
