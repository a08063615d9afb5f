package auditindextest

import (
	"math"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"remit/internal/engine/audit"
	"remit/internal/engine/audit/auditindex"
)

// known is a call of the model.
type known struct {
	at                              time.Time
	tool, caller, frontend, outcome string
	took                            time.Duration
}

func (k known) fits(f auditindex.Filter) bool {
	return (f.Tool == "" || f.Tool == k.tool) && (f.Caller == "" || f.Caller == k.caller) &&
		(f.Outcome == "" || f.Outcome == k.outcome || f.Outcome == auditindex.Failed && audit.IsFailure(k.outcome)) &&
		(f.From.IsZero() || !k.at.Before(f.From)) && (f.To.IsZero() || k.at.Before(f.To)) &&
		(f.Frontend == "" || f.Frontend == k.frontend) && (f.ExceptFrontend == "" || f.ExceptFrontend != k.frontend)
}

// Model compares an index with a plain list, over random sequences of operations.
func Model(t *testing.T, open func() auditindex.Store, records func(*Folder) audit.Reader) {
	rapid.Check(t, func(t *rapid.T) { steps(t, open(), records) })
}

func steps(t *rapid.T, store auditindex.Store, records func(*Folder) audit.Reader) {
	b := NewFolder()
	x := IndexOf(b, records(b), store)
	var all []known
	changed := true
	choose := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
	t.Repeat(map[string]func(*rapid.T){
		"add": func(t *rapid.T) {
			changed = true
			for range rapid.IntRange(1, 9).Draw(t, "n") {
				b.Pass(time.Millisecond)
				k := known{
					b.Clock, choose("tool", "a/x", "a/y", "resources/read"), choose("caller", "ann", "bob", ""), choose("face",
						"http", "page"),
					choose("outcome", "ok", "invalid", "limited",
						"pending"), time.Duration(rapid.IntRange(0, 5000).Draw(t, "took")) * time.Microsecond,
				}
				b.Frontend = k.frontend
				b.Add(k.tool, k.caller, k.outcome, k.took)
				all = append(all, k)
			}
		},
		"damage":  func(t *rapid.T) { b.Raw(choose("text", "x\n", "\n", "{}\n")) },
		"pass":    func(t *rapid.T) { b.Pass(time.Duration(rapid.IntRange(1, 5000).Draw(t, "minutes")) * time.Minute) },
		"restart": func(t *rapid.T) { x = IndexOf(b, records(b), store) },
		"other":   func(t *rapid.T) { settled(t, b, IndexOf(b, records(b), store)) },
		"lose": func(t *rapid.T) {
			if err := store.Remove(t.Context(), b.Clock.Format(time.DateOnly)); err != nil {
				t.Fatal(err)
			}
		},
		"": func(t *rapid.T) {
			if !changed { // every comparison takes a hundred queries
				return
			}
			changed = false
			settled(t, b, x)
			f := auditindex.Filter{
				Tool: choose("of tool", "", "a/x", "none"), Caller: choose("of caller", "", "bob"), Frontend: choose("of frontend", "", "http"),
				Outcome: choose("of outcome", "", "ok", "limited", auditindex.Failed), ExceptFrontend: choose("without", "", "page", "none"),
			}
			if len(all) > 0 && rapid.Bool().Draw(t, "timed") {
				f.From = all[rapid.IntRange(0, len(all)-1).Draw(t, "from")].at
			}
			compareSums(t, x, f, all)
			if len(all) > 0 {
				comparePulse(t, x, all)
			}
			if len(all) > 0 && rapid.Bool().Draw(t, "ended") {
				f.To = all[rapid.IntRange(0, len(all)-1).Draw(t, "to")].at
			}
			compare(t, x, f, all)
		},
	})
}

func compareSums(t *rapid.T, x *auditindex.Index, f auditindex.Filter, all []known) {
	got, err := x.Page(t.Context(), f, "", 1)
	if err != nil {
		t.Fatal(err)
	}
	want, tools := auditindex.Sums{}, map[string]int{}
	for _, k := range all {
		if k.fits(f) {
			want.Total++
			if audit.IsFailure(k.outcome) {
				want.Failed++
			}
		}
		if k.fits(auditindex.Filter{From: f.From, ExceptFrontend: f.ExceptFrontend}) {
			tools[k.tool]++
		}
	}
	if got.Total != want.Total || got.Failed != want.Failed || len(got.Names.Tools) != len(tools) {
		t.Fatalf("Sums(%+v) = %+v, want %+v, %v", f, got, want, tools)
	}
	for _, c := range got.Names.Tools {
		if tools[c.Name] != c.Calls {
			t.Fatalf("Sums(%+v): %d calls of %s, want %d", f, c.Calls, c.Name, tools[c.Name])
		}
	}
}

