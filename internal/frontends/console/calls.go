package console

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/engine/audit"
	"remit/internal/engine/audit/auditindex"
)

// callsPerPage is the number of calls on one page of the list.
const callsPerPage = 50

// callRow is one call in a list.
type callRow struct {
	auditindex.Call
	latencyTarget
}

// HasRelated reports whether other records may belong to the call: it may have changed something,
// or it is a decision about another call.
func (r callRow) HasRelated() bool {
	return r.Served != nil && !r.Served.Hints.ReadOnly || strings.HasPrefix(r.Tool, "approvals/")
}

// latencyTarget is the latency target of a tool, from its contract.
type latencyTarget struct {
	Served *engine.Tool // nil if the tool is not served, or the record is not of a tool
}

// Target returns the latency that the contract aims at, or zero if the tool is not served.
func (p latencyTarget) Target() time.Duration {
	if p.Served == nil {
		return 0
	}
	return time.Duration(p.Served.Deadline.Target)
}

// Over reports whether a duration exceeds the target.
func (p latencyTarget) Over(took time.Duration) bool { return p.Served != nil && took > p.Target() }

// isCall reports whether calls are of agents or people to tools, not reads of pages, sign-ins,
// decisions, actions with tokens, or rejected requests. Somebody who has only signed in still has
// to connect a client.
func isCall(k *auditindex.Kind) bool {
	set, _, _ := strings.Cut(k.Tool, "/")
	return k.Frontend != frontendPage && !slices.Contains([]string{"console", "token", "auth", "trust", "approvals"}, set)
}

// rows adds the latency targets of the tools to calls.
func (v *visit) rows(calls []auditindex.Call) []callRow {
	tools := v.served()
	rows := make([]callRow, len(calls))
	for i, c := range calls {
		rows[i] = callRow{c, tools[c.Tool]}
	}
	return rows
}

// served returns the latency targets of the served tools, by the tool names in records.
func (v *visit) served() map[string]latencyTarget {
	tools := map[string]latencyTarget{}
	for _, t := range v.Engine.Tools() {
		tools[t.ID] = latencyTarget{t}
	}
	return tools
}

// period is a time range up to now that people can choose.
type period struct {
	Key, Label string
	Length     time.Duration // zero is all time
	Interval   time.Duration // of the chart; if zero, the range is divided into maxIntervals
}

func periods() []period {
	return []period{
		{"30m", "last 30 minutes", 30 * time.Minute, time.Minute},
		{"1h", "last hour", time.Hour, time.Minute},
		{"6h", "last 6 hours", 6 * time.Hour, 5 * time.Minute},
		{"24h", "last 24 hours", 24 * time.Hour, 15 * time.Minute},
		{"7d", "last 7 days", 7 * 24 * time.Hour, 2 * time.Hour},
		{"all", "all time", 0, 0},
	}
}

// allFrontends selects the reads of console pages too. They are left out by default, because most
// records are such reads while somebody looks at the console, and nobody called a tool.
const allFrontends = "all"

// chosen is the selection in the URL of a page.
type chosen struct {
	auditindex.Filter
	Via    string // the front end, allFrontends, or "" for all except console pages
	Period period
	Live   bool   // the page updates itself
	Times  bool   // show tools and latency, not the list
	Cursor string // the start of the list
}

// choose parses the parameters of a URL.
func (v *visit) choose(q url.Values) (chosen, error) {
	c := chosen{
		Filter: auditindex.Filter{Tool: q.Get("tool"), Caller: q.Get("caller"), Outcome: q.Get("outcome")}, Via: q.Get("face"),
		Live: q.Get("live") != "off" && q.Get("q") == "", Times: q.Get("view") == "times", Cursor: q.Get("page"),
	}
	c.Text = strings.TrimSpace(q.Get("q"))
	if len(c.Text) > maxQuery {
		return c, contract.Errorf(contract.Invalid, "q must have at most %d bytes", maxQuery)
	}
	switch c.Via {
	case "":
		c.ExceptFrontend = frontendPage
	case allFrontends:
	default:
		c.Frontend = c.Via
	}
	key := cmp.Or(q.Get("period"), "24h")
	i := slices.IndexFunc(periods(), func(p period) bool { return p.Key == key })
	if i < 0 {
		return c, contract.Errorf(contract.Invalid, "Unknown period %q; use 30m, 1h, 6h, 24h, 7d or all", key)
	}
	c.Period = periods()[i]
	// Whole intervals, so that the bars of the chart do not shift with each request.
	if c.Period.Length > 0 {
		c.From = c.Period.from(v.Now())
	}
	return c, nil
}

// Short returns the length of a period, such as "6 h".
func (p period) Short() string {
	if p.Length%(24*time.Hour) == 0 && p.Length > 24*time.Hour {
		return strconv.Itoa(int(p.Length/(24*time.Hour))) + " d"
	}
	return formatSpan(p.Length)
}

// from returns the beginning of a period with intervals that ends with the current interval.
func (p period) from(now time.Time) time.Time {
	return now.UTC().Truncate(p.Interval).Add(p.Interval - p.Length)
}

