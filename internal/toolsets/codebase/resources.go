package codebase

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"remit/internal/engine"
)

// shelf offers to be read what the project knows, in Markdown.
type shelf struct{ *Tools }

const (
	overviewAddress = "context://project/overview"
	currentAddress  = "context://session/current"
	recentAddress   = "context://sessions/recent"
	moduleAddress   = "context://module/"
	moduleTemplate  = moduleAddress + "{name}"
	markdownType    = "text/markdown"
)

func (shelf) Templates() []engine.Template {
	return []engine.Template{{
		URI: moduleTemplate, Name: "module", Title: "Module", MIME: markdownType,
		Description: "What is known of a module: its decisions, rules, patterns and issues, its files and its docs.",
	}}
}

// List gives the pages that there always are.
func (shelf) List(context.Context) ([]engine.Resource, error) {
	return []engine.Resource{
		{URI: overviewAddress, Name: "overview", Title: "Project overview", MIME: markdownType, Description: "What is known of the project: its modules, what was found out lately, and how much is indexed."},
		{URI: currentAddress, Name: "current session", Title: "This session", MIME: markdownType, Description: "What you did in this session: files read, searches, tasks touched."},
		{URI: recentAddress, Name: "recent sessions", Title: "Recent sessions", MIME: markdownType, Description: "What was done in the last sessions, the last first."},
	}, nil
}

// Read gives a page.
func (s shelf) Read(ctx context.Context, uri string) ([]engine.Contents, error) {
	text, err := s.page(ctx, uri)
	if err != nil {
		return nil, err
	}
	return []engine.Contents{{URI: uri, MIME: markdownType, Text: text}}, nil
}

func (s shelf) page(ctx context.Context, uri string) (string, error) {
	switch uri {
	case overviewAddress:
		return s.overviewPage(ctx)
	case currentAddress:
		return s.currentPage(ctx)
	case recentAddress:
		return s.recentPage(ctx)
	}
	name, ok := moduleAt(uri)
	if !ok {
		return "", engine.NoResource(uri, nil)
	}
	return s.modulePage(ctx, uri, name)
}

// moduleAt reads the address of a module.
func moduleAt(uri string) (name string, ok bool) {
	escaped, ok := strings.CutPrefix(uri, moduleAddress)
	name, err := url.PathUnescape(escaped)
	return name, ok && err == nil && name != "" && !strings.Contains(escaped, "/")
}

// Stamp changes with the index, or with what clients do.
func (s shelf) Stamp(_ context.Context, uri string) (string, error) {
	switch _, isModule := moduleAt(uri); {
	case uri == currentAddress || uri == recentAddress:
		return fmt.Sprint("s", s.Sessions.Stamp()), nil
	case uri == overviewAddress || isModule:
		state := s.Knowledge.State()
		return fmt.Sprint("k", state.Files, " ", state.Pieces, " ", state.Updated.UnixMicro()), nil
	}
	return "", nil
}

// Complete gives the names of modules.
func (s shelf) Complete(ctx context.Context, template, variable, prefix string) ([]string, error) {
	if template != moduleTemplate || variable != "name" {
		return nil, nil
	}
	return s.modulesWith(ctx, prefix)
}

// modulesWith are the modules whose name begins as asked, in order.
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