func compare(t *rapid.T, x *auditindex.Index, f auditindex.Filter, all []known) {
	var want []known
	for _, k := range slices.Backward(all) {
		if k.fits(f) {
			want = append(want, k)
		}
	}
	limit := rapid.IntRange(1, 7).Draw(t, "limit")
	var got []known
	var cursor, newest string
	var pages int
	for {
		page, err := x.Page(t.Context(), f, cursor, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range page.Calls {
			got = append(got, known{c.Time, c.Tool, c.Caller, c.Frontend, c.Outcome, c.Took})
		}
		pages++
		if cursor != "" {
			checkBack(t, x, f, page.Newer, limit, pages)
		} else if len(page.Calls) > 0 {
			newest = page.Calls[0].ID()
		}
		if cursor = page.Older; cursor == "" {
			break
		}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(known{})); diff != "" {
		t.Fatalf("pages of %+v (-want +got):\n%s", f, diff)
	}
	if newest != "" {
		if r, err := x.Record(t.Context(), newest); err != nil || r.Value.Kind == 0 || !r.Sealed {
			t.Fatalf("One(%s) = %+v, %v", newest, r, err)
		}
	}
	m, err := x.Measure(t.Context(), f, rapid.IntRange(1, 9).Draw(t, "stretches"))
	if err != nil {
		t.Fatal(err)
	}
	compareTools(t, m.Tools, want)
	compareBuckets(t, m.Buckets, want)
}

// checkBack follows the cursor to the previous page, which must be full.
func checkBack(t *rapid.T, x *auditindex.Index, f auditindex.Filter, cursor string, limit, pages int) {
	page, err := x.Page(t.Context(), f, cursor, limit)
	if err != nil || len(page.Calls) != limit || page.Older == "" {
		t.Fatalf("back from page %d: %d calls, %v", pages, len(page.Calls), err)
	}
	if (page.Newer == "") != (pages == 2) {
		t.Fatalf("back from page %d: newer is %q", pages, page.Newer)
	}
}

func compareTools(t *rapid.T, got []auditindex.Tool, calls []known) {
	byTool := map[string][]known{}
	for _, k := range calls {
		byTool[k.tool] = append(byTool[k.tool], k)
	}
	want := []auditindex.Tool{}
	for tool, calls := range byTool {
		sum := auditindex.Tool{Tool: tool, Calls: len(calls), Percentiles: exact(calls)}
		for _, k := range calls {
			if !audit.IsFailure(k.outcome) {
				continue
			}
			if sum.Kinds == nil {
				sum.Kinds = map[string]int{}
			}
			sum.Failures++
			sum.Kinds[k.outcome]++
			if k.outcome == "limited" {
				sum.Limited++
			}
		}
		want = append(want, sum)
	}
	sort.Slice(want, func(i, j int) bool {
		return want[i].Calls > want[j].Calls || want[i].Calls == want[j].Calls && want[i].Tool < want[j].Tool
	})
	if diff := cmp.Diff(want, append([]auditindex.Tool{}, got...)); diff != "" {
		t.Fatalf("tools (-want +got):\n%s", diff)
	}
}

func compareBuckets(t *rapid.T, buckets []auditindex.Bucket, calls []known) {
	if len(calls) > 0 && len(buckets) == 0 {
		t.Fatalf("no stretches for %d calls", len(calls))
	}
	for i, bucket := range buckets {
		end := time.UnixMicro(math.MaxInt64 / 2)
		if i+1 < len(buckets) {
			end = buckets[i+1].Start
		}
		var want auditindex.Bucket
		var within []known
		for _, k := range calls {
			if !k.at.Before(bucket.Start) && k.at.Before(end) {
				within = append(within, k)
				want.Calls++
				if audit.IsFailure(k.outcome) {
					want.Failures++
				}
			}
		}
		want.Start, want.Percentiles = bucket.Start, exact(within)
		if diff := cmp.Diff(want, bucket); diff != "" {
			t.Fatalf("stretch %d (-want +got):\n%s", i, diff)
		}
	}
}

// exact computes percentiles by sorting all durations.
func exact(calls []known) (times auditindex.Percentiles) {
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
	return auditindex.Percentiles{P50: rank(.50), P95: rank(.95), P99: rank(.99)}
}
