package console

import (
	"net/url"
	"strconv"
	"strings"

	"remit/internal/contract"
	"remit/internal/toolsets/codebase"
)

// searchPage is the data of the search page: matching lines and results by meaning, side by side.
type searchPage struct {
	Query, Files, Type string
	Exact              bool // letter case matters
	Types              []string
	Grep               *grepResult
	Knowledge          *knowledgeResult
}

// finding is the part that all search results have in common.
type finding struct {
	Problem  string // why the search failed
	Hint     string // how to fix it
	Unserved *unserved
}

// grepResult is the result of grep_codebase.
type grepResult struct {
	finding
	codebase.GrepOut
	ByFile []group[codebase.Match]
	First  string // URL of the first page; "" on the first page
	Pager  pager
}

// knowledgeResult is the result of context_search.
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
		runAll(func() { page.Grep = v.grep(page) }, func() { page.Knowledge = v.searchKnowledge(page) })
	}
	return v.page("search", "search", "Search the project", page)
}

// find calls a search tool. It returns a failure as a finding, so that the rest of the page is
// still shown.
func find[Out any](v *visit, what, tool string, args arguments) (found Out, f finding) {
	if f.Unserved = v.missingTool(what, "context", tool); f.Unserved != nil {
		return found, f
	}
	found, _, err := read[Out](v, tool, args)
	if err == nil {
		return found, f
	}
	failure := contract.AsError(err)
	f.Problem = failure.Message
	if failure.Kind == contract.Internal {
		f.Problem = "Something went wrong; the details are in the server log."
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

// inMilliseconds formats the duration of a search, which is reported in milliseconds.
func inMilliseconds(n int64) string {
	if n == 0 {
		return "under 1 ms"
	}
	return strconv.FormatInt(n, 10) + " ms"
}

// matchesPerPage is the number of lines on one page of search results.
const matchesPerPage = 20

func (v *visit) grep(page *searchPage) *grepResult {
	found := &grepResult{}
	found.GrepOut, found.finding = find[codebase.GrepOut](v, "searches in files", "grep_codebase", arguments{
		"pattern": page.Query, "filePattern": page.Files, "caseSensitive": page.Exact, "limit": matchesPerPage, "context": 1,
		"cursor": v.r.URL.Query().Get("after"),
	})
	if found.Unserved == nil {
		found.First, found.Pager.Next = cursorLinks(v.r.URL, "after", found.NextCursor)
	}
	found.ByFile = groupsOf(found.Matches, func(m codebase.Match) string { return m.File })
	return found
}

// shownLine returns a line of code, shortened.
func shownLine(line string) string { return clip(legible(line), 300) }

func (v *visit) searchKnowledge(page *searchPage) *knowledgeResult {
	found := &knowledgeResult{}
	found.SearchOut, found.finding = find[codebase.SearchOut](v, "searches by meaning", "context_search",
		arguments{"query": page.Query, "type": page.Type, "limit": 10})
	return found
}

// sourceHref returns the URL of a project file, or of a line of it if line is not 0.
func sourceHref(file string, line int) string {
	address := (&url.URL{Path: "/console/files/" + file}).EscapedPath()
	if line == 0 {
		return address
	}
	return address + lineQuery(line)
}
