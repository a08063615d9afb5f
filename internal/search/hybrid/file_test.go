package hybrid

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// save returns a snapshot of an index.
func save(t interface {
	Helper()
	Fatal(...any)
}, x *Index, rename func(ID) (ID, bool),
) []byte {
	t.Helper()
	var saved bytes.Buffer
	if err := x.Snapshot().Save(&saved, rename); err != nil {
		t.Fatal(err)
	}
	return saved.Bytes()
}

func same(id ID) (ID, bool) { return id, true }

// smallIndex returns an index with two segments, one of which has deleted chunks.
func smallIndex() *Index {
	x := New(testDim)
	for n := range 2 {
		var items []Item
		for i := range ID(70) {
			id := i + ID(n*100)
			items = append(items, Item{ID: id, Text: fmt.Sprintf("word word number%d of part%d", id, n), Vector: []float32{19: float32(id) - 60}})
		}
		x.Put(items)
	}
	x.Drop([]ID{3, 69})
	return x
}

// TestRestoredAsSaved: a snapshot does not change with the index, and chunks get their new numbers.
func TestRestoredAsSaved(t *testing.T) {
	x := smallIndex()
	snapshot := x.Snapshot()
	x.Drop([]ID{100})
	var saved bytes.Buffer
	if err := snapshot.Save(&saved, func(id ID) (ID, bool) { return id + 1000, id != 5 }); err != nil {
		t.Fatal(err)
	}
	y := New(testDim)
	if err := y.Restore(saved.Bytes()); err != nil {
		t.Fatal(err)
	}
	if y.Len() != 137 || len(y.where) != 137 {
		t.Errorf("%d chunks, %d of them known", y.Len(), len(y.where))
	}
	for id, want := range map[ID]bool{4: true, 5: false, 3: false, 100: true, 169: true} {
		found, err := y.Search(Query{Text: fmt.Sprintf("number%d", id), Limit: 1})
		if err != nil || (len(found.Hits) == 1 && found.Hits[0].ID == id+1000) != want {
			t.Errorf("chunk %d: %+v, %v", id, found, err)
		}
	}
}

// TestRestoreRefuses: what is not the snapshot of an index with as many dimensions changes nothing.
func TestRestoreRefuses(t *testing.T) {
	saved := save(t, smallIndex(), same)
	for name, data := range map[string][]byte{
		"nothing": {}, "a part": saved[:len(saved)-8], "more": append(bytes.Clone(saved), make([]byte, 8)...), "unaligned": saved[4:],
		"one number twice": save(t, smallIndex(), func(ID) (ID, bool) { return 1, true }),
		"other dimensions": save(t, New(testDim+1), same),
	} {
		x := smallIndex()
		if err := x.Restore(data); err == nil {
			t.Errorf("%s: restored", name)
		}
		if x.Len() != 138 {
			t.Errorf("%s: %d chunks", name, x.Len())
		}
	}
}

// exercise uses an index in all ways.
func exercise(x *Index) {
	for _, q := range []Query{{Text: "word part0 number12 number101"}, {Text: "word of", Vector: []float32{19: 1}, Limit: 100}} {
		_, _ = x.Search(q)
	}
	ids := make([]ID, 0, 70)
	for id := range ID(70) {
		ids = append(ids, id)
	}
	x.Drop(ids[:40]) // a segment is rewritten
	x.Put([]Item{{ID: 7, Text: "word"}, {ID: 8, Text: "part1"}})
	_, _ = x.Search(Query{Text: "word part1", Vector: []float32{19: 1}})
}

// TestDamaged changes single bytes of a snapshot.
func TestDamaged(t *testing.T) {
	saved := save(t, smallIndex(), same)
	random := rand.New(rand.NewPCG(1, 2))
	for at := range saved {
		for _, to := range []byte{0, 0xff, byte(random.Uint32())} {
			damaged := bytes.Clone(saved)
			damaged[at] = to
			if x := New(testDim); x.Restore(damaged) == nil {
				exercise(x)
			}
		}
	}
}

func FuzzRestore(f *testing.F) {
	f.Add(save(f, smallIndex(), same))
	f.Add(save(f, New(testDim), same))
	f.Fuzz(func(_ *testing.T, data []byte) {
		if x := New(testDim); x.Restore(append(make([]byte, 0, len(data)+unit), data...)) == nil {
			exercise(x)
		}
	})
}
