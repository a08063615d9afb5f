package console

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/engine/audit/auditindex"
)

// callsPerPage is how many calls a page lists.
const callsPerPage = 50

// callRow is one call in a list.
type callRow struct {
	auditindex.Call
	promise
}

// promise is what the contract of a tool aims at.
type promise struct {
	Served *engine.Tool // nil if it is not served, or is no tool
}

// Target is the time that the contract aims at; zero if there is none.
func (p promise) Target() time.Duration {
	if p.Served == nil {
		return 0
	}
	return time.Duration(p.Served.Deadline.Target)
}

// Over tells whether a time is beyond what the contract aims at.
func (p promise) Over(took time.Duration) bool { return p.Served != nil && took > p.Target() }

// latestShown is how many calls the overview shows.
const latestShown = 10

// latestCalls are the newest calls, for the overview; none before the first call. The block "callrows" of
// templates/callrows.html shows them.
func (v *visit) latestCalls(ctx context.Context) []callRow {
	if v.Calls == nil {
		return nil
	}
	_ = v.Calls.Refresh(ctx) // Status reports it
	page, err := v.Calls.Page(ctx, auditindex.Filter{Without: facePage}, "", latestShown)
	if err != nil || !slices.ContainsFunc(page.Names.Tools, isCall) {
		return nil
	}
	return v.rows(page.Calls)
}

// isCall tells a call from what people did in the console or with tokens, and from those
// who were not let in: whoever has only signed in has still to connect something.
func isCall(of auditindex.Count) bool {
	set, _, _ := strings.Cut(of.Name, "/")
	return set != "console" && set != "token" && set != "door"
}

// rows adds to calls what the contracts say of them.
func (v *visit) rows(calls []auditindex.Call) []callRow {
	tools := v.served()
	rows := make([]callRow, len(calls))
	for i, c := range calls {
		rows[i] = callRow{c, tools[c.Tool]}
	}
	return rows
}

// served are the tools by the names that records have for them.
func (v *visit) served() map[string]promise {
	tools := map[string]promise{}
	for _, t := range v.Engine.Tools() {
		tools[t.ID] = promise{t}
	}
	return tools
}

// period is a stretch of time up to now that people choose.
type period struct {
	Key, Words string
	Length     time.Duration // zero is all time
	Stretch    time.Duration // of the chart; zero divides it into as many as there are for others
}

func periods() []period {
	return []period{
		{"1h", "last hour", time.Hour, time.Minute},
		{"24h", "last 24 hours", 24 * time.Hour, 30 * time.Minute},
		{"7d", "last 7 days", 7 * 24 * time.Hour, 3 * time.Hour},
		{"all", "all time", 0, 0},
	}
}

// allFaces chooses what pages read to show themselves too, which is left out otherwise:
// it is most of what happens while somebody looks, and nobody's call.
const allFaces = "all"

// chosen is what the address of a page chooses.
type chosen struct {
	auditindex.Filter
	Face   string // one of them, allFaces, or "" for all but that of pages
	Period period
	Live   bool   // the page follows what happens
	Times  bool   // it shows tools and times, not the list
	Cursor string // where the list begins
}

// choose reads what an address chooses.
func (v *visit) choose(q url.Values) (chosen, error) {
	c := chosen{
		Filter: auditindex.Filter{Tool: q.Get("tool"), Caller: q.Get("caller"), Outcome: q.Get("outcome")}, Face: q.Get("face"),
		Live: q.Get("live") != "off", Times: q.Get("view") == "times", Cursor: q.Get("page"),
	}
	switch c.Face {
	case "":
		c.Without = facePage
	case allFaces:
	default:
		c.Filter.Face = c.Face
	}
	key := cmp.Or(q.Get("period"), "24h")
	i := slices.IndexFunc(periods(), func(p period) bool { return p.Key == key })
	if i < 0 {
		return c, contract.Errorf(contract.Invalid, "There is no period %q; there are 1h, 24h, 7d and all", key)
	}
	c.Period = periods()[i]
	if c.Period.Length > 0 { // whole stretches, so that charts do not waver
		c.From = v.Now().Truncate(c.Period.Stretch).Add(c.Period.Stretch - c.Period.Length)
	}
	return c, nil
}

// callsView is what the page of calls shows.
type callsView struct {
	URL    *url.URL // of the page
	Part   string   // the address of the part that follows what happens; "" if it does not
	Chosen chosen
	auditindex.Sums
	Status auditindex.Status
	Rows   []callRow
	Pager  pager
	Tools  []toolTimes
	Chart  *chart
}

