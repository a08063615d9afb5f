package console

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"remit/internal/engine/audit/auditindex"
	"remit/internal/visible"
)

// addTools adds the tools whose latency is closest to the target of their contract, or over it.
func (p *pulseView) addTools(calls *auditindex.Pulse, served map[string]latencyTarget) {
	for _, tool := range calls.Tools {
		target := served[tool.Tool]
		if target.Served == nil || tool.P95 == 0 {
			continue
		}
		row := toolRow{ToolPulse: tool, Name: target.Served.Name, Target: target.Target(), Deadline: time.Duration(target.Served.Deadline.Max), Tone: "good"}
		if target.Over(tool.P95) {
			row.Tone = "warn"
			p.Slow++
		}
		row.scale()
		p.Tools = append(p.Tools, row)
	}
	p.Measured = len(p.Tools)
	slices.SortStableFunc(p.Tools, func(a, b toolRow) int { return cmp.Compare(b.share(), a.share()) })
	p.Tools = p.Tools[:min(len(p.Tools), maxPulseTools)]
}

// share returns how much of its target the p95 of a tool is.
func (r *toolRow) share() float64 { return float64(r.P95) / float64(max(r.Target, 1)) }

// bulletWidth is the length of a bullet, in its own units.
const bulletWidth = 160

// scale computes the lengths in the bullet: it holds the target and the p95.
func (r *toolRow) scale() {
	unit := bulletWidth / (1.1 * float64(max(r.Target, r.P95, 1)))
	r.Half, r.Most, r.Aim = max(unit*float64(r.P50), 1), max(unit*float64(r.P95), 2), unit*float64(r.Target)
}

// addFailures adds the most frequent failures.
func (p *pulseView) addFailures(calls *auditindex.Pulse) {
	for _, f := range calls.Failures[:min(len(calls.Failures), maxPulseFailures)] {
		var callers []string
		for _, c := range f.Callers[:min(len(f.Callers), 2)] {
			callers = append(callers, clip(cmp.Or(visible.Line(c.Name), "anonymous"), 30))
		}
		if more := len(f.Callers) - len(callers); more > 0 {
			callers = append(callers, fmt.Sprintf("%d more", more))
		}
		query := url.Values{"tool": {f.Tool}, "outcome": {f.Outcome}, "period": {p.Window.Key}}
		p.Failures = append(p.Failures, failureRow{f, "/console/calls?" + query.Encode(), strings.Join(callers, ", ")})
	}
	p.MoreFailures = len(calls.Failures) - len(p.Failures)
}

// growthRow says how much there is of something, and what calls have changed in the window.
type growthRow struct {
	What, Href string
	Now        string
	Since      string // "" if it is not known
}

// growth returns what the workspace holds, and what changed since the window began. Only calls are
// known for the past; how large something was then is not.
func (v *visit) growth(ctx context.Context, calls *auditindex.Pulse) []growthRow {
	if v.Holdings == nil {
		return nil
	}
	h, err := v.Holdings(ctx)
	if err != nil { // the health checks say why
		v.Log.Debug("reading what the workspace holds failed", "error", err)
	}
	known := func(text string) string {
		if err != nil {
			return ""
		}
		return text
	}
	size := func(n int64) string {
		text, _ := byteCount(n) // an integer never fails
		return known(text)
	}
	total := 0
	for i := range calls.Callers {
		total += calls.Callers[i].Total
	}
	rows := []growthRow{{"Tasks", "/console/tasks", known(grouped(int(h.Tasks))), v.changedBy(calls, "tasks")}}
	if h.MemoryFiles > 0 {
		now := fmt.Sprintf("%s %s, %s", grouped(int(h.MemoryFiles)), plural(int(h.MemoryFiles), "file", "files"), size(h.MemoryBytes))
		rows = append(rows, growthRow{"Memory", "/console/memory", now, v.changedBy(calls, "learning-os", "booster", "memory")})
	}
	rows = append(rows,
		growthRow{"Books", "/console/books", "", v.changedBy(calls, "books")},
		growthRow{"Record of calls", "/console/calls", size(h.Records), grouped(total) + " " + plural(total, "call", "calls")},
		growthRow{"Database, with the indexes", "", size(h.Database), ""},
	)
	if h.All > 0 {
		rows = append(rows, growthRow{"Free space on the disk", "", size(h.Free) + " of " + size(h.All), ""})
	}
	return rows
}

// changedBy says which calls have changed something of some toolsets.
func (v *visit) changedBy(calls *auditindex.Pulse, sets ...string) string {
	var parts []string
	for _, tool := range calls.Tools {
		set, _, _ := strings.Cut(tool.Tool, "/")
		served := v.served()[tool.Tool].Served
		if tool.Done > 0 && served != nil && !served.Hints.ReadOnly && slices.Contains(sets, set) {
			parts = append(parts, fmt.Sprintf("%s × %s", grouped(tool.Done), served.Title))
		}
	}
	if len(parts) == 0 {
		return "no change by a call"
	}
	return strings.Join(parts, ", ")
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
