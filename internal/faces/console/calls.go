package console

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/engine/audit/ledger"
	"remit/internal/engine/identity"
)

func (c *Console) callRoutes() []route {
	return []route{
		{"GET /console/calls", identity.Viewer, (*visit).listCalls},
		{"GET /console/calls/live", identity.Viewer, (*visit).refreshCalls},
		{"GET /console/calls/series", identity.Viewer, (*visit).callSeries},
		{"GET /console/calls/{id}", identity.Viewer, (*visit).showCall},
	}
}

// callsPerPage is how many calls a page lists.
const callsPerPage = 50

// callRow is one call in a list.
type callRow struct {
	ledger.Call
	Served bool          // the tool has a page
	Name   string        // of the tool, without its set
	Slow   bool          // it took longer than the contract aims at
	Target time.Duration // what the contract aims at; zero if it is no tool
}

// latestShown is how many calls the overview shows.
const latestShown = 10

// latestCalls are the newest calls, for the overview; none before the first call. The block "callrows" of
// templates/callrows.html shows them.
func (v *visit) latestCalls() []callRow {
	if v.Calls == nil {
		return nil
	}
	_ = v.Calls.Refresh() // what is at hand is shown, and Status tells of trouble
	filter := ledger.Filter{Without: facePage}
	page, err := v.Calls.Page(filter, "", latestShown)
	if err != nil || !slices.ContainsFunc(v.Calls.Names(filter).Tools, isCall) {
		return nil
	}
	return v.rows(page.Calls)
}

// isCall tells a call from what people did in the console or with tokens, and from those
// who were not let in: whoever has only signed in has still to connect something.
func isCall(of ledger.Count) bool {
	set, _, _ := strings.Cut(of.Name, "/")
	return set != "console" && set != "token" && set != "door"
}

// rows adds to calls what the contracts say of them.
func (v *visit) rows(calls []ledger.Call) []callRow {
	tools := v.served()
	rows := make([]callRow, len(calls))
	for i, c := range calls {
		rows[i] = callRow{Call: c}
		if t := tools[c.Tool]; t != nil {
			target := time.Duration(t.Deadline.Target)
			rows[i].Served, rows[i].Name, rows[i].Target, rows[i].Slow = true, t.Name, target, c.Took > target
		}
	}
	return rows
}

// served are the tools by the names that records have for them.
func (v *visit) served() map[string]*engine.Tool {
	tools := map[string]*engine.Tool{}
	for _, t := range v.Engine.Tools() {
		tools[t.ID] = t
	}
	return tools
}

// period is a stretch of time up to now that people choose.
type period struct {
	Key, Words string
	Length     time.Duration // zero is all that is at hand
	Stretch    time.Duration // of the chart; zero divides it into as many as there are for others
}

func periods() []period {
	return []period{
		{"1h", "last hour", time.Hour, time.Minute},
		{"24h", "last 24 hours", 24 * time.Hour, 30 * time.Minute},
		{"7d", "last 7 days", 7 * 24 * time.Hour, 3 * time.Hour},
		{"all", "all at hand", 0, 0},
	}
}

// allFaces chooses what pages read to show themselves too, which is left out otherwise:
// it is most of what happens while somebody looks, and nobody's call.
const allFaces = "all"

// chosen is what the address of a page chooses.
type chosen struct {
	ledger.Filter
	Face   string // one of them, allFaces, or "" for all but that of pages
	Period period
	Live   bool   // the page follows what happens
	Times  bool   // it shows tools and times, not the list
	Cursor string // where the list begins
}

// choose reads what an address chooses.
func (v *visit) choose(q url.Values) (chosen, error) {
	c := chosen{
		Filter: ledger.Filter{Tool: q.Get("tool"), Caller: q.Get("caller"), Outcome: q.Get("outcome")}, Face: q.Get("face"),
		Live: q.Get("live") != "off", Times: q.Get("view") == "times", Cursor: q.Get("page"),
	}
	switch c.Face {
	case "":
		c.Without = facePage
	case allFaces:
	default:
		c.Filter.Face = c.Face
	}
	key := q.Get("period")
	if key == "" {
		key = "24h"
	}
	for _, p := range periods() {
		if p.Key == key {
			c.Period = p
			if p.Length > 0 { // whole stretches, so that charts do not waver
				c.From = v.Now().Truncate(p.Stretch).Add(p.Stretch - p.Length)
			}
			return c, nil
		}
	}
	return c, contract.Errorf(contract.Invalid, "There is no period %q; there are 1h, 24h, 7d and all", key)
}

