package knowledgetest

import (
	"encoding/binary"
	"testing"
	"time"

	"remit/internal/toolsets/codebase/knowledge"
)

func counts(t *testing.T, s Stores) {
	expectCount := func(store knowledge.Store, want int) {
		t.Helper()
		got, err := store.Count(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		equal(t, got, want)
	}
	expectCount(s.Here, 0)
	replace(t, s.Here, code("a", "1", "2"), code("b", "3"), code("c"))
	replace(t, s.Here, gone("b"))
	expectCount(s.OtherProcess, 2)
	expectCount(s.OtherWorkspace, 0)
}

// snapshots checks that a store knows the latest snapshots of its own workspace.
func snapshots(t *testing.T, s Stores) {
	id := func(n int) (id knowledge.SnapshotID) {
		binary.BigEndian.PutUint64(id[:], uint64(n))
		return id
	}
	put := func(n int) {
		t.Helper()
		if err := s.Here.PutSnapshot(t.Context(), id(n), int64(1000+n)); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(store knowledge.Store, n int, want bool) {
		t.Helper()
		generation, known, err := store.Snapshot(t.Context(), id(n))
		if err != nil || known != want || known && generation != int64(1000+n) {
			t.Errorf("snapshot %d: %d, %v, %v", n, generation, known, err)
		}
	}
	expect(s.Here, 1, false)
	put(1)
	expect(s.OtherProcess, 1, true)
	expect(s.OtherProcess, 2, false)
	expect(s.OtherWorkspace, 1, false)
	s.Age(t, time.Hour)
	for n := range knowledge.MaxSnapshots {
		expect(s.Here, 1, true)
		put(n + 2)
	}
	expect(s.Here, 1, false)
	expect(s.Here, 2, true)
	expect(s.Here, knowledge.MaxSnapshots+1, true)
}
