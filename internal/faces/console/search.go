package console

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/identity"
)

// searchRoutes are the search and the files it leads to.
func (c *Console) searchRoutes() []route {
	return []route{
		{"GET /console/search", identity.Viewer, (*visit).showSearch},
		{"GET /console/files/{path...}", identity.Viewer, (*visit).showFile},
	}
}

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
	Took     string
	Unserved *unserved
}

// grepResult is what grep_codebase found.
type grepResult struct {
	finding
	Files         []grepFile
	Total, Within int
	Message       string
	First         string // address of the first page; "" if this is it
	Pager         pager
}

// grepFile is a file with lines that match.
type grepFile struct {
	Path, Href string
	Matches    []grepMatch
}

type grepMatch struct {
	Line          int
	Href          string
	Before, After []string
	Text          string
}

// knowledgeResult is what context_search found.
type knowledgeResult struct {
	finding
	Results []knowledge
	Total   int
}

type knowledge struct {
	Type, Source, Name, Path, Href string
	Module                         string
	Line                           int
	Date                           time.Time
	Percent                        int
	Text                           string
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

// fails keeps a failure of one search from being that of the page.
func (f *finding) fails(err error) {
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
}

// inMilliseconds writes how long a search took, which it tells to the millisecond.
func inMilliseconds(n int) string {
	if n == 0 {
		return "under 1 ms"
	}
	return strconv.Itoa(n) + " ms"
}

// matchesShown is how many lines a page of the search shows.
const matchesShown = 20

func (v *visit) grep(page *searchPage) *grepResult {
	found := &grepResult{finding: finding{Unserved: v.lacks("searches in files", "context", "grep_codebase")}}
	if found.Unserved != nil {
		return found
	}
	var answer struct {
		Matches []struct {
			File    string
			Line    int
			Text    string
			Context struct{ Before, After []string }
		}
		TotalMatches, TotalFiles int
		SearchTime               int
		NextCursor, Message      string
	}
	cursor := v.r.URL.Query().Get("after")
	if cursor != "" {
		found.First, _ = query(v.r.URL, "after", "")
	}
	_, err := v.look("grep_codebase", arguments{
		"pattern": page.Query, "filePattern": page.Files, "caseSensitive": page.Exact, "limit": matchesShown, "context": 1, "cursor": cursor,
	}, &answer)
	if err != nil {
		found.fails(err)
		return found
	}
	found.Total, found.Within, found.Message = answer.TotalMatches, answer.TotalFiles, answer.Message
	found.Took = inMilliseconds(answer.SearchTime)
	for _, m := range answer.Matches {
		if n := len(found.Files); n == 0 || found.Files[n-1].Path != m.File {
			found.Files = append(found.Files, grepFile{Path: m.File, Href: sourceHref(m.File, 0)})
		}
		last := &found.Files[len(found.Files)-1]
		last.Matches = append(last.Matches, grepMatch{
			Line: m.Line, Href: sourceHref(m.File, m.Line), Text: shownLine(m.Text), Before: shownLines(m.Context.Before), After: shownLines(m.Context.After),
		})
	}
	if answer.NextCursor != "" {
		found.Pager.Next, _ = query(v.r.URL, "after", answer.NextCursor)
	}
	return found
}

// shownLine is a line of code, short enough to be one.
func shownLine(line string) string { return clip(legible(line), 300) }

func shownLines(lines []string) []string {
	shown := make([]string, len(lines))
	for i, line := range lines {
		shown[i] = shownLine(line)
	}
	return shown
}

func (v *visit) recall(page *searchPage) *knowledgeResult {
	found := &knowledgeResult{finding: finding{Unserved: v.lacks("searches by meaning", "context", "context_search")}}
	if found.Unserved != nil {
		return found
	}
	var answer struct {
		Results []struct {
			Type, Source, Name, Path, Content string
			Module                            *string
			Date                              time.Time
			Score                             float64
			Line                              int
		}
		TotalFound, SearchTime int
	}
	_, err := v.look("context_search", arguments{"query": page.Query, "type": page.Type, "limit": 10}, &answer)
	if err != nil {
		found.fails(err)
		return found
	}
	found.Total, found.Took = answer.TotalFound, inMilliseconds(answer.SearchTime)
	for _, r := range answer.Results {
		one := knowledge{
			Type: r.Type, Source: r.Source, Name: r.Name, Path: r.Path, Line: r.Line, Date: r.Date,
			Percent: int(r.Score*100 + 0.5), Text: clip(legible(r.Content), 700),
		}
		if r.Module != nil {
			one.Module = *r.Module
		}
		if r.Path != "" {
			one.Href = sourceHref(r.Path, r.Line)
		}
		found.Results = append(found.Results, one)
	}
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
