package ledger

import (
	"fmt"
	"io/fs"
	"math"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"remit/internal/engine/audit"
)

// numbered is a book whose lines have numbers for places, as in a database, and come
// three at a time.
type numbered struct{ *book }

func (n numbered) Open(name string) (fs.File, error) {
	file, err := n.book.Open(name)
	if err != nil || name == "." {
		return file, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	var lines []Line
	for line := range strings.Lines(string(n.files[name])) {
		if text, whole := strings.CutSuffix(line, "\n"); whole {
			place := int64(1000 + len(lines))
			lines = append(lines, Line{place, place + 1, []byte(text)})
		}
	}
	return numberedFile{file, lines}, nil
}

type numberedFile struct {
	fs.File
	lines []Line
}

func (n numberedFile) From(place int64) ([]Line, error) {
	at := max(0, min(place-1000, int64(len(n.lines))))
	return n.lines[at:min(at+3, int64(len(n.lines)))], nil
}

func (n numberedFile) Before(place int64) ([]Line, error) {
	at := max(0, min(place-1000, int64(len(n.lines))))
	lines := slices.Clone(n.lines[max(0, at-3):at])
	slices.Reverse(lines)
	return lines, nil
}

// known is a call as the model knows it.
type known struct {
	at                          time.Time
	tool, caller, face, outcome string
	took                        time.Duration
}

func (k known) fits(f Filter) bool {
	return (f.Tool == "" || f.Tool == k.tool) && (f.Caller == "" || f.Caller == k.caller) &&
		(f.Outcome == "" || f.Outcome == k.outcome || f.Outcome == Failed && IsFailure(k.outcome)) &&
		(f.From.IsZero() || !k.at.Before(f.From)) && (f.To.IsZero() || k.at.Before(f.To)) && (f.Face == "" || f.Face == k.face) && (f.Without == "" || f.Without != k.face)
}

// TestModel compares with a plain list, whatever is done in whatever order.
func TestModel(t *testing.T) {
	t.Run("plain files", func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { model(t, func(b *book) fs.FS { return b }) }) })
	t.Run("numbered lines", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) { model(t, func(b *book) fs.FS { return numbered{b} }) })
	})
}

func model(t *rapid.T, folder func(*book) fs.FS) {
	b := newBook()
	l := &Ledger{Files: folder(b), Now: b.now, Most: rapid.SampledFrom([]int{8, 40, 1000}).Draw(t, "most")}
	var all []known
	choose := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
	t.Repeat(map[string]func(*rapid.T){
		"add": func(t *rapid.T) {
			for range rapid.IntRange(1, 9).Draw(t, "n") {
				b.clock = b.clock.Add(time.Millisecond)
				k := known{
					b.clock, choose("tool", "a/x", "a/y", "resources/read"), choose("caller", "ann", "bob", ""), choose("face", "http", "page"),
					choose("outcome", "ok", "invalid", "limited", "pending"), time.Duration(rapid.IntRange(0, 5000).Draw(t, "took")) * time.Microsecond,
				}
				b.face = k.face
				b.add(k.tool, k.caller, k.outcome, k.took)
				all = append(all, k)
			}
		},
		"damage":  func(t *rapid.T) { b.raw(choose("text", "x\n", "\n", "{}\n")) },
		"night":   func(t *rapid.T) { b.clock = b.clock.AddDate(0, 0, rapid.IntRange(1, 3).Draw(t, "days")) },
		"restart": func(t *rapid.T) { l = &Ledger{Files: folder(b), Now: b.now, Most: l.Most} },
		"look":    func(t *rapid.T) { settled(t, b, l) },
		"": func(t *rapid.T) {
			settled(t, b, l)
			n := l.Status().Calls
			if n < min(l.Most, len(all)) || n > l.Most+l.Most/8 && n > l.Most+3 {
				t.Fatalf("%d at hand of %d, at most %d", n, len(all), l.Most)
			}
			f := Filter{Tool: choose("of tool", "", "a/x", "none"), Caller: choose("of caller", "", "bob"), Outcome: choose("of outcome", "", "ok", "limited", Failed), Face: choose("of face", "", "http"), Without: choose("without", "", "page", "none")}
			if len(all) > 0 && rapid.Bool().Draw(t, "timed") {
				f.From = all[rapid.IntRange(0, len(all)-1).Draw(t, "from")].at
				f.To = all[rapid.IntRange(0, len(all)-1).Draw(t, "to")].at
			}
			compare(t, l, f, all[len(all)-n:])
		},
	})
}

