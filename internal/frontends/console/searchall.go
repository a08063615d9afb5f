package console

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"remit/internal/contract"
	"remit/internal/engine/audit/auditindex"
	"remit/internal/engine/identity"
	"remit/internal/toolsets/books"
	"remit/internal/toolsets/codebase"
	"remit/internal/visible"
)

const (
	searchPath        = "/console/search"
	projectSearchPath = searchPath + "/project"
	// hitsPerGroup is how many results of each source the search page shows.
	hitsPerGroup = 5
	hitsPerPage  = 20 // and the page of one source
)

// searchAllPage is the data of the page that searches everything. Each group is loaded by itself,
// so that a slow source delays no other.
type searchAllPage struct {
	Query  string
	Groups []searchGroup
}

// searchGroup is a source of results.
type searchGroup struct {
	Key, Title string
	All        string // the page with all results
	Load       string // the address of the group
	Found      *searchFound
}

// searchFound are the best results of a source.
type searchFound struct {
	Hits     []hit
	Total    string // such as "12 lines in 3 files"; "" if there are no more than the hits
	Problem  string // why nothing was found
	Unserved *unserved
}

// hit is one result.
type hit struct {
	Href, Title, Text string
	Badge             string
	At                time.Time
	Code              bool // the text is a line of code
}

// searchSource finds results of one kind.
type searchSource struct {
	key, title string
	needs      identity.Role
	all        func(v *visit, q string) string
	find       func(v *visit, q string, limit int) searchFound
}

// searchSources returns all sources, in the order of the page.
func searchSources() []searchSource {
	at := func(path, name string) func(*visit, string) string {
		return func(_ *visit, q string) string { return path + "?" + url.Values{name: {q}}.Encode() }
	}
	return []searchSource{
		{"requests", "Waiting requests", identity.Viewer, at(deskPath, "q"), (*visit).findRequests},
		{"code", "Code and files", identity.Viewer, func(_ *visit, q string) string {
			return projectSearchPath + "?" + url.Values{"q": {regexp.QuoteMeta(q)}}.Encode()
		}, (*visit).findCode},
		{"knowledge", "Knowledge", identity.Viewer, at(projectSearchPath, "q"), (*visit).findKnowledge},
		{"tasks", "Tasks", identity.Viewer, tasksHref, (*visit).findTasks},
		{"books", "Books", identity.Viewer, foundHref("books"), (*visit).findInBooks},
		{"memory", "Memory", identity.Viewer, at("/console/memory", "search"), (*visit).findMemory},
		{"calls", "Calls", identity.Viewer, (*visit).allCalls, (*visit).findCalls},
		{"tools", "Tools", identity.Viewer, foundHref("tools"), (*visit).findTools},
		{"access", "Tokens and people", identity.Admin, foundHref("access"), (*visit).findAccess},
	}
}

// tasksHref returns the page with all tasks of the person that a search finds.
func tasksHref(v *visit, q string) string {
	return "/console/tasks?" + url.Values{"user": {v.person.Name}, "search": {q}}.Encode()
}

// foundHref returns a function for the page with the results of a source that has no other.
func foundHref(source string) func(*visit, string) string {
	return func(_ *visit, q string) string {
		return searchPath + "/found/" + source + "?" + url.Values{"q": {q}}.Encode()
	}
}

// searchQuery returns what is searched for.
func (v *visit) searchQuery() (string, error) {
	q := strings.TrimSpace(v.r.URL.Query().Get("q"))
	if len(q) > maxQuery || !utf8.ValidString(q) || strings.ContainsRune(q, 0) {
		return "", contract.Errorf(contract.Invalid, "q must be text of at most %d bytes", maxQuery)
	}
	return q, nil
}

