package app

import (
	"context"
	"errors"
	"fmt"

	"remit/internal/faces/cli"
	"remit/internal/search/corpus"
	"remit/internal/search/glob"
	"remit/internal/search/text"
)

// Code gives the text of the project, which is read when it is first searched.
func (a *App) Code() cli.Code { return peoplesCode{a.code} }

// peoplesCode is the text of the project as people search it.
type peoplesCode struct{ code *code }

// Grep keeps the promise of cli.Code.
func (p peoplesCode) Grep(ctx context.Context, q cli.GrepQuery, each func(cli.GrepFile) bool) (cli.GrepSummary, error) {
	pattern, err := text.Compile(q.Pattern, text.Options{IgnoreCase: q.IgnoreCase, Unicode: true})
	if err != nil {
		return cli.GrepSummary{}, patternError(err)
	}
	only, err := globOf(q.Glob)
	if err != nil {
		return cli.GrepSummary{}, err
	}
	texts, err := p.code.open()
	if err != nil {
		return cli.GrepSummary{}, err
	}
	query := corpus.Query{Pattern: pattern, Only: only, Limit: q.Limit, Context: q.Context, Tally: q.Tally}
	found, err := texts.Search(ctx, query, func(f corpus.Found) bool {
		return each(cli.GrepFile{Path: f.Path, Count: f.Count, Lines: lineList(f.Lines)})
	})
	return cli.GrepSummary{
		Matches: found.Matches, Files: found.Files, Matched: found.Matched, Incomplete: found.Incomplete, Reason: found.Reason,
	}, err
}

func lineList(lines []corpus.Line) []cli.GrepLine {
	if lines == nil {
		return nil
	}
	return each(lines, func(l corpus.Line) cli.GrepLine { return cli.GrepLine(l) })
}

func patternError(err error) error {
	var fault *text.SyntaxError
	if errors.As(err, &fault) {
		return &cli.PatternError{Column: fault.Column, Why: fault.Why}
	}
	return err
}

// globOf understands a glob; an empty one is none.
func globOf(pattern string) (*glob.Pattern, error) {
	if pattern == "" {
		return nil, nil
	}
	only, err := glob.Compile(pattern)
	var fault *glob.SyntaxError
	if errors.As(err, &fault) {
		return nil, fmt.Errorf("%s is no glob: %s", pattern, fault.Why)
	}
	return only, err
}

// Files keeps the promise of cli.Code.
func (p peoplesCode) Files(ctx context.Context, pattern string, each func(path string) bool) (complete bool, err error) {
	only, err := globOf(pattern)
	if err != nil {
		return false, err
	}
	texts, err := p.code.open()
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