func compare(t *rapid.T, l *Ledger, f Filter, at []known) {
	var want []known
	for _, k := range slices.Backward(at) {
		if k.fits(f) {
			want = append(want, k)
		}
	}
	if n := l.Count(f); n != len(want) {
		t.Fatalf("Count(%+v) = %d, want %d", f, n, len(want))
	}
	limit := rapid.IntRange(1, 7).Draw(t, "limit")
	var got []known
	var cursor, newest string
	var sizes []string
	for {
		page, err := l.Page(f, cursor, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range page.Calls {
			got = append(got, known{c.Time, c.Tool, c.Caller, c.Face, c.Outcome, c.Took})
		}
		sizes = append(sizes, cursor)
		if cursor != "" {
			checkBack(t, l, f, page.Newer, limit, len(sizes))
		} else if len(page.Calls) > 0 {
			newest = page.Calls[0].ID
		}
		if cursor = page.Older; cursor == "" {
			break
		}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(known{})); diff != "" {
		t.Fatalf("pages of %+v (-want +got):\n%s", f, diff)
	}
	if newest != "" {
		if r, err := l.One(newest); err != nil || r.Value.Kind == 0 || !r.Sealed {
			t.Fatalf("One(%s) = %+v, %v", newest, r, err)
		}
	}
	compareTools(t, l.Tools(f), want)
	compareSeries(t, l, f, want)
}

// checkBack goes back from a page: there is a full page before it.
func checkBack(t *rapid.T, l *Ledger, f Filter, cursor string, limit, pages int) {
	page, err := l.Page(f, cursor, limit)
	if err != nil || len(page.Calls) != limit || page.Older == "" {
		t.Fatalf("back from page %d: %d calls, %v", pages, len(page.Calls), err)
	}
	if (page.Newer == "") != (pages == 2) {
		t.Fatalf("back from page %d: newer is %q", pages, page.Newer)
	}
}

func compareTools(t *rapid.T, got []Tool, calls []known) {
	byTool := map[string][]known{}
	for _, k := range calls {
		byTool[k.tool] = append(byTool[k.tool], k)
	}
	var want []Tool
	for tool, calls := range byTool {
		sum := Tool{Tool: tool, Calls: len(calls), Times: exact(calls)}
		for _, k := range calls {
			if IsFailure(k.outcome) {
				sum.fail(k.outcome)
			}
		}
		want = append(want, sum)
	}
	sort.Slice(want, func(i, j int) bool {
		return want[i].Calls > want[j].Calls || want[i].Calls == want[j].Calls && want[i].Tool < want[j].Tool
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("tools (-want +got):\n%s", diff)
	}
}

func compareSeries(t *rapid.T, l *Ledger, f Filter, calls []known) {
	buckets := l.Series(f, rapid.IntRange(1, 9).Draw(t, "stretches"))
	if len(calls) > 0 && len(buckets) == 0 {
		t.Fatalf("no stretches for %d calls", len(calls))
	}
	for i, bucket := range buckets {
		end := time.UnixMicro(math.MaxInt64 / 2)
		if i+1 < len(buckets) {
			end = buckets[i+1].Start
		}
		var want Bucket
		var within []known
		for _, k := range calls {
			if !k.at.Before(bucket.Start) && k.at.Before(end) {
				within = append(within, k)
				want.Calls++
				if IsFailure(k.outcome) {
					want.Failures++
				}
			}
		}
		want.Start, want.Times = bucket.Start, exact(within)
		if diff := cmp.Diff(want, bucket); diff != "" {
			t.Fatalf("stretch %d (-want +got):\n%s", i, diff)
		}
	}
}

// exact measures by putting everything in order that was measured.
func exact(calls []known) (times Times) {
	var took []time.Duration
	for _, k := range calls {
		if k.took > 0 {
			took = append(took, k.took)
		}
	}
	if len(took) == 0 {
		return times
	}
	slices.Sort(took)
	rank := func(p float64) time.Duration { return took[int(math.Ceil(p*float64(len(took))))-1] }
	return Times{rank(.50), rank(.95), rank(.99)}
}

// TestNth compares the quick way with the slow one.
func TestNth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Int64Range(0, 50), 1, 300).Draw(t, "list")
		k := rapid.IntRange(0, len(list)-1).Draw(t, "k")
		sorted := slices.Sorted(slices.Values(list))
		if got := nth(list, k); got != sorted[k] || slices.Max(list[:k+1]) > got {
			t.Fatalf("nth %d = %d, want %d", k, got, sorted[k])
		}
	})
}

