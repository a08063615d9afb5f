package console

import (
	"cmp"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
	"remit/internal/engine/audit/auditindex"
	"remit/internal/engine/identity"
)

const (
	agentsPath   = "/console/agents"
	entriesShown = 40 // calls on one page of a timeline
)

// agentHref returns the address of the timeline of a caller.
func agentHref(principal string) string { return agentsPath + "/" + url.PathEscape(principal) }

// agentRow is a caller in the list.
type agentRow struct {
	Name  string
	Calls int
}

// Monogram returns two letters for the caller.
func (a agentRow) Monogram() string { return monogram(a.Name) }

// Colour returns the class with the colour of the caller.
func (a agentRow) Colour() string { return colourOf(a.Name) }

// Href returns the address of the caller's timeline.
func (a agentRow) Href() string { return agentHref(a.Name) }

// listAgents lists the callers, those with the most calls first.
func (v *visit) listAgents() error {
	_ = v.Calls.Refresh(v.r.Context()) // the timeline of each reports it
	page, err := v.Calls.Page(v.r.Context(), auditindex.Filter{ExceptFrontend: frontendPage}, "", 1)
	if err != nil {
		return unreadable(err)
	}
	var rows []agentRow
	for _, caller := range page.Names.Callers {
		if caller.Name != "" {
			rows = append(rows, agentRow{caller.Name, caller.Calls})
		}
	}
	shown, pages := pageOf(v, rows, callsPerPage)
	return v.page("agents", "agents", "Agents", map[string]any{"Rows": shown, "Pager": pages})
}

// agentPage is the data of the timeline of a caller.
type agentPage struct {
	agentRow
	auditindex.Summary
	URL     *url.URL
	Show    string // which entries: "", asked, changes or failures
	Chosen  auditindex.Filter
	Token   *identity.Token
	Status  auditindex.Status
	Days    []group[*timelineEntry]
	Shown   []sessionRow // the sessions of the calls on the page
	Older   string       // the address of older calls; "" at the end
	Reached time.Time    // down to where the records were searched, if more are left
	Cursor  string
	Part    string // the address of the part that a script loads
}

// sessionRow is a session among the calls on a page.
type sessionRow struct {
	ID, Href      string
	First, Last   time.Time
	Calls, Failed int
}

// Filtered reports whether the page leaves out calls.
func (p *agentPage) Filtered() bool {
	return p.Show != "" || p.Chosen.Tool != "" || p.Chosen.Session != "" || p.Chosen.Text != ""
}

// Grouped formats a number with thousands separators.
func (*agentPage) Grouped(n int) string { return grouped(n) }

// chooseEntries parses the parameters of a timeline.
func (v *visit) chooseEntries() (show string, f auditindex.Filter, err error) {
	q := v.r.URL.Query()
	show = q.Get("show")
	f = auditindex.Filter{
		Caller: v.r.PathValue("name"), ExceptFrontend: frontendPage, Tool: q.Get("tool"), Session: q.Get("session"), Text: strings.TrimSpace(q.Get("q")),
	}
	if len(f.Text) > maxQuery {
		return show, f, contract.Errorf(contract.Invalid, "q must have at most %d bytes", maxQuery)
	}
	switch show {
	case "":
	case "asked":
		f.Outcome = string(contract.Pending)
	case "changes":
		f.Changes = true
	case "failures":
		f.Outcome = auditindex.Failed
	default:
		return show, f, contract.Errorf(contract.Invalid, "show must be asked, changes or failures")
	}
	return show, f, nil
}