// searchAll shows the groups of results, which the page then loads.
func (v *visit) searchAll() error {
	q, err := v.searchQuery()
	if err != nil {
		return err
	}
	page := searchAllPage{Query: q}
	for _, s := range searchSources() {
		if q != "" && v.person.Role >= s.needs {
			page.Groups = append(page.Groups, searchGroup{
				Key: s.key, Title: s.title, All: s.all(v, q), Load: searchPath + "/found/" + s.key + "?" + url.Values{"q": {q}}.Encode(),
			})
		}
	}
	return v.page("searchall", "search", "Search", page)
}

// searchGroup responds with the results of one source. Without a script it is a page.
func (v *visit) searchGroup() error {
	q, err := v.searchQuery()
	if err != nil {
		return err
	}
	for _, s := range searchSources() {
		if s.key != v.r.PathValue("source") || v.person.Role < s.needs {
			continue
		}
		isPart := v.r.Header.Get("HX-Request") != ""
		limit := hitsPerPage
		if isPart {
			limit = hitsPerGroup
		}
		found := searchFound{}
		if q != "" {
			found = s.find(v, q, limit)
		}
		g := searchGroup{Key: s.key, Title: s.title, All: s.all(v, q), Found: &found}
		if isPart {
			return v.part("searchall", "search-found", g)
		}
		return v.page("searchall", "search", "Search", searchAllPage{Query: q, Groups: []searchGroup{g}})
	}
	return contract.Errorf(contract.NotFound, "There is no such group of results")
}

// foundOf returns the results, or why there are none.
func foundOf(hits []hit, limit int, total string, f finding) searchFound {
	found := searchFound{Hits: hits[:min(len(hits), limit)], Problem: f.Problem, Unserved: f.Unserved}
	if len(hits) > 0 {
		found.Total = total
	}
	return found
}

// failedSearch returns what is shown if a source cannot be searched.
func (v *visit) failedSearch(what string, err error) searchFound {
	if contract.AsError(err).Kind == contract.Internal {
		v.Log.Warn("searching failed", "what", what, "error", err)
		return searchFound{Problem: "This cannot be searched right now; the details are in the server log."}
	}
	return searchFound{Problem: visible.Line(contract.AsError(err).Message)}
}

func (v *visit) findRequests(q string, limit int) searchFound {
	l, err := v.listRequests(listChoice{Query: q, By: "none"})
	if err != nil {
		return v.failedSearch("requests", err)
	}
	var hits []hit
	for _, r := range l.rows {
		hits = append(hits, hit{Href: r.Href, Title: r.Summary, Text: r.Principal + " " + r.Target, Badge: r.State, At: r.Created})
	}
	return foundOf(hits, limit, contract.Count(len(hits), "request"), finding{})
}

// findCode finds lines that contain the text, which is no pattern here.
func (v *visit) findCode(q string, limit int) searchFound {
	found, f := find[codebase.GrepOut](v, "searches in files", "grep_codebase", arguments{"pattern": regexp.QuoteMeta(q), "limit": limit})
	var hits []hit
	for _, m := range found.Matches {
		hits = append(hits, hit{Href: sourceHref(m.File, m.Line), Title: fmt.Sprintf("%s:%d", visible.Line(m.File), m.Line), Text: shownLine(strings.TrimSpace(m.Text)), Code: true})
	}
	return foundOf(hits, limit, contract.Count(found.TotalMatches, "line")+" in "+contract.Count(found.TotalFiles, "file"), f)
}

func (v *visit) findKnowledge(q string, limit int) searchFound {
	found, f := find[codebase.SearchOut](v, "searches by meaning", "context_search", arguments{"query": q, "type": "all", "limit": limit})
	var hits []hit
	for _, r := range found.Results {
		h := hit{Title: visible.Line(r.Source), Text: clip(strings.Join(strings.Fields(legible(r.Content)), " "), 200), Badge: r.Type}
		if r.Path != "" {
			h.Href, h.Title = sourceHref(r.Path, r.Line), visible.Line(r.Path)
		}
		hits = append(hits, h)
	}
	return foundOf(hits, limit, contract.Count(found.TotalFound, "result"), f)
}

