package codebase

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/search/corpus"
	"remit/internal/search/glob"
	"remit/internal/search/text"
)

// GrepIn is the input of grep_codebase.
type GrepIn struct {
	Pattern       string `json:"pattern"`
	FilePattern   string `json:"filePattern"`
	CaseSensitive bool   `json:"caseSensitive"`
	Limit         int    `json:"limit"`
	Context       int    `json:"context"`
	Output        string `json:"output"`
	Cursor        string `json:"cursor"`
}

// GrepOut is the output of grep_codebase.
type GrepOut struct {
	Matches       []Match      `json:"matches"`
	Files         *[]FileCount `json:"files,omitempty"`
	Pattern       string       `json:"pattern"`
	TotalMatches  int          `json:"totalMatches"`
	TotalFiles    int          `json:"totalFiles"`
	FilesSearched int          `json:"filesSearched"`
	SearchTime    int64        `json:"searchTime"`
	Message       string       `json:"message,omitempty"`
	Incomplete    bool         `json:"incomplete,omitempty"`
	NextCursor    string       `json:"nextCursor,omitempty"`

	search searchID
	last   corpus.Place // of the last line returned
	given  int          // number of lines returned, or of the matches in the files returned
}

// Match is a matching line.
type Match struct {
	File    string  `json:"file"`
	Line    int     `json:"line"`
	Column  int     `json:"column"`
	Text    string  `json:"text"`
	Cut     bool    `json:"cut,omitempty"`
	Context Context `json:"context"`

	place corpus.Place
}

// Context holds the lines around a match.
type Context struct {
	Before []string `json:"before"`
	After  []string `json:"after"`
}

// FileCount is a file with its number of matches.
type FileCount struct {
	File  string `json:"file"`
	Count int    `json:"count,omitempty"`
}

// Grep finds the lines of the project's files that match a pattern.
func (t *Tools) Grep(ctx context.Context, in GrepIn) (GrepOut, error) {
	begun := t.Now()
	query, err := in.query()
	if err != nil {
		return GrepOut{}, err
	}
	texts, err := t.Corpus()
	if err != nil {
		return GrepOut{}, err
	}
	out := GrepOut{Matches: []Match{}, Pattern: in.Pattern, search: in.search()}
	if query.CountOnly {
		out.Files = &[]FileCount{}
	}
	found, err := texts.Search(ctx, query, func(f corpus.FileMatches) bool {
		out.add(&in, f)
		return true
	})
	if err != nil {
		return GrepOut{}, searchFailed(ctx, err)
	}
	out.TotalMatches, out.TotalFiles, out.FilesSearched = found.Matches, found.Matched, found.Files
	if found.Skipped+out.given < found.Matches {
		out.NextCursor = out.search.cursor(out.last)
	}
	out.explain(&in, found)
	out.SearchTime = t.Now().Sub(begun).Round(time.Millisecond).Milliseconds()
	t.Log.InfoContext(ctx, "searched the code", "pattern", in.Pattern, "results", len(out.Matches), "found", out.TotalMatches)
	return out, nil
}

// query converts the arguments into a query.
func (in *GrepIn) query() (corpus.Query, error) {
	q := corpus.Query{Limit: in.Limit, Context: in.Context, CountOnly: in.Output != "matches"}
	var err error
	if q.Pattern, err = text.Compile(in.Pattern, text.Options{IgnoreCase: !in.CaseSensitive, Unicode: true}); err != nil {
		return q, badPattern(in.Pattern, err)
	}
	if in.FilePattern != "" {
		if q.Only, err = glob.Compile(anywhere(in.FilePattern)); err != nil {
			return q, badGlob(in.FilePattern, err)
		}
	}
	if in.Cursor != "" {
		if q.After, err = in.search().resume(in.Cursor); err != nil {
			return q, err
		}
	}
	return q, nil
}

// anywhere converts a glob as ripgrep does: one without a slash matches file names in any folder,
// one that ends with a slash matches everything in a folder.
func anywhere(pattern string) string {
	plain := strings.TrimPrefix(strings.TrimPrefix(pattern, "./"), "/")
	switch {
	case strings.HasSuffix(plain, "/"):
		return plain + "**"
	case plain == pattern && !strings.Contains(plain, "/"):
		return "**/" + plain
	}
	return plain
}

