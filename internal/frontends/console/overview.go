package console

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"remit/internal/contract"
)

// overviewPage is the data of the overview.
type overviewPage struct {
	Root, Version string
	Sets          []setRow
	Tools         int
	ReadOnly      bool
	Approve       string // what happens to calls that need approval
	Identity      string // how callers are identified
	Checks        []checkRow
	Healthy       bool // every check passed
	Waiting       []requestRow
	More          string // how many more requests are waiting; empty if none
	Calls         []callRow
	Clients       []Client // how to connect, if nothing has called yet
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

func (v *visit) overview() error {
	page := overviewPage{Root: v.Root, Version: v.Version, ReadOnly: v.Engine.ReadOnly, Sets: v.sets(), Calls: v.latestCalls(v.r.Context())}
	for _, set := range page.Sets {
		page.Tools += set.Tools
	}
	page.Approve, page.Identity = v.setting("approve"), v.Identity()
	page.Checks, page.Healthy = v.checks()
	var err error
	if page.Waiting, page.More, err = v.firstWaiting(); err != nil {
		return err
	}
	if len(page.Calls) == 0 {
		page.Clients = v.Clients(v.base(), "")
		page.Clients = page.Clients[:min(3, len(page.Clients))]
	}
	return v.page("overview", "overview", "Overview", page)
}

// overviewPart responds with one of the live parts of the page.
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
	return contract.Errorf(contract.NotFound, "The overview has no such part")
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

// healthTimeout bounds how long the health checks may delay the overview.
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

// firstWaiting returns the waiting requests that the overview shows, and how many more there are.
func (v *visit) firstWaiting() (rows []requestRow, more string, err error) {
	const maxShown = 5
	waiting, err := v.waiting(v.r.Context(), maxShown)
	if err != nil {
		return nil, "", err
	}
	for _, r := range waiting {
		rows = append(rows, rowOf(r, v.Now()))
	}
	if rest := v.currentState(v.r.Context()).Waiting - maxShown; rest > 0 {
		more = strconv.Itoa(rest)
	}
	return rows, more, nil
}
