package codebase

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"remit/internal/engine"
)

// resources serves pages about the project as MCP resources, in Markdown.
type resources struct{ *Tools }

const (
	overviewURI    = "context://project/overview"
	currentURI     = "context://session/current"
	recentURI      = "context://sessions/recent"
	moduleURI      = "context://module/"
	moduleTemplate = moduleURI + "{name}"
	markdownType   = "text/markdown"
)

func (resources) Templates() []engine.Template {
	return []engine.Template{{
		URI: moduleTemplate, Name: "module", Title: "Module", MIME: markdownType,
		Description: "The knowledge about a module: its decisions, rules, patterns and issues, its files and its docs.",
	}}
}

// List returns the pages that always exist.
func (resources) List(context.Context) ([]engine.Resource, error) {
	return []engine.Resource{
		{URI: overviewURI, Name: "overview", Title: "Project overview", MIME: markdownType, Description: "An overview of the project: its modules, recent discoveries, and how much is indexed."},
		{URI: currentURI, Name: "current session", Title: "This session", MIME: markdownType, Description: "What you did in this session: files read, searches, tasks touched."},
		{URI: recentURI, Name: "recent sessions", Title: "Recent sessions", MIME: markdownType, Description: "What was done in the recent sessions, newest first."},
	}, nil
}

// Read returns a page.
func (s resources) Read(ctx context.Context, uri string) ([]engine.Contents, error) {
	text, err := s.page(ctx, uri)
	if err != nil {
		return nil, err
	}
	return []engine.Contents{{URI: uri, MIME: markdownType, Text: text}}, nil
}

func (s resources) page(ctx context.Context, uri string) (string, error) {
	switch uri {
	case overviewURI:
		return s.overviewPage(ctx)
	case currentURI:
		return s.currentPage(ctx)
	case recentURI:
		return s.recentPage(ctx)
	}
	name, ok := moduleAt(uri)
	if !ok {
		return "", engine.ResourceNotFound(uri, nil)
	}
	return s.modulePage(ctx, uri, name)
}

// moduleAt parses the URI of a module's page.
func moduleAt(uri string) (name string, ok bool) {
	escaped, ok := strings.CutPrefix(uri, moduleURI)
	name, err := url.PathUnescape(escaped)
	return name, ok && err == nil && name != "" && !strings.Contains(escaped, "/")
}

// Stamp changes with the index, or with what clients do.
func (s resources) Stamp(_ context.Context, uri string) (string, error) {
	switch _, isModule := moduleAt(uri); {
	case uri == currentURI || uri == recentURI:
		return fmt.Sprint("s", s.Sessions.Stamp()), nil
	case uri == overviewURI || isModule:
		state := s.Knowledge.State()
		return fmt.Sprint("k", state.Files, " ", state.Chunks, " ", state.Updated.UnixMicro()), nil
	}
	return "", nil
}

// Complete returns the names of modules.
func (s resources) Complete(ctx context.Context, template, variable, prefix string) ([]string, error) {
	if template != moduleTemplate || variable != "name" {
		return nil, nil
	}
	return s.modulesWith(ctx, prefix)
}

// modulesWith returns the modules whose names begin with prefix, sorted.
func (t *Tools) modulesWith(ctx context.Context, prefix string) ([]string, error) {
	overview, err := t.Knowledge.Overview(ctx)
	if err != nil {
		return nil, searchFailure(ctx, err)
	}
	var names []string
	for _, m := range overview.Modules {
		if len(m.Name) >= len(prefix) && strings.EqualFold(m.Name[:len(prefix)], prefix) {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}