// searchFailed returns the error for files that could not be searched.
func searchFailed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("search: %w", err)
	}
	return contract.Errorf(contract.Unavailable, "Search failed").With("message", "The files of the project cannot be read right now; check that its folder exists").
		With("fallback", "Try again, or read files with read_file").Because(err)
}

func badPattern(pattern string, err error) error {
	failure := contract.Errorf(contract.Invalid, "Invalid regex pattern").With("pattern", pattern).Because(err)
	if fault, ok := errors.AsType[*text.SyntaxError](err); ok {
		failure = failure.With("details", fault.Reason).With("column", fault.Column)
	}
	return failure
}

func badGlob(pattern string, err error) error {
	failure := contract.Errorf(contract.Invalid, "Invalid file pattern").With("filePattern", pattern).Because(err)
	if fault, ok := errors.AsType[*glob.SyntaxError](err); ok {
		return failure.With("details", fault.Reason)
	}
	return failure.With("details", err.Error())
}

// add adds the matches in a file to the output.
func (out *GrepOut) add(in *GrepIn, f corpus.FileMatches) {
	path := strings.ToValidUTF8(f.Path, "\uFFFD")
	out.last = corpus.Place{Path: f.Path}
	if out.Files != nil {
		file := FileCount{File: path}
		if in.Output == "count" {
			file.Count = f.Count
		}
		*out.Files = append(*out.Files, file)
		out.given += f.Count
	}
	out.given += len(f.Lines)
	for _, line := range f.Lines {
		out.last.Line = line.Number
		out.Matches = append(out.Matches, Match{
			File: path, Line: line.Number, Column: line.Column, Text: line.Text, Cut: line.Cut,
			Context: Context{Before: orEmpty(line.Before), After: orEmpty(line.After)},
			place:   out.last,
		})
	}
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// explain adds notes that the numbers alone do not convey.
func (out *GrepOut) explain(in *GrepIn, found corpus.Summary) {
	switch {
	case found.Files == 0 && in.FilePattern != "":
		out.Message = fmt.Sprintf("No matches found for pattern '%s': no text file matches filePattern '%s'", in.Pattern, in.FilePattern)
	case found.Matches == 0:
		out.Message = fmt.Sprintf("No matches found for pattern '%s'", in.Pattern)
	}
	if !found.Incomplete {
		return
	}
	out.Incomplete = true
	if out.Message != "" {
		out.Message += "; "
	}
	out.Message += "the search is not complete: " + found.Reason + ". Search again, or narrow it with filePattern"
}

// searchID identifies a search, so that a cursor can only be used with the arguments it was issued
// for. It is not a secret: a cursor gives access to nothing that its caller could not find anyway.
type searchID [6]byte

func (in *GrepIn) search() searchID {
	about := fmt.Appendf(nil, "%q %q %t %q", in.Pattern, in.FilePattern, in.CaseSensitive, in.Output)
	sum := sha256.Sum256(about)
	return searchID(sum[:len(searchID{})])
}

// cursor returns a cursor that continues after a place.
func (s searchID) cursor(after corpus.Place) string {
	data := binary.AppendUvarint(s[:], uint64(after.Line))
	return base64.RawURLEncoding.EncodeToString(append(data, after.Path...))
}

// resume returns the place after which a cursor continues.
func (s searchID) resume(cursor string) (corpus.Place, error) {
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil && len(data) > len(s) {
		line, n := binary.Uvarint(data[len(s):])
		if after := (corpus.Place{Line: int(line)}); n > 0 {
			after.Path = string(data[len(s)+n:])
			if s.cursor(after) == cursor {
				return after, nil
			}
		}
	}
	return corpus.Place{}, contract.Errorf(contract.Invalid, "Invalid cursor").With("cursor", cursor).
		With("details", "the cursor is not valid for this search; start again without it").Because(err)
}

// Cut returns the output with only the first n matches, for an answer that is too long.
func (out GrepOut) Cut(n int) any {
	out.Matches = out.Matches[:n]
	out.NextCursor = out.search.cursor(out.Matches[n-1].place)
	return out
}
