package auditindextest

import (
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"remit/internal/engine/audit"
	"remit/internal/engine/audit/auditindex"
)

// comparePulse compares the sums of a window with a plain list of the calls.
func comparePulse(t *rapid.T, x *auditindex.Index, all []known) {
	interval := rapid.SampledFrom([]time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, 2 * time.Hour}).Draw(t, "interval")
	w := auditindex.Window{Interval: interval, Intervals: rapid.IntRange(1, 100).Draw(t, "intervals")}
	w.From = all[rapid.IntRange(0, len(all)-1).Draw(t, "window")].at.Truncate(interval)
	w.Keep = func(k *auditindex.Kind) bool { return k.Frontend != "page" }
	got, err := x.Pulse(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	var within []known
	for _, k := range all {
		if k.frontend != "page" && !k.at.Before(w.From) && k.at.Before(w.To()) {
			within = append(within, k)
		}
	}
	comparePulseCallers(t, w, got.Callers, within, all)
	comparePulseTools(t, got, within)
}

func comparePulseCallers(t *rapid.T, w auditindex.Window, got []auditindex.CallerPulse, within, all []known) {
	total := 0
	for _, c := range got {
		calls, failed := make([]int, w.Intervals), make([]int, w.Intervals)
		for _, k := range within {
			if k.caller != c.Caller {
				continue
			}
			at := int(k.at.Sub(w.From) / w.Interval)
			calls[at]++
			if audit.IsFailure(k.outcome) {
				failed[at]++
			}
		}
		if diff := cmp.Diff([][]int{calls, failed}, [][]int{c.Calls, c.Failed}); diff != "" {
			t.Fatalf("calls and failures of %q (-want +got):\n%s", c.Caller, diff)
		}
		if c.Total != sum(calls) || c.Errors != sum(failed) || c.Total == 0 {
			t.Fatalf("%q has %d calls and %d failures, want %d and %d", c.Caller, c.Total, c.Errors, sum(calls), sum(failed))
		}
		total += c.Total
		if !slices.ContainsFunc(all, func(k known) bool { return k.caller == c.Caller && k.at.Equal(c.Last.Time) }) {
			t.Fatalf("the last call of %q is %+v", c.Caller, c.Last)
		}
	}
	if total != len(within) {
		t.Fatalf("callers with %d calls, want %d", total, len(within))
	}
}

func comparePulseTools(t *rapid.T, p auditindex.Pulse, within []known) {
	total, failed := 0, 0
	for _, tool := range p.Tools {
		var calls []known
		for _, k := range within {
			if k.tool == tool.Tool {
				calls = append(calls, k)
			}
		}
		done := 0
		for _, k := range calls {
			if k.outcome == "ok" {
				done++
			}
		}
		want := exact(calls)
		if tool.Total != len(calls) || tool.Done != done || !isNear(tool.P50, want.P50) || !isNear(tool.P95, want.P95) {
			t.Fatalf("%+v, want %d calls and %+v", tool, len(calls), want)
		}
		total, failed = total+tool.Total, failed+tool.Errors
	}
	for _, f := range p.Failures {
		n := 0
		for _, k := range within {
			if k.tool == f.Tool && k.outcome == f.Outcome {
				n++
			}
		}
		if f.Calls != n || n == 0 || !audit.IsFailure(f.Outcome) || f.Last.Time.IsZero() {
			t.Fatalf("%+v, want %d calls", f, n)
		}
		failed -= n
	}
	if total != len(within) || failed != 0 {
		t.Fatalf("tools with %d calls, want %d; %d failures of tools are under no outcome", total, len(within), failed)
	}
}

// isNear reports whether a duration differs by as much as a histogram may round it.
func isNear(got, want time.Duration) bool { return (got - want).Abs() <= want/32 }

func sum(numbers []int) (total int) {
	for _, n := range numbers {
		total += n
	}
	return total
}