// callsView is what the page of calls shows.
type callsView struct {
	URL    *url.URL // of the page
	Part   string   // the address of the part that follows what happens; "" if it does not
	Chosen chosen
	Names  ledger.Names
	Status ledger.Status
	Total  int
	Failed int
	Rows   []callRow
	Pager  pager
	Tools  []toolTimes
	Chart  *chart
}

// Grouped writes a number with its thousands apart.
func (callsView) Grouped(n int) string { return grouped(n) }

// Periods are those to choose from.
func (callsView) Periods() []period { return periods() }

func (v *visit) listCalls() error {
	view, err := v.callsView()
	if err != nil {
		return err
	}
	return v.page("calls", "calls", "Calls", view)
}

// refreshCalls answers with the part of the page that follows what happens.
func (v *visit) refreshCalls() error {
	view, err := v.callsView()
	if err != nil {
		return err
	}
	return v.part("calls", "live", view)
}

func (v *visit) callsView() (*callsView, error) {
	c, err := v.choose(v.r.URL.Query())
	if err != nil {
		return nil, err
	}
	view := &callsView{URL: &url.URL{Path: "/console/calls", RawQuery: v.r.URL.RawQuery}, Chosen: c}
	if c.Live && c.Cursor == "" { // older pages do not change
		view.Part = (&url.URL{Path: "/console/calls/live", RawQuery: v.r.URL.RawQuery}).String()
	}
	_ = v.Calls.Refresh() // Status tells of trouble
	view.Names, view.Status = v.Calls.Names(ledger.Filter{From: c.From, Without: c.Without}), v.Calls.Status()
	view.Total = v.Calls.Count(c.Filter)
	failed := c.Filter
	if failed.Outcome == "" {
		failed.Outcome = ledger.Failed // of one outcome, all or none are
		view.Failed = v.Calls.Count(failed)
	}
	if c.Times {
		view.Tools, view.Chart = v.toolTimes(c.Filter), v.chart(c)
		return view, nil
	}
	return view, v.list(view, c)
}

// list adds the page of the list that the address chooses.
func (v *visit) list(view *callsView, c chosen) error {
	page, err := v.Calls.Page(c.Filter, c.Cursor, callsPerPage)
	if err != nil {
		return err
	}
	view.Rows = v.rows(page.Calls)
	if view.Pager.Next, err = pageAt(view.URL, page.Older); err != nil {
		return err
	}
	if view.Pager.Prev, err = pageAt(view.URL, page.Newer); err != nil {
		return err
	}
	return nil
}

// pageAt is the address of another page of the list; "" if there is none.
func pageAt(u *url.URL, cursor string) (string, error) {
	if cursor == "" {
		return "", nil
	}
	return query(u, "page", cursor)
}

// toolTimes are the measures of a tool beside what its contract promises.
type toolTimes struct {
	Sum    ledger.Tool
	Name   string // of the tool's page; "" if it has none
	Kinds  []ledger.Count
	Target time.Duration // zero if there is none
}

// Over tells whether a time is beyond what the contract aims at.
func (t toolTimes) Over(took time.Duration) bool { return t.Target > 0 && took > t.Target }

func (v *visit) toolTimes(f ledger.Filter) []toolTimes {
	tools := v.served()
	var list []toolTimes
	for _, sum := range v.Calls.Tools(f) {
		row := toolTimes{Sum: sum}
		for _, kind := range contract.Kinds() {
			if n := sum.Kinds[string(kind)]; n > 0 {
				row.Kinds = append(row.Kinds, ledger.Count{Name: string(kind), Calls: n})
			}
		}
		if t := tools[sum.Tool]; t != nil {
			row.Name, row.Target = t.Name, time.Duration(t.Deadline.Target)
		}
		list = append(list, row)
	}
	return list
}
