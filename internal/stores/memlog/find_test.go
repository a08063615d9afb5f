package memlog_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"remit/internal/complexitytest"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
	"remit/internal/stores/memlog"
)

// recordsOf keeps the changes that are announced, and fails on demand.
type recordsOf struct {
	mu      sync.Mutex
	changes []jsontree.Value
	fail    func(n int) error
}

func (r *recordsOf) Write(_ context.Context, record *audit.Record, durable bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !durable || record.Outcome != audit.Begun {
		return errors.New("not a durable record of a call that has begun")
	}
	r.changes = append(r.changes, record.Effect)
	if r.fail != nil {
		return r.fail(len(r.changes))
	}
	return nil
}

func filesIn(t *testing.T, dir string) *memlog.Memory {
	t.Helper()
	memory := &memlog.Memory{Files: memlog.Dir(dir), Reader: &folder{Dir: memlog.Dir(dir)}}
	t.Cleanup(func() { check(t, memory.Close()) })
	return memory
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// TestEntriesAreAnnounced checks that the record of an entry comes first, and names its place.
func TestEntriesAreAnnounced(t *testing.T) {
	dir := t.TempDir()
	memory, records := filesIn(t, dir), &recordsOf{}
	for _, entry := range []string{`{"n":1}`, `{"n":22}`} {
		ctx := audit.WithEffect(t.Context(), audit.NewEffect(&audit.Record{}, records))
		if _, err := memory.Append(ctx, "a.jsonl", []byte(entry), nil)(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []string{
		`{"store":"memory","op":"append","path":"a.jsonl","at":0,"lines":1,"size":7,"new":"`,
		`{"store":"memory","op":"append","path":"a.jsonl","at":8,"lines":1,"size":8,"new":"`,
	} {
		if got := string(records.changes[i].Append(nil)); !strings.HasPrefix(got, want) {
			t.Errorf("change %d is %s", i, got)
		}
	}
	records.fail = func(int) error { return errors.New("the disk is full") }
	ctx := audit.WithEffect(t.Context(), audit.NewEffect(&audit.Record{}, records))
	if _, err := memory.Append(ctx, "a.jsonl", []byte(`{"n":3}`), nil)(ctx); err == nil {
		t.Error("an entry without a record is stored")
	}
	same(t, "file", read(t, filepath.Join(dir, "a.jsonl")), "{\"n\":1}\n{\"n\":22}\n")
}

// TestShortenedFile cuts the file off after the record of an entry was stored: the entry would be
// before the place that the record names, where recovery does not look.
func TestShortenedFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.jsonl")
	memory, records := filesIn(t, dir), &recordsOf{}
	add := func(entry string) (undone []int, err error) {
		effect := audit.NewEffect(&audit.Record{}, records)
		ctx := audit.WithEffect(t.Context(), effect)
		_, err = memory.Append(ctx, "a.jsonl", []byte(entry), nil)(ctx)
		var r audit.Record
		effect.AddTo(&r)
		return r.Undone, err
	}
	_, err := add(`{"n":1}`)
	check(t, err)
	records.fail = func(int) error { return os.Truncate(file, 0) }
	if undone, err := add(`{"n":2}`); err == nil || !slices.Equal(undone, []int{1}) {
		t.Errorf("undone %v, error %v", undone, err)
	}
	records.fail = nil
	_, err = add(`{"n":3}`)
	check(t, err)
	same(t, "file", read(t, file), "{\"n\":3}\n")
}

// noSpace cannot open a file.
type noSpace struct{}

func (noSpace) OpenAppend(string) (*os.File, error) { return nil, errors.New("no space") }

// TestFailedWriteIsNotMade checks that the record of an entry that was certainly not stored says
// so, and leaves nothing to find out.
func TestFailedWriteIsNotMade(t *testing.T) {
	memory := &memlog.Memory{Files: noSpace{}, Reader: &folder{Dir: memlog.Dir(t.TempDir())}}
	effect := audit.NewEffect(&audit.Record{}, &recordsOf{})
	_, err := memory.Append(audit.WithEffect(t.Context(), effect), "a.jsonl", []byte(`{}`), nil)(t.Context())
	var r audit.Record
	if effect.AddTo(&r); err == nil || !slices.Equal(r.Undone, []int{1}) || r.Unknown != nil {
		t.Errorf("undone %v, unknown %v: %v", r.Undone, r.Unknown, err)
	}
	check(t, memory.Close())
}

// TestFindReadsTheFileOnce looks for many entries.
func TestFindReadsTheFileOnce(t *testing.T) {
	dir := t.TempDir()
	complexitytest.Linear(t, 2048, func(entries int) {
		var text strings.Builder
		changes := make([]*audit.Announced, entries)
		for i := range changes {
			entry := fmt.Sprintf(`{"n":%06d}`, i)
			changes[i] = &audit.Announced{Change: audit.Change{
				Store: audit.MemoryStore, Path: "a.jsonl", At: int64(text.Len()), Size: int64(len(entry)), Lines: 1, New: hashOf(entry),
			}}
			text.WriteString(entry + "\n")
		}
		write(t, filepath.Join(dir, "a.jsonl"), text.String())
		finder, err := filesIn(t, dir).Finder(t.Context(), []string{"a.jsonl"})
		check(t, err)
		for _, c := range changes {
			check(t, finder.Find(t.Context(), []*audit.Announced{c}, func(*audit.Announced) bool { return true }, nil))
			same(t, "state", c.State, audit.Made)
		}
	})
}

// TestFind checks which of equal entries were written, whatever the file looks like.
func TestFind(t *testing.T) {
	const entry = `{"n":1}`
	const other = `{"n":2}`
	for name, tc := range map[string]struct {
		text string
		made []int64 // the places of entries that were written
		open []int64 // the places of those that are looked for
		want []audit.State
	}{
		"no file":                         {open: []int64{0}, want: []audit.State{audit.NotMade}},
		"there":                           {text: entry + "\n", open: []int64{0}, want: []audit.State{audit.Made}},
		"without newline":                 {text: entry, open: []int64{0}, want: []audit.State{audit.Made}},
		"torn":                            {text: entry[:5], open: []int64{0}, want: []audit.State{audit.NotMade}},
		"another":                         {text: other + "\n", open: []int64{0}, want: []audit.State{audit.NotMade}},
		"before its place":                {text: entry + "\n" + other + "\n", open: []int64{8}, want: []audit.State{audit.NotMade}},
		"after its place":                 {text: other + "\n" + entry + "\n", open: []int64{0}, want: []audit.State{audit.Made}},
		"written again by a later call":   {text: entry + "\n", made: []int64{0}, open: []int64{0}, want: []audit.State{audit.NotMade}},
		"written by it and a later call":  {text: entry + "\n" + entry + "\n", made: []int64{8}, open: []int64{0}, want: []audit.State{audit.Made}},
		"one of two":                      {text: entry + "\n", open: []int64{0, 0}, want: []audit.State{audit.Made, audit.NotMade}},
		"both of two":                     {text: entry + "\n" + entry + "\n", open: []int64{0, 8}, want: []audit.State{audit.Made, audit.Made}},
		"the one that was written is low": {text: entry + "\n" + other + "\n" + entry + "\n", made: []int64{0}, open: []int64{8}, want: []audit.State{audit.Made}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if tc.text != "" {
				write(t, filepath.Join(dir, "a.jsonl"), tc.text)
			}
			var changes, open []*audit.Announced
			at := func(place int64, state audit.State) *audit.Announced {
				return &audit.Announced{State: state, Change: audit.Change{
					Store: audit.MemoryStore, Path: "a.jsonl", At: place, Size: int64(len(entry)), Lines: 1, New: hashOf(entry),
				}}
			}
			for _, place := range tc.made {
				changes = append(changes, at(place, audit.Made))
			}
			for _, place := range tc.open {
				a := at(place, audit.Unknown)
				changes, open = append(changes, a), append(open, a)
			}
			finder, err := filesIn(t, dir).Finder(t.Context(), []string{changes[0].Path})
			if err != nil {
				t.Fatal(err)
			}
			// An equal entry that is appended later is that of another call.
			write(t, filepath.Join(dir, "a.jsonl"), tc.text+"\n"+entry+"\n")
			err = finder.Find(t.Context(), changes, func(a *audit.Announced) bool { return slices.Contains(open, a) }, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, a := range open {
				if a.State != tc.want[i] {
					t.Errorf("entry %d: state %d, want %d", i, a.State, tc.want[i])
				}
			}
		})
	}
}
