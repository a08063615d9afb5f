package codebase

import (
	"context"
	"errors"
	"fmt"

	"remit/internal/search/corpus"
	"remit/internal/search/glob"
	"remit/internal/search/text"
)

// Found is a file with lines that match.
type Found = corpus.Found

// Line is a line that matches.
type Line = corpus.Line

// Summary is what a search came to.
type Summary = corpus.Summary

// PatternError says where a pattern is wrong.
type PatternError = text.SyntaxError

// LineQuery says which lines to look for, and where.
type LineQuery struct {
	Pattern    string // an expression as Go's regexp takes it
	IgnoreCase bool
	Glob       string // the files to look at; all if empty
	Context    int    // lines given before and after each
	Limit      int    // so many lines are given (files, if Tally); those beyond are only counted. 0: all are given
	Tally      bool   // no lines: only how many each file has
}

// Lines searches the text of the project for people, who have no deadline and no pages.
type Lines struct {
	Corpus func() (*corpus.Corpus, error)
}

// Grep calls each for every file with lines that match, by path and line, until each returns false; a file with very many
// may come in several pieces. A pattern that cannot be compiled is a *PatternError.
func (l Lines) Grep(ctx context.Context, q LineQuery, each func(Found) bool) (Summary, error) {
	pattern, err := text.Compile(q.Pattern, text.Options{IgnoreCase: q.IgnoreCase, Unicode: true})
	if err != nil {
		return Summary{}, err
	}
	only, texts, err := l.open(q.Glob)
	if err != nil {
		return Summary{}, err
	}
	return texts.Search(ctx, corpus.Query{Pattern: pattern, Only: only, Limit: q.Limit, Context: q.Context, Tally: q.Tally}, each)
}

// Files calls each for the path of every file that the glob matches, in order, until each returns false. An empty glob
// matches all. It is complete unless something could not be looked at.
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

// open compiles a glob, nil for an empty one, and opens the text.
func (l Lines) open(pattern string) (only *glob.Pattern, texts *corpus.Corpus, err error) {
	if pattern != "" {
		only, err = glob.Compile(pattern)
	}
	if fault, ok := errors.AsType[*glob.SyntaxError](err); ok {
		return nil, nil, fmt.Errorf("%s is no glob: %s", pattern, fault.Why)
	}
	if err == nil {
		texts, err = l.Corpus()
	}
	return only, texts, err
}
