// Package codebase implements the tools that search and read the code of a project (toolset
// context). It finds nothing itself: packages corpus and knowledge do.
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

// ReadTool is the tool whose path policy says which files may be read.
const ReadTool = "read_file"

// Tools holds the handlers and their dependencies.
type Tools struct {
	// Corpus returns the texts of the project. The files are not read before the first search.
	Corpus func() (*corpus.Corpus, error)
	Files  Files
	// Note is called with the path of every file that was read. It returns at once.
	Note func(path string)
	// Knowledge is the semantic index of the project; Sessions records what clients did.
	Knowledge *knowledge.Index
	Sessions  *sessions.Recorder
	// Log receives each query and the number of its results.
	Log    *slog.Logger
	Now    func() time.Time
	Served []*contract.Set
}

// Files gives access to the files of the project.
type Files interface {
	// CheckPath finds a file that policy lets a caller read. The error is a contract.Error.
	CheckPath(path string, policy *contract.PathPolicy) (engine.File, error)
	// List returns what policy lets a caller read in a folder ("." is the root): files by their
	// path, folders with a trailing slash. The error is a contract.Error.
	List(folder, begins string, policy *contract.PathPolicy) ([]string, error)
}

// Toolset returns the handlers by tool name, with the resources and prompts of the toolset.
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
		// Without the search tools, their results must not be available as resources either.
		toolset.Resources = []engine.ResourceProvider{resources{t}}
	}
	return toolset
}

// Policy returns the path policy of read_file among the served sets. No search reads a file that
// read_file may not read.
func Policy(served []*contract.Set) *contract.PathPolicy {
	for _, set := range served {
		if c := set.Find(ReadTool); c != nil {
			return c.PathPolicy("path")
		}
	}
	return nil
}
