package codebase

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/toolsets/codebase/knowledge"
	"remit/internal/toolsets/codebase/sessions"
)

// Limits of the pages.
const (
	modulesShown  = 50
	sessionsShown = 20
	// sessionsSearched is the number of recent sessions of all callers among which those of one
	// caller are searched.
	sessionsSearched = 500
	itemsShown       = 30
	lineShown        = 300 // bytes of a text
)

// page builds a Markdown page.
type page struct{ strings.Builder }

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// overviewPage returns the page about the project.
func (t *Tools) overviewPage(ctx context.Context) (string, error) {
	overview, err := t.Knowledge.Overview(ctx)
	if err != nil {
		return "", searchFailure(ctx, err)
	}
	p := &page{}
	p.line("# Project overview\n")
	p.line("%s\n", stateLine(overview.State))
	p.counts("Contents", overview.Sources)
	p.counts("Discoveries", overview.Types)
	if len(overview.Modules) > 0 {
		p.line("## Modules\n")
		for _, m := range overview.Modules[:min(len(overview.Modules), modulesShown)] {
			p.line("- %s: %s, %s (%s)", oneLine(m.Name), contract.Count(m.Files, "file"), contract.Count(m.Discoveries, "discovery"), moduleURI+url.PathEscape(m.Name))
		}
		if more := len(overview.Modules) - modulesShown; more > 0 {
			p.line("- and %d more", more)
		}
		p.line("")
	}
	p.hits("Recent discoveries", overview.Newest)
	return p.String(), nil
}

// stateLine describes how fresh a page is.
func stateLine(s knowledge.State) string {
	text := fmt.Sprintf("Indexed: %s in %s", contract.Count(s.Files, "file"), contract.Count(s.Chunks, "chunk"))
	if s.Indexing {
		text += "; waiting: " + contract.Count(s.Waiting, "file")
	}
	if s.Note != "" {
		text += "; " + s.Note
	}
	return text + "."
}

func (p *page) counts(title string, counts []knowledge.Count) {
	if len(counts) == 0 {
		return
	}
	p.line("## %s\n", title)
	for _, c := range counts {
		p.line("- %s: %d", oneLine(c.Name), c.Count)
	}
	p.line("")
}

// hits lists search results with their locations.
func (p *page) hits(title string, hits []knowledge.Hit) {
	if len(hits) == 0 {
		return
	}
	p.line("## %s\n", title)
	for i := range hits {
		h := &hits[i]
		date := h.Date.UTC().Format(time.DateOnly)
		p.line("- **%s** %s (%s:%d, %s)", cmp.Or(h.Type, h.Source), oneLine(h.Content), oneLine(h.Path), h.Line, date)
	}
	p.line("")
}

// oneLine returns the beginning of a text on one line.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	if len(text) > lineShown {
		text = strings.ToValidUTF8(text[:lineShown], "") + "..."
	}
	return text
}

// modulePage returns the page about a module.
func (t *Tools) modulePage(ctx context.Context, uri, name string) (string, error) {
	view, err := t.Knowledge.Module(ctx, name)
	if err != nil {
		return "", searchFailure(ctx, err)
	}
	if len(view.Files)+len(view.Discoveries)+len(view.Docs) == 0 {
		return "", engine.ResourceNotFound(uri, nil)
	}
	p := &page{}
	p.line("# Module %s\n", oneLine(name))
	p.line("%s\n", stateLine(view.State))
	p.hits("Discoveries", view.Discoveries)
	p.counts("Files by number of chunks", view.Files)
	p.hits("Docs", view.Docs)
	return p.String(), nil
}

// currentPage returns the page about the caller's current session.
func (t *Tools) currentPage(ctx context.Context) (string, error) {
	session, ok, err := t.Sessions.Current(ctx, engine.CallerOf(ctx))
	if err != nil {
		return "", searchFailure(ctx, err)
	}
	p := &page{}
	p.line("# This session\n")
	if !ok {
		p.line("Nothing was read, searched or changed yet.")
		return p.String(), nil
	}
	p.session(&session)
	return p.String(), nil
}

// recentPage returns the page about the latest sessions.
func (t *Tools) recentPage(ctx context.Context) (string, error) {
	recent, err := t.recentSessions(ctx)
	if err != nil {
		return "", searchFailure(ctx, err)
	}
	p := &page{}
	p.line("# Recent sessions\n")
	if len(recent) == 0 {
		p.line("There are none yet.")
	}
	for i := range recent {
		p.line("## %s, %s\n", oneLine(clientName(recent[i].Client)), recent[i].Last.UTC().Format("2006-01-02 15:04"))
		p.session(&recent[i])
	}
	return p.String(), nil
}

// recentSessions returns the sessions that the caller may see: a caller who acts for a single user
// sees only that user's sessions.
func (t *Tools) recentSessions(ctx context.Context) ([]sessions.Session, error) {
	if engine.ActsForAll(ctx) {
		return t.Sessions.Recent(ctx, sessionsShown)
	}
	recent, err := t.Sessions.Recent(ctx, sessionsSearched)
	principal := engine.CallerOf(ctx).Principal
	own := slices.DeleteFunc(recent, func(s sessions.Session) bool { return s.Principal != principal })
	return own[:min(len(own), sessionsShown)], err
}

func (p *page) session(s *sessions.Session) {
	p.line("Session %s, from %s to %s.\n", s.ID, s.Started.UTC().Format(time.RFC3339), s.Last.UTC().Format(time.RFC3339))
	p.items("Files read", s.Files)
	p.items("Searches", s.Searches)
	p.items("Tasks touched", s.Tasks)
}

// items lists what was done, the last first.
func (p *page) items(title string, items []sessions.Item) {
	if len(items) == 0 {
		return
	}
	p.line("%s:\n", title)
	for i := len(items) - 1; i >= max(0, len(items)-itemsShown); i-- {
		times := ""
		if items[i].Times > 1 {
			times = fmt.Sprintf(" (%d times)", items[i].Times)
		}
		p.line("- %s%s", oneLine(items[i].What), times)
	}
	p.line("")
}
