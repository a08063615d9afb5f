// Package codebase holds the tools that search and read the code of a project (seed 004, toolset context).
package codebase

import (
	"log/slog"
	"slices"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/search/corpus"
	"remit/internal/toolsets/codebase/knowledge"
	"remit/internal/toolsets/codebase/sessions"
)

// ReadTool is the tool whose rules say what may be read.
const ReadTool = "read_file"

// Tools are the handlers and what they stand on.
type Tools struct {
	// Corpus gives the texts of the project. The files are not looked at before it is searched.
	Corpus func() (*corpus.Corpus, error)
	Files  Files
	// Note is told of every file that was read. It returns at once.
	Note func(path string)
	// Knowledge is what the project knows, and Sessions what clients did.
	Knowledge *knowledge.Index
	Sessions  *sessions.Keeper
	// Log hears what was searched for, and how much was found.
	Log    *slog.Logger
	Now    func() time.Time
	Served []*contract.Set
}

// Files are the files of the project.
type Files interface {
	// Judge finds a file that policy lets a caller read. The error is a contract.Error.
	Judge(path string, policy *contract.PathPolicy) (engine.File, error)
	// List names what policy lets a caller read in a folder ("." is the root): files by their path, folders with a slash
	// at the end. The error is a contract.Error.
	List(folder, begins string, policy *contract.PathPolicy) ([]string, error)
}

// Toolset is the table of the tools.
func (t *Tools) Toolset() engine.Toolset {
	toolset := engine.Toolset{
		Sets: []string{"context"},
		Handlers: map[string]engine.Handler{
			"grep_codebase": engine.Handle(t.Grep),
			ReadTool:        engine.Handle(t.Read),
			SearchTool:      engine.Handle(t.Search),
		},
		Prompts: []engine.Prompt{t.whatDoWeKnow(), t.onboardMe()},
	}
	if slices.ContainsFunc(t.Served, func(set *contract.Set) bool { return set.Find(SearchTool) != nil }) {
		toolset.Shelves = []engine.Shelf{shelf{t}} // what may not be searched is not told of either
	}
	return toolset
}

// Policy says what may be read, of those sets that are served: what read_file may not read, no search looks at.
func Policy(served []*contract.Set) *contract.PathPolicy {
	for _, set := range served {
		if c := set.Find(ReadTool); c != nil {
			return c.PathPolicy("path")
		}
	}
	return nil
}
