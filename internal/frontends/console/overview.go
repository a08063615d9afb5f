package console

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"remit/internal/contract"
)

// overviewPage is what the overview shows.
type overviewPage struct {
	Root, Version string
	Sets          []setRow
	Tools         int
	ReadOnly      bool
	Approve       string // what happens to calls that need approval
	Identity      string // how callers are told apart
	Checks        []checkRow
	Well          bool // every check passed
	Waiting       []requestRow
	More          bool // others wait too
	Calls         []callRow
	Clients       []Client // how to connect, if nothing has called yet
}

// setRow is a toolset that is served.
type setRow struct {
	Name         string
	Tools, Write int // how many tools, and how many of them write
}

// checkRow is one thing that must work.
type checkRow struct {
	Name string
	OK   bool
}

func (v *visit) overview() error {
	page := overviewPage{Root: v.Root, Version: v.Version, ReadOnly: v.Engine.ReadOnly, Sets: v.sets(), Calls: v.latestCalls(v.r.Context())}
	for _, set := range page.Sets {
		page.Tools += set.Tools
	}
	page.Approve, page.Identity = v.setting("approve"), v.Identity()
	page.Checks, page.Well = v.checks()
	var err error
	if page.Waiting, page.More, err = v.firstWaiting(); err != nil {
		return err
	}
	if len(page.Calls) == 0 {
		page.Clients = v.Clients(v.base())
		page.Clients = page.Clients[:min(3, len(page.Clients))]
	}
	return v.page("overview", "overview", "Overview", page)
}

// overviewPart answers with a part of the page that follows what happens.
func (v *visit) overviewPart() error {
	switch v.r.PathValue("part") {
	case "approvals":
		waiting, more, err := v.firstWaiting()
		if err != nil {
			return err
		}
		return v.part("overview", "waiting-list", overviewPage{Waiting: waiting, More: more})
	case "calls":
		calls := v.latestCalls(v.r.Context())
		if len(calls) == 0 {
			v.w.WriteHeader(http.StatusNoContent)
			return nil
		}
		return v.part("overview", "call-list", overviewPage{Calls: calls})
	}
	return contract.Errorf(contract.NotFound, "There is no such part")
}

// sets are the toolsets that are served, in the order of the catalog.
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

// setting is the effective value of a setting; "" if it is not known.
func (c *Console) setting(key string) string {
	for _, s := range c.Settings() {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// checkPatience is how long the checks may hold up the overview.
const checkPatience = 2 * time.Second

// checks tells what works; why something does not goes to the log.
func (v *visit) checks() (rows []checkRow, well bool) {
	ctx, cancel := context.WithTimeout(v.r.Context(), checkPatience)
	defer cancel()
	found := v.Health(ctx)
	well = true
	for _, name := range slices.Sorted(maps.Keys(found)) {
		err := found[name]
		if err != nil {
			well = false
			v.Log.Warn("health check failed", "check", name, "error", err)
		}
		rows = append(rows, checkRow{Name: strings.ReplaceAll(name, "_", " "), OK: err == nil})
	}
	return rows, well
}

// firstWaiting are the requests that the overview shows, and whether there are more.
func (v *visit) firstWaiting() (rows []requestRow, more bool, err error) {
	const most = 5
	waiting, err := v.waiting(v.r.Context(), most+1)
	if err != nil {
		return nil, false, err
	}
	for _, r := range waiting[:min(most, len(waiting))] {
		rows = append(rows, rowOf(r, v.Now()))
	}
	return rows, len(waiting) > most, nil
}
