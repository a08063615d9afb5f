package console

import (
	"net/url"
	"strconv"
	"strings"

	"remit/internal/contract"
	"remit/internal/toolsets/codebase"
)

// searchPage is what the page of the search shows: text that matches, and what the
// project knows, side by side.
type searchPage struct {
	Query, Files, Type string
	Exact              bool // letter case matters
	Types              []string
	Grep               *grepResult
	Knowledge          *knowledgeResult
}

// finding is what every search has to tell.
type finding struct {
	Problem  string // why there is nothing
	Hint     string // what to do about it
	Unserved *unserved
}

// grepResult is what grep_codebase found.
type grepResult struct {
	finding
	codebase.GrepOut
	ByFile []group[codebase.Match]
	First  string // address of the first page; "" if this is it
	Pager  pager
}

// knowledgeResult is what context_search found.
type knowledgeResult struct {
	finding
	codebase.SearchOut
}

func (v *visit) showSearch() error {
	q := v.r.URL.Query()
	page := &searchPage{
		Query: q.Get("q"), Files: q.Get("files"), Type: q.Get("type"), Exact: q.Get("case") == "exact",
		Types: []string{"all", "pattern", "rule", "decision", "issue"},
	}
	if strings.TrimSpace(page.Query) != "" {
		together(func() { page.Grep = v.grep(page) }, func() { page.Knowledge = v.recall(page) })
	}
	return v.page("search", "search", "Search", page)
}

// find asks a tool that searches. Its failure is kept from being that of the page.
func find[Out any](v *visit, what, tool string, args arguments) (found Out, f finding) {
	if f.Unserved = v.lacks(what, "context", tool); f.Unserved != nil {
		return found, f
	}
	found, _, err := ask[Out](v, tool, args)
	if err == nil {
		return found, f
	}
	failure := contract.AsError(err)
	f.Problem = failure.Message
	if failure.Kind == contract.Internal {
		f.Problem = "Something went wrong; the log of the server says what."
	}
	switch details := failure.Details["details"].(type) {
	case string:
		f.Hint = details
	case []string:
		f.Hint = strings.Join(details, "; ")
	}
	if more, ok := failure.Details["message"].(string); ok && f.Hint == "" {
		f.Hint = more
	}
	return found, f
}

// inMilliseconds writes how long a search took, which it tells to the millisecond.
func inMilliseconds(n int64) string {
	if n == 0 {
		return "under 1 ms"
	}
	return strconv.FormatInt(n, 10) + " ms"
}

// matchesShown is how many lines a page of the search shows.
const matchesShown = 20

func (v *visit) grep(page *searchPage) *grepResult {
	found := &grepResult{}
	found.GrepOut, found.finding = find[codebase.GrepOut](v, "searches in files", "grep_codebase", arguments{
		"pattern": page.Query, "filePattern": page.Files, "caseSensitive": page.Exact, "limit": matchesShown, "context": 1,
		"cursor": v.r.URL.Query().Get("after"),
	})
	if found.Unserved == nil {
		found.First, found.Pager.Next = turned(v.r.URL, "after", found.NextCursor)
	}
	found.ByFile = groupsOf(found.Matches, func(m codebase.Match) string { return m.File })
	return found
}

// shownLine is a line of code, short enough to be one.
func shownLine(line string) string { return clip(legible(line), 300) }

func (v *visit) recall(page *searchPage) *knowledgeResult {
	found := &knowledgeResult{}
	found.SearchOut, found.finding = find[codebase.SearchOut](v, "searches by meaning", "context_search",
		arguments{"query": page.Query, "type": page.Type, "limit": 10})
	return found
}

// sourceHref is where a file of the project is shown, and a line of it if that is not 0.
func sourceHref(file string, line int) string {
	address := (&url.URL{Path: "/console/files/" + file}).EscapedPath()
	if line == 0 {
		return address
	}
	return address + lineQuery(line)
}
