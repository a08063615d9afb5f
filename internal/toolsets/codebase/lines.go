package codebase

import (
	"context"
	"path"
	"regexp/syntax"
	"slices"
	"strings"
	"time"

	"remit/internal/search/corpus"
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
	Selection
	Patterns []string // regular expressions in Go's syntax; a line must match one of them

	IgnoreCase, Word, WholeLine, Invert bool // as in text.Options
	Multiline                           bool // a match may span lines

	Before, After int // number of lines returned before and after each match
	// Maximum number of lines returned (files, if CountOnly); the rest is only counted. 0 returns
	// all.
	Limit     int
	PerFile   int  // maximum number of lines to find in each file; 0 finds all
	CountOnly bool // return only the number of matches in each file
	Bytes     bool // count the bytes of the searched files

	ByTime  bool // order files by the time of their last change, not by path
	Reverse bool // reverse the order of files
}

// Lines searches the text of the project for people on the command line, without deadline and
// without paging.
type Lines struct {
	Corpus func() (*corpus.Corpus, error)
}

// Grep calls each for every file with matching lines, with raw lines in order, until each returns
// false. A file with very many matches may come in several parts. Files and folders that cannot be
// read have an Error and no lines. A pattern that cannot be compiled is a *PatternError.
func (l Lines) Grep(ctx context.Context, q LineQuery, each func(Found) bool) (Summary, error) {
	pattern, err := q.compile()
	if err != nil {
		return Summary{}, err
	}
	only, err := q.Selection.compile()
	if err != nil {
		return Summary{}, err
	}
	texts, err := l.Corpus()
	if err != nil {
		return Summary{}, err
	}
	query := corpus.Query{
		Pattern: pattern, Only: only, Limit: q.Limit, PerFile: q.PerFile, Context: max(q.Before, q.After), CountOnly: q.CountOnly,
		Raw: true, Bytes: q.Bytes, Unreadable: true,
	}
	sorted, ended := q.ByTime || q.Reverse, false
	var all []Found
	summary, err := texts.Search(ctx, query, func(f Found) bool {
		if f = q.trimmed(f); sorted {
			all = append(all, f)
			return true
		}
		ended = !each(f)
		return !ended
	})
	if err != nil || ended {
		return summary, err
	}
	q.sort(all, texts.Modified)
	unlisted, err := q.unlisted(texts)
	for _, f := range append(all, unlisted...) {
		if !each(f) {
			break
		}
	}
	return summary, err
}

// unlisted returns the folders that cannot be listed. Globs and types do not apply to them.
func (s Selection) unlisted(texts *corpus.Corpus) ([]Found, error) {
	only, err := Selection{Folder: s.Folder, Paths: s.Paths}.compile()
	if err != nil {
		return nil, err
	}
	folders := texts.Unlisted()
	return slices.DeleteFunc(folders, func(f Found) bool { return only != nil && !only.Match(f.Path) }), nil
}

// compile compiles the patterns.
func (q *LineQuery) compile() (*text.Pattern, error) {
	if !q.Multiline {
		for _, p := range q.Patterns {
			if tree, err := syntax.Parse(p, syntax.Perl); err == nil && hasNewline(tree) {
				return nil, &PatternError{Pattern: p, Column: 1, Reason: `a line has no \n; add --multiline (-U) to match several lines`}
			}
		}
	}
	return text.CompileAny(q.Patterns, text.Options{
		IgnoreCase: q.IgnoreCase, Word: q.Word, WholeLine: q.WholeLine, Invert: q.Invert, Multiline: q.Multiline, Unicode: true,
	})
}

// hasNewline reports whether a pattern has a \n as a literal character.
func hasNewline(tree *syntax.Regexp) bool {
	return tree.Op == syntax.OpLiteral && slices.Contains(tree.Rune, '\n') || slices.ContainsFunc(tree.Sub, hasNewline)
}

// trimmed returns a file with as many context lines as the query asks for on each side.
func (q *LineQuery) trimmed(f Found) Found {
	for i := range f.Lines {
		l := &f.Lines[i]
		l.Before = l.Before[max(0, len(l.Before)-q.Before):]
		l.After = l.After[:min(len(l.After), q.After)]
	}
	return f
}

// sort orders files. The parts of a file stay in order.
func (q *LineQuery) sort(all []Found, modified func(path string) time.Time) {
	times := map[string]time.Time{}
	for i := range all {
		if _, known := times[all[i].Path]; q.ByTime && !known {
			times[all[i].Path] = modified(all[i].Path)
		}
	}
	slices.SortStableFunc(all, func(a, b Found) int {
		order := times[a.Path].Compare(times[b.Path])
		if order == 0 {
			order = strings.Compare(a.Path, b.Path)
		}
		if q.Reverse {
			return -order
		}
		return order
	})
}

// Files calls each for the path of every selected file, in order, until each returns false.
// complete is false if something could not be read.
func (l Lines) Files(ctx context.Context, s Selection, each func(path string) bool) (complete bool, err error) {
	only, err := s.compile()
	if err != nil {
		return false, err
	}
	texts, err := l.Corpus()
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
	unlisted, err := s.unlisted(texts)
	return complete && len(unlisted) == 0, err
}

// Missing returns the paths of a selection that select no file. The root is never missing.
func (l Lines) Missing(ctx context.Context, s Selection) (missing []string, err error) {
	for _, p := range s.Paths {
		found := path.Join(s.Folder, p) == "."
		only := Selection{Folder: s.Folder, Paths: []string{p}}
		if _, err := l.Files(ctx, only, func(string) bool { found = true; return false }); err != nil {
			return nil, err
		}
		if !found {
			missing = append(missing, p)
		}
	}
	return missing, nil
}
