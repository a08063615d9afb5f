// Package codebase holds the tools that search and read the code of a project (seed 004, toolset context).
package codebase

import (
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/search/corpus"
)

// ReadTool is the tool whose rules say what may be read.
const ReadTool = "read_file"

// Tools are the handlers and what they stand on.
type Tools struct {
	// Corpus gives the texts of the project. The files are not looked at before it is searched.
	Corpus func() (*corpus.Corpus, error)
	Files  Files
	// Note is told of every file that was read. It returns at once.
	Note   func(path string)
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
	return engine.Toolset{
		Sets: []string{"context"},
		Handlers: map[string]engine.Handler{
			"grep_codebase": engine.Handle(t.Grep),
			ReadTool:        engine.Handle(t.Read),
		},
	}
}

// Policy says what may be read, of those sets that are served: what read_file may not read, no search looks at.
func Policy(served []*contract.Set) *contract.PathPolicy {
	for _, set := range served {
		if c := set.Find(ReadTool); c != nil && c.Open() == nil {
			return c.PathPolicy("path")
		}
	}
	return nil
}