// callsView is the data of the calls page.
type callsView struct {
	URL    *url.URL // of the page
	Part   string   // the URL of the part that updates itself; "" if the page does not
	Chosen chosen
	auditindex.Sums
	Status auditindex.Status
	Rows   []callRow
	Pager  pager
	// Reached is down to when calls were searched for a text, if more are left.
	Reached time.Time
	Tools   []toolTimes
	Chart   *chart
}

// Grouped formats a number with thousands separators.
func (callsView) Grouped(n int) string { return grouped(n) }

// Periods returns the periods to choose from.
func (callsView) Periods() []period { return periods() }

// livePath is the URL path of the part of the calls page that updates itself.
const livePath = "/console/calls/live"

// listCalls responds with the calls page, or with the part of it that updates itself.
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
	switch {
	case c.Times:
		err = v.times(view, c)
	case c.Text != "":
		err = v.search(view, c)
	default:
		err = v.list(view, c)
	}
	if c.Outcome != "" {
		view.Failed = 0 // with a filter on the outcome, all calls failed or none did
	}
	return view, err
}

// unreadable wraps a failure to read the index of calls as Unavailable.
func unreadable(err error) error {
	if contract.AsError(err).Kind == contract.Invalid {
		return err
	}
	return contract.Errorf(contract.Unavailable, "The audit records cannot be read right now; try again").Because(err)
}

// search adds the calls with a text to the view.
func (v *visit) search(view *callsView, c chosen) error {
	page, err := v.Calls.Page(v.r.Context(), c.Filter, "", 1) // for the names to choose from
	if err != nil {
		return unreadable(err)
	}
	found, err := v.Calls.Find(v.r.Context(), c.Filter, c.Cursor, callsPerPage)
	if err != nil {
		return unreadable(err)
	}
	calls := make([]auditindex.Call, len(found.Entries))
	for i := range calls {
		calls[i] = found.Entries[i].Call
	}
	view.Names, view.Rows, view.Reached = page.Names, v.rows(calls), found.Searched
	_, view.Pager.Next = cursorLinks(view.URL, "page", found.Older)
	return nil
}

// list adds the selected page of the list to the view.
func (v *visit) list(view *callsView, c chosen) error {
	page, err := v.Calls.Page(v.r.Context(), c.Filter, c.Cursor, callsPerPage)
	if err != nil {
		return unreadable(err)
	}
	view.Sums, view.Rows = page.Sums, v.rows(page.Calls)
	_, view.Pager.Next = cursorLinks(view.URL, "page", page.Older)
	_, view.Pager.Prev = cursorLinks(view.URL, "page", page.Newer)
	return nil
}

// toolTimes are the measured latencies of a tool, with its target.
type toolTimes struct {
	latencyTarget
	Sum   auditindex.Tool
	Kinds []auditindex.Count
}

// times adds the latencies of tools and the chart to the view.
func (v *visit) times(view *callsView, c chosen) error {
	m, err := v.measure(c)
	if err != nil {
		return err
	}
	view.Sums, view.Chart = m.Sums, v.chart(c, m.Buckets)
	tools := v.served()
	for _, sum := range m.Tools {
		row := toolTimes{latencyTarget: tools[sum.Tool], Sum: sum}
		for _, kind := range contract.Kinds() {
			if n := sum.Kinds[string(kind)]; n > 0 {
				row.Kinds = append(row.Kinds, auditindex.Count{Name: string(kind), Calls: n})
			}
		}
		view.Tools = append(view.Tools, row)
	}
	return nil
}

// callView is the data of the page of one call.
type callView struct {
	ID     string
	Record auditindex.Record
	Time   time.Time
	Took   time.Duration
	latencyTarget
	Changed bool // the contract has another version now
	Related related
}

// Text returns a string or number of the record.
func (c *callView) Text(key string) string { return textOf(&c.Record.Value, key) }

// Decided returns the id of the approval request that the record of a decision names.
func (c *callView) Decided() string {
	if !strings.HasPrefix(c.Text("tool"), "approvals/") {
		return ""
	}
	return auditindex.RequestOf(&c.Record.Value)
}

// Frontend returns the front end of the call.
func (c *callView) Frontend() string { return audit.FrontendOf(&c.Record.Value) }

// Arguments returns the recorded arguments. They were redacted when the record was written.
func (c *callView) Arguments() string {
	args := c.Record.Value.Field("arguments")
	return shownJSON(&args)
}

// Whole returns the whole record as it was written.
func (c *callView) Whole() string { return shownJSON(&c.Record.Value) }

// Bytes returns the size of the response.
func (c *callView) Bytes() int64 {
	n := c.Record.Value.Field("bytes")
	var size int64
	_ = n.Decode(&size) // 0 if it is missing
	return size
}

func (v *visit) showCall() error {
	id := v.r.PathValue("id")
	record, err := v.Calls.Record(v.r.Context(), id)
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
	view.Related = v.related(id)
	view.latencyTarget = v.served()[view.Text("tool")]
	view.Changed = view.Served != nil && view.Served.Version.String() != view.Text("version")
	return v.page("call", "calls", "Call to "+view.Text("tool"), view)
}
