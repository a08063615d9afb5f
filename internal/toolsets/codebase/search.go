package codebase

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/search/chunk"
	"remit/internal/toolsets/codebase/knowledge"
)

// SearchTool is the name of the tool that searches by meaning.
const SearchTool = "context_search"

// SearchIn is the input of context_search.
type SearchIn struct {
	Query  string `json:"query"`
	Type   string `json:"type"`
	Module string `json:"module"`
	Limit  int    `json:"limit"`
}

// minQuery is the minimum length of a query in characters, without surrounding white space. The
// minimum length in the contract counts white space too.
const minQuery = 3

// Check implements engine.Checker.
func (in SearchIn) Check() error {
	if utf8.RuneCountInString(strings.TrimSpace(in.Query)) < minQuery {
		return contract.Errorf(contract.Invalid, "Query must be at least %d characters", minQuery)
	}
	return nil
}

// SearchOut is the output of context_search.
type SearchOut struct {
	Results    []Result `json:"results"`
	Query      string   `json:"query"`
	TotalFound int      `json:"totalFound"`
	SearchTime int64    `json:"searchTime"`

	state knowledge.State
}

// Result is one search result.
type Result struct {
	ID      string  `json:"id"`
	Type    string  `json:"type"`
	Content string  `json:"content"`
	Module  *string `json:"module"`
	Session *string `json:"session"`
	Date    string  `json:"date"`
	Score   float64 `json:"score"`
	Source  string  `json:"source"`
	Name    string  `json:"name,omitempty"`
	Path    string  `json:"path,omitempty"`
	Line    int     `json:"line,omitempty"`
	EndLine int     `json:"endLine,omitempty"`
}

// Search finds what the project knows about a query.
func (t *Tools) Search(ctx context.Context, in SearchIn) (SearchOut, error) {
	begun := t.Now()
	found, err := t.ask(ctx, in)
	if err != nil {
		return SearchOut{}, searchFailure(ctx, err)
	}
	out := SearchOut{Results: make([]Result, len(found.Hits)), Query: in.Query, TotalFound: found.Total, state: found.State}
	for i := range found.Hits {
		out.Results[i] = resultOf(&found.Hits[i])
	}
	out.SearchTime = t.Now().Sub(begun).Round(time.Millisecond).Milliseconds()
	t.Log.InfoContext(ctx, "searched the project's knowledge", "results", len(out.Results), "found", out.TotalFound)
	return out, nil
}

// ask adds what clients did to the index and searches it. It omits the caller's own session,
// because the caller knows it. It omits all sessions if the caller acts for a single user, because
// they describe what others did.
func (t *Tools) ask(ctx context.Context, in SearchIn) (knowledge.Answer, error) {
	caller := engine.CallerOf(ctx)
	t.feedSessions(ctx, caller)
	query := knowledge.Query{Text: strings.TrimSpace(in.Query), Module: in.Module, Limit: in.Limit, NoSessions: !engine.ActsForAll(ctx)}
	if in.Type != "all" {
		query.Type = in.Type
	}
	// Only now: a session has no id before it is written.
	if own := t.Sessions.Own(ctx, caller); own != "" {
		query.Exclude = sessionPath(own)
	}
	return t.Knowledge.Search(ctx, query)
}

func resultOf(hit *knowledge.Hit) Result {
	result := Result{
		ID: hit.ID, Type: cmp.Or(hit.Type, hit.Source), Content: hit.Content, Module: orNull(hit.Module), Session: orNull(hit.Session),
		Date: hit.Date.UTC().Format(time.RFC3339), Score: hit.Score, Source: hit.Source, Name: hit.Name,
	}
	if hit.Source != chunk.Session {
		result.Path, result.Line, result.EndLine = strings.ToValidUTF8(hit.Path, "\uFFFD"), hit.Line, hit.End
	}
	return result
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// searchFailure converts an error of the index into a contract.Error.
func searchFailure(ctx context.Context, err error) error {
	const fallback = "Use grep_codebase for text search"
	var building *knowledge.BuildingError
	var embedding *knowledge.EmbeddingError
	switch {
	case errors.Is(err, knowledge.ErrEmpty):
		return noEmbeddings(contract.NotFound).With("fallback", fallback).Because(err)
	case errors.As(err, &building):
		return noEmbeddings(contract.Unavailable).With("fallback", fallback).With("action", "Embeddings will be generated in background").Because(err)
	case errors.As(err, &embedding):
		return contract.Errorf(contract.Unavailable, "Failed to generate query embedding").With("details", embedding.Details).Because(err)
	case ctx.Err() != nil:
		return err
	}
	return contract.Errorf(contract.Unavailable, "Search failed").With("message", "The index of the project cannot be used right now; try again").
		With("fallback", "Try using grep_codebase for text search").Because(err)
}

func noEmbeddings(kind contract.Kind) *contract.Error {
	return contract.Errorf(kind, "No embeddings found. Run initial session to generate context.")
}

// Metadata reports how fresh the answer is and which model produced it.
func (out SearchOut) Metadata() jsontree.Value {
	state := &out.state
	index := []jsontree.Member{
		jsontree.M("model", jsontree.Str(state.Model)),
		jsontree.M("pieces", jsontree.Int(int64(state.Chunks))),
		jsontree.M("files", jsontree.Int(int64(state.Files))),
		jsontree.M("waiting", jsontree.Int(int64(state.Waiting))),
		jsontree.M("indexing", jsontree.Boolean(state.Indexing)),
	}
	if !state.Updated.IsZero() {
		index = append(index, jsontree.M("updated", jsontree.Str(state.Updated.UTC().Format(time.RFC3339))))
	}
	remarks := []jsontree.Member{jsontree.M("index", jsontree.Obj(index...))}
	if state.Note != "" {
		remarks = append(remarks, jsontree.M("note", jsontree.Str(state.Note)))
	}
	return jsontree.Obj(remarks...)
}
