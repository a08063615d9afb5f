package auditindextest

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/engine/audit"
	"remit/internal/engine/audit/auditindex"
)

// Suite tests a store through an Index. open returns a function that makes empty stores, which live
// until the end of their test.
func Suite(t *testing.T, open func(t *testing.T) func() auditindex.Store) {
	t.Run("model", func(t *testing.T) { Model(t, open(t), func(b *Folder) audit.Reader { return audit.Folder{FS: b} }) })
	for name, check := range map[string]func(*testing.T, auditindex.Store){
		"empty":                      empty,
		"Append continues a day":     appendsInOrder,
		"Remove, then index again":   removed,
		"changes by other processes": following,
		"concurrent indexing":        concurrent,
		"backlog":                    backlog,
		"names of any bytes":         oddNames,
		"long periods":               longPeriods,
		"newest calls":               newestCalls,
	} {
		t.Run(name, func(t *testing.T) { check(t, open(t)()) })
	}
	t.Run("damage", func(t *testing.T) { damage(t, open(t)) })
	t.Run("separate records", func(t *testing.T) { separate(t, open(t)) })
	t.Run("latest", func(t *testing.T) { latest(t, open(t)) })
}

// indexOf returns an index of the day files of a book.
func indexOf(b *Folder, store auditindex.Store) *auditindex.Index {
	return IndexOf(b, audit.Folder{FS: b}, store)
}

// IndexOf returns an index of the records of a book.
func IndexOf(b *Folder, records audit.Reader, store auditindex.Store) *auditindex.Index {
	return &auditindex.Index{Records: records, Now: b.Now, Open: func(context.Context) (auditindex.Store, error) { return store, nil }}
}

// failer is a *testing.T or a *rapid.T.
type failer interface {
	Helper()
	Fatal(...any)
	Context() context.Context
}

// settled indexes all records.
func settled(t failer, b *Folder, x *auditindex.Index) *auditindex.Index {
	t.Helper()
	b.Pass(time.Second)
	for {
		if err := x.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !x.Status().Loading {
			return x
		}
		time.Sleep(time.Millisecond)
		b.Pass(time.Second)
	}
}

