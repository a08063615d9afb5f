package auditindex_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"remit/internal/contract"
	"remit/internal/engine/audit"
	"remit/internal/engine/audit/auditindex"
	"remit/internal/engine/audit/auditindex/auditindextest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory(t *testing.T) {
	auditindextest.Suite(t, func(*testing.T) func() auditindex.Store {
		return func() auditindex.Store { return &auditindextest.Memory{} }
	})
}

func TestNumberedLines(t *testing.T) {
	auditindextest.Model(t, func() auditindex.Store { return &auditindextest.Memory{} },
		func(b *auditindextest.Folder) audit.Reader { return auditindextest.Numbered{Folder: b} })
}

func indexOf(b *auditindextest.Folder) *auditindex.Index {
	return auditindextest.IndexOf(b, audit.Folder{FS: b}, &auditindextest.Memory{})
}

// indexed returns an index of all records of a book.
func indexed(t *testing.T, b *auditindextest.Folder) *auditindex.Index {
	t.Helper()
	x := indexOf(b)
	if err := x.Refresh(t.Context()); err != nil || x.Status().Loading {
		t.Fatal(err, x.Status())
	}
	return x
}

func TestPageRejectsCursors(t *testing.T) {
	b := auditindextest.NewFolder()
	b.Add("t", "ann", "ok", 0)
	l := indexed(t, b)
	for _, cursor := range []string{
		"x", "older.", "older.2026-01-09", "older.2026-01-09.-1", "newer.older.2026-01-09.0",
		"2026-01-09.0", "older.2026-99-09.0",
	} {
		if _, err := l.Page(t.Context(), auditindex.Filter{}, cursor, 10); contract.AsError(err).Kind != contract.Invalid {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
}

// TestFollowLeavesMuchToRefresh checks that Follow indexes a bounded number of calls, however many
// are recorded, and that Refresh indexes the rest.
func TestFollowLeavesMuchToRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := auditindextest.NewFolder()
		for range 9000 {
			b.Add("t", "ann", "ok", 0)
		}
		x := indexOf(b)
		x.Now = time.Now
		ctx, cancel := context.WithCancel(t.Context())
		go x.Follow(ctx)
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if s := x.Status(); !s.Loading || s.Percent < 40 || s.Percent > 50 {
			t.Errorf("after one update: %+v", s)
		}
		cancel()
		if err := x.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		x.Close()
		if s := x.Status(); s.Loading || s.Percent != 100 {
			t.Errorf("after Refresh: %+v", s)
		}
	})
}

// TestBegunCalls indexes many calls with two records each, of which some are always open, and one
// that never ends. Each call counts once.
func TestBegunCalls(t *testing.T) {
	b := auditindextest.NewFolder()
	add := func(call int, outcome string) {
		line := audit.Seal(b.Last, fmt.Appendf(nil, `{"time":"2026-01-09T10:00:00.000000Z","principal":"ann","frontend":"http",`+
			`"tool":"t","version":"1.0.0","call":"%d","outcome":%q,"micros":1,"bytes":7}`, call, outcome))
		b.Last = audit.HashOf(line)
		b.Raw(string(line) + "\n")
	}
	const calls, open = 1200, 40
	add(calls, audit.Begun) // never ends
	for i := range calls + open {
		if i < calls {
			add(i, audit.Begun)
		}
		if i >= open {
			add(i-open, "ok")
		}
	}
	add(0, audit.Settled) // no call of its own
	b.Pass(time.Hour)
	x := indexed(t, b)
	for outcome, want := range map[string]int{"ok": calls, audit.Begun: 1, audit.Settled: 0} {
		page, err := x.Page(t.Context(), auditindex.Filter{Outcome: outcome}, "", 10)
		if err != nil || page.Total != want {
			t.Errorf("%d calls have the outcome %s, want %d: %v", page.Total, outcome, want, err)
		}
	}
}