// Grouped writes a number with its thousands apart.
func (callsView) Grouped(n int) string { return grouped(n) }

// Periods are those to choose from.
func (callsView) Periods() []period { return periods() }

// livePath is the part of the page of calls that follows what happens.
const livePath = "/console/calls/live"

// listCalls answers with the page, or with the part of it that follows what happens.
func (v *visit) listCalls() error {
	view, err := v.callsView()
	switch {
	case err != nil:
		return err
	case v.r.URL.Path == livePath:
		return v.part("calls", "live", view)
	}
	return v.page("calls", "calls", "Calls", view)
}

func (v *visit) callsView() (*callsView, error) {
	c, err := v.choose(v.r.URL.Query())
	if err != nil {
		return nil, err
	}
	view := &callsView{URL: &url.URL{Path: "/console/calls", RawQuery: v.r.URL.RawQuery}, Chosen: c}
	if c.Live && c.Cursor == "" { // older pages do not change
		view.Part = (&url.URL{Path: livePath, RawQuery: v.r.URL.RawQuery}).String()
	}
	_ = v.Calls.Refresh(v.r.Context()) // Status reports it
	view.Status = v.Calls.Status()
	if c.Times {
		err = v.times(view, c)
	} else {
		err = v.list(view, c)
	}
	if c.Outcome != "" {
		view.Failed = 0 // of one outcome, all or none are
	}
	return view, err
}

// unreadable says that the index of calls cannot be read.
func unreadable(err error) error {
	if contract.AsError(err).Kind == contract.Invalid {
		return err
	}
	return contract.Errorf(contract.Unavailable, "The record of calls cannot be read right now; try again").Because(err)
}

// list adds the page of the list that the address chooses.
func (v *visit) list(view *callsView, c chosen) error {
	page, err := v.Calls.Page(v.r.Context(), c.Filter, c.Cursor, callsPerPage)
	if err != nil {
		return unreadable(err)
	}
	view.Sums, view.Rows = page.Sums, v.rows(page.Calls)
	_, view.Pager.Next = turned(view.URL, "page", page.Older)
	_, view.Pager.Prev = turned(view.URL, "page", page.Newer)
	return nil
}

// toolTimes are the measures of a tool beside what its contract promises.
type toolTimes struct {
	promise
	Sum   auditindex.Tool
	Kinds []auditindex.Count
}

// times adds the measures of tools, and the chart.
func (v *visit) times(view *callsView, c chosen) error {
	m, err := v.measure(c)
	if err != nil {
		return err
	}
	view.Sums, view.Chart = m.Sums, v.chart(c, m.Buckets)
	tools := v.served()
	for _, sum := range m.Tools {
		row := toolTimes{promise: tools[sum.Tool], Sum: sum}
		for _, kind := range contract.Kinds() {
			if n := sum.Kinds[string(kind)]; n > 0 {
				row.Kinds = append(row.Kinds, auditindex.Count{Name: string(kind), Calls: n})
			}
		}
		view.Tools = append(view.Tools, row)
	}
	return nil
}

// callView is one call in full.
type callView struct {
	ID     string
	Record auditindex.Record
	Time   time.Time
	Took   time.Duration
	promise
	Changed bool // its contract has another version now
}

// Text is a part of the record that is text or a number.
func (c *callView) Text(key string) string { return textOf(&c.Record.Value, key) }

// Arguments are those of the record: redacted when it was made.
func (c *callView) Arguments() string {
	args := c.Record.Value.Field("arguments")
	return shownJSON(&args)
}

// Whole is the record as it was kept.
func (c *callView) Whole() string { return shownJSON(&c.Record.Value) }

// Bytes is the size of the answer.
func (c *callView) Bytes() int64 {
	n := c.Record.Value.Field("bytes")
	var size int64
	_ = n.Decode(&size) // 0 if it is not there
	return size
}

func (v *visit) showCall() error {
	id := v.r.PathValue("id")
	record, err := v.Calls.One(v.r.Context(), id)
	if err != nil {
		return err
	}
	view := &callView{ID: id, Record: record}
	if at, err := time.Parse(time.RFC3339Nano, view.Text("time")); err == nil {
		view.Time = at
	}
	var micros int64
	if took := record.Value.Field("micros"); took.Decode(&micros) == nil {
		view.Took = time.Duration(micros) * time.Microsecond
	}
	view.promise = v.served()[view.Text("tool")]
	view.Changed = view.Served != nil && view.Served.Version.String() != view.Text("version")
	return v.page("call", "calls", "Call of "+view.Text("tool"), view)
}