// callers returns the callers of the calls on a page.
func callers(t failer, x *auditindex.Index) (list []string) {
	t.Helper()
	page, err := x.Page(t.Context(), auditindex.Filter{}, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range page.Calls {
		list = append(list, c.Caller)
	}
	return list
}

func total(t failer, x *auditindex.Index, f auditindex.Filter) int {
	t.Helper()
	page, err := x.Page(t.Context(), f, "", 1)
	if err != nil {
		t.Fatal(err)
	}
	return page.Total
}

func empty(t *testing.T, s auditindex.Store) {
	b := NewFolder()
	x := indexOf(b, s)
	if n := total(t, x, auditindex.Filter{}); n != 0 {
		t.Errorf("%d calls before the first update", n)
	}
	settled(t, b, x)
	page, err := x.Page(t.Context(), auditindex.Filter{Tool: "none"}, "", 10)
	m, measureErr := x.Measure(t.Context(), auditindex.Filter{}, 10)
	if err != nil || measureErr != nil || len(page.Calls) != 0 || m.Tools != nil || m.Buckets != nil {
		t.Errorf("an empty folder gives %v, %v, %v, %v", page, m, err, measureErr)
	}
	if got := x.Status(); got != (auditindex.Status{}) || x.Version() != 0 {
		t.Errorf("status %+v, version %d", got, x.Version())
	}
}

func batch(from, to int64, calls ...auditindex.Call) auditindex.Batch {
	const day = "2026-01-09"
	for i := range calls {
		calls[i].Position = auditindex.Position{Day: day, Offset: from + int64(i)}
		calls[i].Kind = auditindex.Kind{Tool: "a/b", Caller: calls[i].Client, Frontend: "http", Outcome: "ok"}
		calls[i].Time = time.Date(2026, 1, 9, 10, 0, i, 123456000, time.UTC)
	}
	return auditindex.Batch{Day: day, From: from, To: to, Calls: calls}
}

func appendsInOrder(t *testing.T, s auditindex.Store) {
	add := func(b auditindex.Batch, want bool) {
		t.Helper()
		if got, err := s.Append(t.Context(), b); got != want || err != nil {
			t.Fatalf("Append from %d: %v, %v; want %v", b.From, got, err, want)
		}
	}
	add(batch(50, 60), false) // there is a gap before it
	add(batch(0, 10, auditindex.Call{Client: "ann", Version: "1.2.3", Took: 7 * time.Microsecond, Bytes: 1 << 31, Mark: 1<<32 - 1}), true)
	add(batch(0, 10, auditindex.Call{Client: "ann"}), false)
	add(auditindex.Batch{Day: "2026-01-09", From: 10, To: 20, Broken: 2}, true)
	add(batch(10, 30, auditindex.Call{Client: "bob"}), false)
	add(batch(20, 1<<38, auditindex.Call{Client: "bob"}), true)
	days, err := s.Days(t.Context())
	want := []auditindex.DayProgress{{Day: "2026-01-09", Next: 1 << 38, Calls: 2, Broken: 2, Complete: true}}
	if diff := cmp.Diff(want, days); diff != "" || err != nil {
		t.Fatalf("%v, days (-want +got):\n%s", err, diff)
	}
	kinds, err := s.Kinds(t.Context())
	if err != nil || len(kinds) != 2 {
		t.Fatal(kinds, err)
	}
	var ids []int64
	for id := range kinds {
		ids = append(ids, id)
	}
	got, err := s.Page(t.Context(), auditindex.Query{Kinds: ids, OldestFirst: true, Limit: 1})
	if err != nil || len(got) != 1 || kinds[got[0].KindID].Caller != "ann" {
		t.Fatal(got, err)
	}
	got[0].KindID = 0
	if diff := cmp.Diff(auditindex.Call{
		Position: auditindex.Position{Day: "2026-01-09"}, Mark: 1<<32 - 1, Time: time.Date(2026, 1, 9, 10, 0, 0, 123456000, time.UTC),
		Version: "1.2.3", Client: "ann", Took: 7 * time.Microsecond, Bytes: 1 << 31,
	}, got[0]); diff != "" {
		t.Errorf("a call (-want +got):\n%s", diff)
	}
}

func removed(t *testing.T, s auditindex.Store) {
	b := NewFolder()
	for range 2500 {
		b.Add("t", "ann", "ok", 0)
	}
	b.Pass(24 * time.Hour)
	b.Add("t", "bob", "ok", 0)
	x := settled(t, b, indexOf(b, s))
	if err := s.Remove(t.Context(), "2026-01-09"); err != nil {
		t.Fatal(err)
	}
	if got := callers(t, x); !slices.Equal(got, []string{"bob"}) || total(t, x, auditindex.Filter{}) != 1 {
		t.Errorf("after a day was removed: %v, %d", got, total(t, x, auditindex.Filter{}))
	}
	settled(t, b, x)
	if n := total(t, x, auditindex.Filter{From: b.Clock.AddDate(0, 0, -2)}); n != 2501 {
		t.Errorf("%d calls, want 2501", n)
	}
	if err := s.Remove(t.Context(), "2031-01-01"); err != nil {
		t.Error(err)
	}
}

func oddNames(t *testing.T, s auditindex.Store) {
	b := NewFolder()
	b.Raw(`{"time":"2026-01-09T10:00:00Z","tool":"a\u0000b","principal":"` + strings.Repeat("ü",
		200) + `","face":"\ufffd","client":"\u0000","version":"'","outcome":"o\"k","micros":99999999999999999999}` + "\n")
	x := settled(t, b, indexOf(b, s))
	page, err := x.Page(t.Context(), auditindex.Filter{Tool: "a\x00b"}, "", 10)
	if err != nil || len(page.Calls) != 1 || page.Calls[0].Client != "\x00" || page.Calls[0].Caller != strings.Repeat("ü", 128) {
		t.Errorf("%+v, %v", page, err)
	}
	if _, err := x.Record(t.Context(), page.Calls[0].ID()); err != nil {
		t.Error(err)
	}
}

// longPeriods checks counts for periods that begin at any time within hours and days.
func longPeriods(t *testing.T, s auditindex.Store) {
	b := NewFolder()
	start := time.Date(2026, 1, 8, 22, 59, 59, 999999000, time.UTC)
	var all []time.Time
	for i := range 400 {
		at := start.Add(time.Duration(i) * 17 * time.Minute)
		all = append(all, at)
		b.Clock = at
		b.Add("t", "ann", "ok", 0)
	}
	x := settled(t, b, indexOf(b, s))
	for i, at := range all {
		for _, from := range []time.Time{at, at.Truncate(time.Hour), at.Truncate(24 * time.Hour), at.Add(time.Microsecond)} {
			want := len(all) - i
			for want < len(all) && !all[len(all)-want-1].Before(from) {
				want++
			}
			if all[i].Before(from) {
				want--
			}
			if i%20 == 0 || i > 390 {
				if got := total(t, x, auditindex.Filter{From: from}); got != want {
					t.Fatalf("since %s: %d calls, want %d", from, got, want)
				}
			}
		}
	}
}

// damage checks that records are found whatever else the files contain.
func damage(t *testing.T, open func() auditindex.Store) {
	for _, tc := range []struct {
		name   string
		write  func(b *Folder)
		want   []string
		broken int
	}{
		{"whole", func(b *Folder) { b.Add("t", "ann", "ok", 0); b.Add("t", "bob", "ok", 0) }, []string{"bob", "ann"}, 0},
		{
			"a broken line", func(b *Folder) { b.Add("t", "ann", "ok", 0); b.Raw("{no\n\n"); b.Add("t", "bob", "ok", 0) },
			[]string{"bob", "ann"},
			2,
		},
		{
			"other JSON", func(b *Folder) { b.Raw("[]\n{}\n{\"time\":\"x\",\"tool\":\"t\"}\n7\n"); b.Add("t", "bob", "ok", 0) },
			[]string{"bob"},
			4,
		},
		{"a torn end", func(b *Folder) { b.Add("t", "ann", "ok", 0); b.Raw(`{"time":"2026-01`) }, []string{"ann"}, 0},
		{"only a torn end", func(b *Folder) { b.Raw(`{"time":"2026-01`) }, nil, 0},
		{"a last newline is missing", func(b *Folder) {
			b.Add("t", "ann", "ok", 0)
			b.Add("t", "bob", "ok", 0)
			name := audit.FileOf("2026-01-09")
			b.Files[name] = b.Files[name][:len(b.Files[name])-1]
		}, []string{"bob", "ann"}, 0},
		{"an empty file", func(b *Folder) { b.Raw("") }, nil, 0},
		{"several days", func(b *Folder) {
			b.Add("t", "ann", "ok", 0)
			b.Pass(3 * 24 * time.Hour)
			b.Add("t", "bob", "ok", 0)
			b.Pass(24 * time.Hour)
			b.Raw("")
		}, []string{"bob", "ann"}, 0},
		{"a line of many pieces", func(b *Folder) {
			b.Add("t", "ann", "ok", 0)
			b.Raw(strings.Repeat("x", 3*256<<10) + "\n")
			b.Add("t", "bob", "ok", 0)
		}, []string{"bob", "ann"}, 1},
		{"a line that never ends", func(b *Folder) {
			b.Add("t", "ann", "ok", 0)
			b.Raw(strings.Repeat("x", 9<<20) + "\n")
			b.Add("t", "bob", "ok", 0)
		}, []string{"bob", "ann"}, 2},
		{"other files", func(b *Folder) {
			b.Files["2026-01-08.jsonl.torn"] = []byte("x\n")
			b.Files["notes.jsonl"] = []byte("x\n")
			b.Files["0001-01-01.jsonl"] = []byte("x\n")
			b.Add("t", "ann", "ok", 0)
		}, []string{"ann"}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := NewFolder()
			tc.write(b)
			x := settled(t, b, indexOf(b, open()))
			if diff := cmp.Diff(tc.want, callers(t, x)); diff != "" {
				t.Errorf("read at once (-want +got):\n%s", diff)
			}
			if got := x.Status(); got.Broken != tc.broken || got.Loading {
				t.Errorf("status %+v, want %d broken", got, tc.broken)
			}
			late := NewFolder()
			x = settled(t, late, indexOf(late, open()))
			tc.write(late)
			if diff := cmp.Diff(tc.want, callers(t, settled(t, late, x))); diff != "" {
				t.Errorf("read as it came (-want +got):\n%s", diff)
			}
			late.Pass(time.Second)
			version := x.Version()
			if settled(t, late, x); x.Version() != version {
				t.Error("without anything new the version grows")
			}
		})
	}
}

