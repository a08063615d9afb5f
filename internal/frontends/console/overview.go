package console

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/audit/auditindex"
	"remit/internal/engine/identity"
)

// overviewPage is the data of the overview.
type overviewPage struct {
	Pulse    *pulseView
	Windows  []period
	Tools    int
	ReadOnly bool
	Approve  string // what happens to calls that need approval
	Checks   []checkRow
	Healthy  bool // every check passed
	Admin    bool
	Clients  []Client // how to connect, if nothing has called yet
}

// Failing returns the names of the failed health checks.
func (p *overviewPage) Failing() string {
	var names []string
	for _, check := range p.Checks {
		if !check.OK {
			names = append(names, check.Name)
		}
	}
	return strings.Join(names, ", ")
}

// setRow is a served toolset.
type setRow struct {
	Name         string
	Tools, Write int // how many tools, and how many of them write
}

// checkRow is the result of one health check.
type checkRow struct {
	Name string
	OK   bool
}

// windows returns the periods that the overview may show.
func windows() []period {
	return slices.DeleteFunc(periods(), func(p period) bool { return !slices.Contains([]string{"30m", "6h", "24h", "7d"}, p.Key) })
}

// window returns the period that the address of the page names.
func (v *visit) window() (period, error) {
	key := v.r.URL.Query().Get("window")
	all := windows()
	if key == "" {
		return all[0], nil
	}
	i := slices.IndexFunc(all, func(p period) bool { return p.Key == key })
	if i < 0 {
		return period{}, contract.Errorf(contract.Invalid, "Unknown window %q; use 30m, 6h, 24h or 7d", key)
	}
	return all[i], nil
}

func (v *visit) overview() error {
	window, err := v.window()
	if err != nil {
		return err
	}
	page := overviewPage{Windows: windows(), ReadOnly: v.Engine.ReadOnly, Tools: len(v.Engine.Tools()), Approve: v.setting("approve")}
	page.Admin = v.person.Role >= identity.Admin
	if page.Pulse, err = v.pulse(window, v.currentState(v.r.Context())); err != nil {
		return err
	}
	page.Checks, page.Healthy = v.checks()
	if page.Pulse.Unused {
		page.Clients = v.Clients(v.base(), "")
		page.Clients = page.Clients[:min(3, len(page.Clients))]
	}
	return v.page("overview", "overview", "Overview", &page)
}

// pulsePath is the URL path of the part of the overview that updates itself.
const pulsePath = "/console/overview/pulse"

// showPulse responds with the part of the overview that updates itself.
func (v *visit) showPulse() error {
	window, err := v.window()
	if err != nil {
		return err
	}
	// The event that lets the page ask for this part came with the state that was polled last.
	now, shared := v.live.shared()
	if !shared {
		now = v.currentState(v.r.Context())
	}
	pulse, err := v.pulse(window, now)
	if err != nil {
		return err
	}
	if pulse.Unused { // the page says how to connect
		v.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return v.part("overview", "pulse", pulse)
}

// sets returns the served toolsets in the order of the catalog.
func (c *Console) sets() []setRow {
	var rows []setRow
	for _, tool := range c.Engine.Tools() {
		i := slices.IndexFunc(rows, func(r setRow) bool { return r.Name == tool.Set })
		if i < 0 {
			i = len(rows)
			rows = append(rows, setRow{Name: tool.Set})
		}
		rows[i].Tools++
		if !tool.Hints.ReadOnly {
			rows[i].Write++
		}
	}
	return rows
}

// setting returns the effective value of a setting, or "" if there is no such setting.
func (c *Console) setting(key string) string {
	for _, s := range c.Settings() {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// healthTimeout bounds how long the health checks may delay a page.
const healthTimeout = 2 * time.Second

// checks runs the health checks. The reasons of failures go to the log.
func (v *visit) checks() (rows []checkRow, healthy bool) {
	ctx, cancel := context.WithTimeout(v.r.Context(), healthTimeout)
	defer cancel()
	found := v.Health(ctx)
	healthy = true
	for _, name := range slices.Sorted(maps.Keys(found)) {
		err := found[name]
		if err != nil {
			healthy = false
			v.Log.Warn("health check failed", "check", name, "error", err)
		}
		rows = append(rows, checkRow{Name: strings.ReplaceAll(name, "_", " "), OK: err == nil})
	}
	return rows, healthy
}

// pulseWindow returns the calls of a period that the overview counts.
func pulseWindow(p period, now time.Time) auditindex.Window {
	return auditindex.Window{From: p.from(now), Interval: p.Interval, Intervals: int(p.Length / p.Interval), Keep: isCall}
}