// TestOne checks whether a record fits its neighbors.
func TestOne(t *testing.T) {
	write := func() (*auditindextest.Folder, []string) {
		b := auditindextest.NewFolder()
		for _, who := range []string{"ann", "bob"} {
			b.Add("t", who, "ok", 0)
		}
		b.Clock = b.Clock.AddDate(0, 0, 1)
		for _, who := range []string{"cid", "dan", "eve"} {
			b.Add("t", who, "ok", 0)
		}
		page, err := indexed(t, b).Page(t.Context(), auditindex.Filter{}, "", 10)
		if err != nil {
			t.Fatal(err)
		}
		ids := make([]string, 5)
		for i, c := range page.Calls {
			ids[4-i] = c.ID()
		}
		return b, ids
	}
	const first, second = "2026-01-09.jsonl", "2026-01-10.jsonl"
	type verdict struct {
		Sealed        bool
		Before, After auditindex.Link
	}
	good := verdict{true, auditindex.Linked, auditindex.Linked}
	for _, tc := range []struct {
		name   string
		damage func(b *auditindextest.Folder)
		want   map[int]verdict // by the number of the record
	}{
		{
			"as recorded", func(*auditindextest.Folder) {},
			map[int]verdict{
				0: {true, auditindex.End, auditindex.Linked}, 1: good, 2: good, 3: good,
				4: {true, auditindex.Linked, auditindex.End},
			},
		},
		{"altered", func(b *auditindextest.Folder) {
			b.Files[first] = []byte(strings.Replace(string(b.Files[first]), "ann", "amy", 1))
		}, map[int]verdict{0: {false, auditindex.End, auditindex.Linked}, 1: good}},
		{
			"the day before is gone", func(b *auditindextest.Folder) { delete(b.Files, first) },
			map[int]verdict{2: {true, auditindex.Broken, auditindex.Linked}},
		},
		{"the end of the day before is gone", func(b *auditindextest.Folder) {
			line, _, _ := strings.Cut(string(b.Files[first]), "\n")
			b.Files[first] = []byte(line + "\n")
		}, map[int]verdict{0: {true, auditindex.End, auditindex.Broken}, 2: {true, auditindex.Broken, auditindex.Linked}}},
		{"one in between is another", func(b *auditindextest.Folder) {
			lines := strings.SplitAfter(string(b.Files[second]), "\n")
			lines[1] = strings.Repeat("x", len(lines[1])-1) + "\n"
			b.Files[second] = []byte(strings.Join(lines, ""))
		}, map[int]verdict{2: {true, auditindex.Linked, auditindex.Broken}, 4: {true, auditindex.Broken, auditindex.End}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b, ids := write()
			tc.damage(b)
			for i, want := range tc.want {
				r, err := indexOf(b).Record(t.Context(), ids[i])
				if err != nil {
					t.Fatal(err)
				}
				if got := (verdict{r.Sealed, r.Before, r.After}); got != want {
					t.Errorf("record %d: %+v, want %+v", i, got, want)
				}
				if r.Intact() != (want.Sealed && want.Before != auditindex.Broken && want.After != auditindex.Broken) {
					t.Errorf("record %d: Holds = %v", i, r.Intact())
				}
			}
		})
	}
	b, ids := write()
	for _, id := range []string{
		"", "x", "2026-01-09", ids[0] + "0", ids[0][:len(ids[0])-1],
		strings.Replace(ids[1], "2026-01-09", "2026-01-08",
			1), "2026-01-09.1.00000000", "2026-01-09.zzzz.00000000", "../../etc.0.00000000",
	} {
		if _, err := indexOf(b).Record(t.Context(), id); err == nil {
			t.Errorf("One(%q) gives a record", id)
		}
	}
}

// TestMidnightLinks checks the links when another process still writes to the old day.
func TestMidnightLinks(t *testing.T) {
	b := auditindextest.NewFolder()
	b.Clock = time.Date(2026, 1, 9, 23, 59, 30, 0, time.UTC)
	b.Add("t", "ann", "ok", 0)
	fork := b.Last
	b.Add("t", "late", "ok", 0)
	b.Last, b.Clock = fork, b.Clock.Add(time.Minute)
	b.Add("t", "bob", "ok", 0)
	page, err := indexed(t, b).Page(t.Context(), auditindex.Filter{}, "", 10)
	if err != nil || len(page.Calls) != 3 {
		t.Fatal(page, err)
	}
	for _, c := range page.Calls {
		if r, err := indexOf(b).Record(t.Context(), c.ID()); err != nil || !r.Intact() {
			t.Errorf("%s: %+v, %v", c.Caller, r, err)
		}
	}
	if n, err := audit.Verify(t.Context(), audit.Folder{FS: b}); n != 3 || err != nil {
		t.Errorf("Verify = %d, %v", n, err)
	}
}

// FuzzParse checks that no line makes the index panic or return invalid calls.
func FuzzParse(f *testing.F) {
	f.Add(`{"time":"2026-01-09T10:00:00Z","tool":"t","outcome":"ok","micros":-1,"bytes":99999999999,"hash":"zz"}`)
	f.Add(`{"time":1,"tool":{},"outcome":[]}`)
	f.Fuzz(func(t *testing.T, text string) {
		b := auditindextest.NewFolder()
		b.Raw(text + "\n")
		x := indexed(t, b)
		page, err := x.Page(t.Context(), auditindex.Filter{}, "", 100)
		if err != nil || len(page.Calls) != page.Total {
			t.Errorf("%+v, %v", page, err)
		}
		for _, c := range page.Calls {
			if c.Took < 0 || c.Bytes < 0 || c.Tool == "" || c.Outcome == "" {
				t.Errorf("%+v", c)
			}
			if _, err := x.Record(t.Context(), c.ID()); err != nil {
				t.Error(err)
			}
		}
	})
}