// showAgent responds with the timeline of a caller, or with the part of it that a script loads.
func (v *visit) showAgent() error {
	p := &agentPage{agentRow: agentRow{Name: v.r.PathValue("name")}, Cursor: v.r.URL.Query().Get("page")}
	p.URL = &url.URL{Path: v.r.URL.Path, RawPath: v.r.URL.RawPath, RawQuery: v.r.URL.RawQuery}
	var err error
	if p.Show, p.Chosen, err = v.chooseEntries(); err != nil {
		return err
	}
	ctx := v.r.Context()
	_ = v.Calls.Refresh(ctx) // Status reports it
	p.Status = v.Calls.Status()
	if p.Summary, err = v.Calls.Summary(ctx, auditindex.Filter{Caller: p.Name, ExceptFrontend: frontendPage}); err != nil {
		return unreadable(err)
	}
	p.Token = v.tokenOf(p.Name)
	if p.Summary.Calls == 0 && p.Token == nil && !p.Status.Loading {
		return contract.Errorf(contract.NotFound, "Nobody named %q has called a tool, and no token has this name", p.Name)
	}
	found, err := v.Calls.Find(ctx, p.Chosen, p.Cursor, entriesShown)
	if err != nil {
		return unreadable(err)
	}
	entries := v.timeline(found.Entries)
	p.Days = groupsOf(entries, func(e *timelineEntry) string { return e.Time.UTC().Format("Monday, 2 January 2006") })
	p.Shown, p.Reached = p.sessions(found.Entries), found.Searched
	if found.Older != "" {
		p.Older, _ = query(p.URL, "page", found.Older) // the URL is our own
	}
	p.Part, _ = query(p.URL)
	if v.r.Header.Get("HX-Request") != "" {
		block := "live"
		if p.Cursor != "" {
			block = "entries"
		}
		return v.part("agent", block, p)
	}
	return v.page("agent", "agents", p.Name, p)
}

// tokenOf returns the token of a caller that was made last, or nil.
func (v *visit) tokenOf(principal string) *identity.Token {
	if v.Tokens == nil {
		return nil
	}
	tokens, err := v.Tokens.List(v.r.Context())
	if err != nil {
		v.Log.Warn("cannot read the tokens", "error", err)
		return nil
	}
	tokens = slices.DeleteFunc(slices.Clone(tokens), func(t identity.Token) bool { return t.Principal() != principal })
	if len(tokens) == 0 {
		return nil
	}
	last := slices.MaxFunc(tokens, func(a, b identity.Token) int {
		// The tokens that were not revoked come first.
		return cmp.Or(b.Revoked.Compare(a.Revoked), a.Created.Compare(b.Created))
	})
	return &last
}

// sessions returns the sessions of entries, in their order.
func (p *agentPage) sessions(entries []auditindex.Entry) (list []sessionRow) {
	at := map[string]int{}
	for i := range entries {
		r := &entries[i].Record
		id := textOf(r, "session")
		if id == "" {
			continue
		}
		began, _ := time.Parse(time.RFC3339Nano, textOf(r, "time"))
		n, known := at[id]
		if !known {
			n = len(list)
			at[id] = n
			href, _ := query(p.URL, "session", id, "page", "") // the URL is our own
			list = append(list, sessionRow{ID: id, Href: href, Last: began})
		}
		list[n].First = began
		list[n].Calls++
		if audit.IsFailure(textOf(r, "outcome")) {
			list[n].Failed++
		}
	}
	return list
}

// exportAgent sends the calls of a timeline as a file, as "remit audit list --format" prints them.
func (v *visit) exportAgent() error {
	_, f, err := v.chooseEntries()
	if err != nil {
		return err
	}
	format := v.r.URL.Query().Get("format")
	if err := contract.OneOf(format, "csv", "jsonl"); err != nil {
		return contract.Errorf(contract.Invalid, "format must be csv or jsonl")
	}
	_ = v.Calls.Refresh(v.r.Context())
	found, err := v.Calls.Find(v.r.Context(), f, "", exportPart)
	if err != nil {
		return unreadable(err)
	}
	h := v.w.Header()
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:"`, r) {
			return '-'
		}
		return r
	}, f.Caller)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name + "." + format}))
	h.Set("Content-Type", map[string]string{"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl; charset=utf-8"}[format])
	write := auditindex.LinePrinter(v.w)
	if format == "csv" {
		write = auditindex.CSVPrinter(v.w)
	}
	return v.exportFrom(found, f, write)
}

// exportPart is how many calls of an export are read at a time.
const exportPart = 500

// exportFrom writes calls and all older ones. Once a part is sent, an error ends the response
// before its end, so that the browser reports that the file is incomplete.
func (v *visit) exportFrom(found auditindex.Found, f auditindex.Filter, write func(jsontree.Value) error) error {
	for {
		for i := range found.Entries {
			if write(found.Entries[i].Record) != nil {
				panic(http.ErrAbortHandler) // the browser has disconnected
			}
		}
		if found.Older == "" {
			return nil
		}
		var err error
		if found, err = v.Calls.Find(v.clientCtx, f, found.Older, exportPart); err != nil {
			v.Log.Warn("an export of calls was cut off", "error", err)
			panic(http.ErrAbortHandler)
		}
	}
}