// TestOne: the verdict on a record and its neighbours.
func TestOne(t *testing.T) {
	write := func() (*book, []string) {
		b := newBook()
		for _, who := range []string{"ann", "bob"} {
			b.add("t", who, "ok", 0)
		}
		b.clock = b.clock.AddDate(0, 0, 1)
		for _, who := range []string{"cid", "dan", "eve"} {
			b.add("t", who, "ok", 0)
		}
		page, err := settled(t, b, b.ledger()).Page(Filter{}, "", 10)
		if err != nil {
			t.Fatal(err)
		}
		ids := make([]string, 5)
		for i, c := range page.Calls {
			ids[4-i] = c.ID
		}
		return b, ids
	}
	const first, second = "2026-01-09.jsonl", "2026-01-10.jsonl"
	type verdict struct {
		Sealed        bool
		Before, After Link
	}
	good := verdict{true, Fits, Fits}
	for _, tc := range []struct {
		name   string
		damage func(b *book)
		want   map[int]verdict // by the number of the record
	}{
		{"as recorded", func(*book) {}, map[int]verdict{0: {true, End, Fits}, 1: good, 2: good, 3: good, 4: {true, Fits, End}}},
		{"altered", func(b *book) { b.files[first] = []byte(strings.Replace(string(b.files[first]), "ann", "amy", 1)) }, map[int]verdict{0: {false, End, Fits}, 1: good}},
		{"the day before is gone", func(b *book) { delete(b.files, first) }, map[int]verdict{2: {true, Broken, Fits}}},
		{"the end of the day before is gone", func(b *book) {
			line, _, _ := strings.Cut(string(b.files[first]), "\n")
			b.files[first] = []byte(line + "\n")
		}, map[int]verdict{0: {true, End, Broken}, 2: {true, Broken, Fits}}},
		{"one in between is another", func(b *book) {
			lines := strings.SplitAfter(string(b.files[second]), "\n")
			lines[1] = strings.Repeat("x", len(lines[1])-1) + "\n"
			b.files[second] = []byte(strings.Join(lines, ""))
		}, map[int]verdict{2: {true, Fits, Broken}, 4: {true, Broken, End}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b, ids := write()
			tc.damage(b)
			for i, want := range tc.want {
				r, err := b.ledger().One(ids[i])
				if err != nil {
					t.Fatal(err)
				}
				if got := (verdict{r.Sealed, r.Before, r.After}); got != want {
					t.Errorf("record %d: %+v, want %+v", i, got, want)
				}
				if r.Holds() != (want.Sealed && want.Before != Broken && want.After != Broken) {
					t.Errorf("record %d: Holds = %v", i, r.Holds())
				}
			}
		})
	}
	b, ids := write()
	for _, id := range []string{"", "x", "2026-01-09", ids[0] + "0", ids[0][:len(ids[0])-1], strings.Replace(ids[1], "2026-01-09", "2026-01-08", 1), "2026-01-09.1.00000000", "2026-01-09.zzzz.00000000", "../../etc.0.00000000"} {
		if _, err := b.ledger().One(id); err == nil {
			t.Errorf("One(%q) gives a record", id)
		}
	}
}

