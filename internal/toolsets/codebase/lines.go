package codebase

import (
	"context"
	"errors"
	"fmt"

	"remit/internal/search/corpus"
	"remit/internal/search/glob"
	"remit/internal/search/text"
)

// Found is a file with matching lines.
type Found = corpus.FileMatches

// Line is a matching line.
type Line = corpus.Line

// Summary is the summary of a search.
type Summary = corpus.Summary

// PatternError is a syntax error in a pattern, with its position.
type PatternError = text.SyntaxError

// LineQuery says which lines to search for, and in which files.
type LineQuery struct {
	Pattern    string // a regular expression in Go's syntax
	IgnoreCase bool
	Glob       string // the files to search; all if empty
	Context    int    // number of lines returned before and after each match
	// Maximum number of lines returned (files, if CountOnly); the rest is only counted. 0 returns
	// all.
	Limit     int
	CountOnly bool // return only the number of matches in each file
}

// Lines searches the text of the project for people on the command line, without deadline and
// without paging.
type Lines struct {
	Corpus func() (*corpus.Corpus, error)
}

// Grep calls each for every file with matching lines, ordered by path and line, until each returns
// false. A file with very many matches may come in several parts. A pattern that cannot be compiled
// is a *PatternError.
func (l Lines) Grep(ctx context.Context, q LineQuery, each func(Found) bool) (Summary, error) {
	pattern, err := text.Compile(q.Pattern, text.Options{IgnoreCase: q.IgnoreCase, Unicode: true})
	if err != nil {
		return Summary{}, err
	}
	only, texts, err := l.open(q.Glob)
	if err != nil {
		return Summary{}, err
	}
	return texts.Search(ctx, corpus.Query{Pattern: pattern, Only: only, Limit: q.Limit, Context: q.Context, CountOnly: q.CountOnly}, each)
}

// Files calls each for the path of every file that the glob matches, in order, until each returns
// false. An empty glob matches all. complete is false if something could not be read.
func (l Lines) Files(ctx context.Context, pattern string, each func(path string) bool) (complete bool, err error) {
	only, texts, err := l.open(pattern)
	if err != nil {
		return false, err
	}
	paths, complete, err := texts.Files(ctx, only)
	if err != nil {
		return false, err
	}
	for _, path := range paths {
		if !each(path) {
			break
		}
	}
	return complete, nil
}

// open compiles a glob, which is nil for an empty pattern, and opens the corpus.
func (l Lines) open(pattern string) (only *glob.Pattern, texts *corpus.Corpus, err error) {
	if pattern != "" {
		only, err = glob.Compile(pattern)
	}
	if fault, ok := errors.AsType[*glob.SyntaxError](err); ok {
		return nil, nil, fmt.Errorf("%s is not a valid glob: %s", pattern, fault.Reason)
	}
	if err == nil {
		texts, err = l.Corpus()
	}
	return only, texts, err
}