// separate checks that stores of different records do not share calls.
func separate(t *testing.T, open func() auditindex.Store) {
	var all []*auditindex.Index
	for i := range 3 {
		b := NewFolder()
		for range i + 1 {
			b.Pass(time.Minute)
			b.Add("t", strconv.Itoa(i), "ok", time.Millisecond)
		}
		all = append(all, settled(t, b, indexOf(b, open())))
	}
	for i, x := range all {
		m, err := x.Measure(t.Context(), auditindex.Filter{}, 1)
		if err != nil || len(m.Tools) != 1 || m.Tools[0].Calls != i+1 || m.Buckets[0].Calls != i+1 ||
			!m.Buckets[0].Start.Equal(time.Date(2026, 1, 9, 10, 1, 0, 0, time.UTC)) {
			t.Errorf("records %d: %+v, %v", i, m, err)
		}
		if got := callers(t, x); len(got) != i+1 || got[0] != strconv.Itoa(i) {
			t.Errorf("records %d: %v", i, got)
		}
	}
}

// latest checks that the latest calls are returned in full, indexed or not.
func latest(t *testing.T, open func() auditindex.Store) {
	for name, indexed := range map[string]func(b *Folder, x *auditindex.Index){
		"nothing indexed": func(*Folder, *auditindex.Index) {},
		"no database":     func(_ *Folder, x *auditindex.Index) { x.Exists = func() bool { return false } },
		"no table that can be read": func(_ *Folder, x *auditindex.Index) {
			x.Open = func(context.Context) (auditindex.Store, error) { return nil, errors.New("read only") }
		},
		"all indexed": func(b *Folder, x *auditindex.Index) { settled(t, b, x) },
		"indexed by another process meanwhile": func(b *Folder, x *auditindex.Index) {
			store := open()
			other := meanwhile{store, sync.OnceFunc(func() { settled(t, b, indexOf(b, store)) })}
			x.Open = func(context.Context) (auditindex.Store, error) { return other, nil }
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := NewFolder()
			x := indexOf(b, open())
			var all []string
			add := func(tool, caller, outcome string) {
				b.Add(tool, caller, outcome, 0)
				all = append(all, caller)
			}
			add("set/one", "a", "ok")
			b.Raw("{}\n")
			add("set/two", "b", "denied")
			b.Pass(24 * time.Hour)
			for i := range 5 {
				add("set/one", strconv.Itoa(i), []string{"ok", "denied"}[i%2])
			}
			indexed(b, x)
			add("set/two", "c", "ok")
			add("set/one", "d", "denied")
			slices.Reverse(all)
			for _, tc := range []struct {
				f     auditindex.Filter
				limit int
				want  []string
			}{
				{auditindex.Filter{}, 100, all},
				{auditindex.Filter{}, 1, all[:1]},
				{auditindex.Filter{}, 4, all[:4]},
				{auditindex.Filter{Tool: "two"}, 100, []string{"c", "b"}},
				{auditindex.Filter{Tool: "set/one", Outcome: "denied"}, 2, []string{"d", "3"}},
				{auditindex.Filter{Tool: "set/one", Outcome: "denied"}, 100, []string{"d", "3", "1"}},
				{auditindex.Filter{Tool: "none"}, 100, nil},
			} {
				records, err := x.Latest(t.Context(), tc.f, tc.limit)
				var got []string
				for i := range records {
					caller, args := records[i].Field("principal"), records[i].Field("arguments")
					if len(args.Members) != 1 {
						t.Errorf("%+v is not a whole record", records[i])
					}
					got = append(got, caller.Text)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" || err != nil || records == nil {
					t.Errorf("%+v, %d: %v (-want +got):\n%s", tc.f, tc.limit, err, diff)
				}
			}
		})
	}
}