// TestMidnightLinks: another process may still write to the old day.
func TestMidnightLinks(t *testing.T) {
	b := newBook()
	b.clock = time.Date(2026, 1, 9, 23, 59, 30, 0, time.UTC)
	b.add("t", "ann", "ok", 0)
	fork := b.last
	b.add("t", "late", "ok", 0)
	b.last, b.clock = fork, b.clock.Add(time.Minute)
	b.add("t", "bob", "ok", 0)
	page, err := settled(t, b, b.ledger()).Page(Filter{}, "", 10)
	if err != nil || len(page.Calls) != 3 {
		t.Fatal(page, err)
	}
	for _, c := range page.Calls {
		if r, err := b.ledger().One(c.ID); err != nil || !r.Holds() {
			t.Errorf("%s: %+v, %v", c.Caller, r, err)
		}
	}
	if n, err := audit.Verify(b); n != 3 || err != nil {
		t.Errorf("Verify = %d, %v", n, err)
	}
}

// FuzzParse: whatever a line holds, reading it neither panics nor makes things up.
func FuzzParse(f *testing.F) {
	f.Add(`{"time":"2026-01-09T10:00:00Z","tool":"t","outcome":"ok","micros":-1,"bytes":99999999999,"hash":"zz"}`)
	f.Add(`{"time":1,"tool":{},"outcome":[]}`)
	f.Fuzz(func(t *testing.T, text string) {
		p := parse(&Line{Text: []byte(text)})
		if p.micros < 0 || p.whole && (p.texts[0] == "" || p.texts[5] == "") {
			t.Errorf("%+v", p)
		}
		b := newBook()
		b.raw(text + "\n")
		l := settled(t, b, b.ledger())
		page, err := l.Page(Filter{}, "", 100)
		if err != nil || len(page.Calls) != l.Count(Filter{}) {
			t.Errorf("%+v, %v", page, err)
		}
		for _, c := range page.Calls {
			if _, err := l.One(c.ID); err != nil {
				t.Error(err)
			}
		}
	})
}

// bench is a ledger with as many records as it keeps.
func bench(b *testing.B) *Ledger {
	log := newBook()
	var text strings.Builder
	start := log.clock
	for i := range mostByDefault {
		fmt.Fprintf(&text, `{"time":%q,"principal":"agent:%d","face":"http","client":"bench/1","tool":"set/tool%d","version":"1.0.0","arguments":{"path":"internal/engine/audit/ledger/ledger.go","limit":100},"outcome":%q,"micros":%d,"bytes":512,"prev":"%064d","hash":"%064x"}`+"\n",
			start.Add(time.Duration(i)*100*time.Millisecond).Format(time.RFC3339Nano), i%7, i%25, []string{"ok", "ok", "ok", "limited", "invalid"}[i%5], (i*7919)%90000, i, i)
	}
	log.raw(text.String())
	l := settled(b, log, log.ledger())
	if n := l.Status().Calls; n != mostByDefault {
		b.Fatalf("%d calls", n)
	}
	return l
}

func BenchmarkQueries(b *testing.B) {
	l := bench(b)
	rare := Filter{Tool: "set/tool3", Outcome: "invalid"} // there is none: all are looked at
	all := Filter{To: l.Now().AddDate(0, 0, 7)}
	for name, query := range map[string]func(){
		"page":   func() { _, _ = l.Page(Filter{}, "", 50) },
		"rare":   func() { _, _ = l.Page(rare, "", 50) },
		"count":  func() { l.Count(Filter{Outcome: Failed}) },
		"tools":  func() { l.Tools(Filter{}) },
		"names":  func() { l.Names(Filter{}) },
		"series": func() { l.Series(all, 60) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				query()
			}
		})
	}
}