// findTasks finds tasks of the person.
func (v *visit) findTasks(q string, limit int) searchFound {
	if missing := v.missingTool("tasks", "tasks", "list_tasks"); missing != nil {
		return searchFound{Unserved: missing}
	}
	page, err := v.listTasks(arguments{"user_id": v.person.Name, "search": q}, limit, "")
	if err != nil {
		return v.failedSearch("tasks", err)
	}
	var hits []hit
	for _, t := range page.Tasks {
		h := hit{Href: tasksHref(v, q), Title: visible.Line(t.Title), Badge: "open"}
		if t.Description != nil {
			h.Text = clip(legible(*t.Description), 200)
		}
		if t.Completed {
			h.Badge = "done"
		}
		hits = append(hits, h)
	}
	return foundOf(hits, limit, contract.Count(int(page.Total), "task")+" of "+visible.Line(v.person.Name), finding{})
}

// findInBooks finds lines of all books that contain the text.
func (v *visit) findInBooks(q string, limit int) searchFound {
	if missing := v.missingTool("books", "books", "grep_search"); missing != nil {
		return searchFound{Unserved: missing}
	}
	// The contract requires the id of a book, which does not count with all_books.
	found, more, err := read[books.GrepOut](v, "grep_search", arguments{"book_id": "all", "pattern": "(?i)" + regexp.QuoteMeta(q), "all_books": true, "max_results": limit})
	if err != nil {
		return v.failedSearch("books", err)
	}
	var hits []hit
	for _, m := range found.Result {
		book, file, _ := strings.Cut(strings.TrimPrefix(m.FilePath, "books/"), "/")
		hits = append(hits, hit{Href: fileHref(book, file), Title: fmt.Sprintf("%s:%d", visible.Line(m.FilePath), m.LineNumber), Text: shownLine(strings.TrimSpace(m.MatchedLine))})
	}
	total := ""
	if more {
		total = "More than " + contract.Count(len(hits), "line")
	}
	return foundOf(hits, limit, total, finding{})
}

func (v *visit) findMemory(q string, limit int) searchFound {
	page := &memoryPage{Search: q, Unserved: v.missingTool("memory files", "learning-os", "read_repo_file")}
	if page.Unserved != nil {
		return searchFound{Unserved: page.Unserved}
	}
	if err := v.fillMemory(page); err != nil {
		return v.failedSearch("memory", err)
	}
	var hits []hit
	for _, day := range page.Days {
		for _, e := range day.Items {
			hits = append(hits, hit{
				Href: "/console/memory?" + url.Values{"file": {e.File}, "search": {q}}.Encode(), Title: visible.Line(e.File), Text: clip(legible(e.Text), 200), Badge: e.Type, At: e.At,
			})
		}
	}
	return foundOf(hits, limit, contract.Count(page.Found, "entry"), finding{})
}

// callFilters returns what selects the calls that a text names: those of tools and of callers whose
// name contains it. The index of calls has no arguments.
func (v *visit) callFilters(ctx context.Context, q string) (filters []auditindex.Filter, err error) {
	all := auditindex.Filter{ExceptFrontend: frontendPage}
	page, err := v.Calls.Page(ctx, all, "", 1)
	if err != nil {
		return nil, err
	}
	has := func(name string) bool { return strings.Contains(strings.ToLower(name), strings.ToLower(q)) }
	for _, c := range page.Names.Tools {
		if has(c.Name) {
			filters = append(filters, auditindex.Filter{Tool: c.Name, ExceptFrontend: frontendPage})
		}
	}
	for _, c := range page.Names.Callers {
		if c.Name != "" && has(c.Name) {
			filters = append(filters, auditindex.Filter{Caller: c.Name, ExceptFrontend: frontendPage})
		}
	}
	return filters[:min(len(filters), hitsPerGroup)], nil
}

// searchCalls returns the newest calls that a text names: by their id, tool or caller.
func (v *visit) searchCalls(ctx context.Context, q string, limit int) (calls []auditindex.Call, total int, err error) {
	_ = v.Calls.Refresh(ctx) // older calls are good enough
	filters, err := v.callFilters(ctx, q)
	if err != nil {
		return nil, 0, err
	}
	for _, f := range filters {
		page, err := v.Calls.Page(ctx, f, "", limit)
		if err != nil {
			return nil, 0, err
		}
		calls, total = append(calls, page.Calls...), total+page.Total
	}
	slices.SortStableFunc(calls, func(a, b auditindex.Call) int { return b.Time.Compare(a.Time) })
	return slices.CompactFunc(calls, func(a, b auditindex.Call) bool { return a.ID() == b.ID() }), total, nil
}

func (v *visit) findCalls(q string, limit int) searchFound {
	if v.Calls == nil {
		return searchFound{}
	}
	calls, total, err := v.searchCalls(v.r.Context(), q, limit)
	if err != nil {
		return v.failedSearch("calls", err)
	}
	var hits []hit
	if record, err := v.Calls.Record(v.r.Context(), q); err == nil {
		tool := record.Value.Field("tool")
		hits = append(hits, hit{Href: "/console/calls/" + url.PathEscape(q), Title: visible.Line(tool.Text), Text: q})
	}
	for _, c := range calls {
		hits = append(hits, hit{Href: "/console/calls/" + c.ID(), Title: visible.Line(c.Tool), Text: visible.Line(c.Caller) + ", from " + clientOf(&c), Badge: c.Outcome, At: c.Time})
	}
	return foundOf(hits, limit, contract.Count(total, "call"), finding{})
}

// allCalls returns the page with all calls of the first tool or caller that the text names.
func (v *visit) allCalls(q string) string {
	if v.Calls != nil {
		if filters, err := v.callFilters(v.r.Context(), q); err == nil && len(filters) > 0 {
			return "/console/calls?" + url.Values{"tool": {filters[0].Tool}, "caller": {filters[0].Caller}, "period": {"all"}}.Encode()
		}
	}
	return "/console/calls"
}

func (v *visit) findTools(q string, limit int) searchFound {
	var hits []hit
	for _, t := range v.Engine.Tools() {
		text := strings.ToLower(t.Name + "\n" + t.Title + "\n" + t.Description)
		if !slices.ContainsFunc(strings.Fields(strings.ToLower(q)), func(word string) bool { return !strings.Contains(text, word) }) {
			hits = append(hits, hit{Href: "/console/tools/" + t.Name, Title: t.Name, Text: clip(t.Description, 200), Badge: t.Set})
		}
	}
	return foundOf(hits, limit, contract.Count(len(hits), "tool"), finding{})
}

func (v *visit) findAccess(q string, limit int) searchFound {
	rows, _, err := v.tokenRows(true)
	if err != nil {
		return v.failedSearch("tokens", err)
	}
	people, err := v.peopleRows()
	if err != nil {
		return v.failedSearch("people", err)
	}
	has := func(text string) bool { return strings.Contains(strings.ToLower(text), strings.ToLower(q)) }
	var hits []hit
	for i := range rows {
		if t := &rows[i]; has(t.Name) || has(t.User) {
			hits = append(hits, hit{Href: accessPath + "?tokens=all#tokens", Title: visible.Line(t.Name), Text: "token: " + strings.Join(t.Scopes.List(), " "), Badge: t.State})
		}
	}
	for _, p := range people {
		if has(p.Name) {
			hits = append(hits, hit{Href: accessPath + "#people", Title: visible.Line(p.Name), Text: "person", Badge: p.Role()})
		}
	}
	return foundOf(hits, limit, contract.Count(len(hits), "result"), finding{})
}
