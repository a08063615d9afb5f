package codebase

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"remit/internal/engine"
	"remit/internal/search/chunk"
	"remit/internal/toolsets/codebase/knowledge"
	"remit/internal/toolsets/codebase/sessions"
)

// sessionPath returns the path of a session's source in the index.
func sessionPath(id string) string { return "session:" + id }

// feedTimeout limits how long a search waits for sessions: an answer matters more than what clients
// did.
const feedTimeout = 200 * time.Millisecond

// feedSessions adds what clients did since the last call to the index, except the caller's own
// session. What exceeds the time limit is added by a later search.
func (t *Tools) feedSessions(ctx context.Context, caller engine.Caller) {
	ctx, cancel := context.WithTimeout(ctx, feedTimeout)
	defer cancel()
	feed := func(ctx context.Context, c sessions.Change) error {
		return t.Knowledge.AddSources(ctx, sourcesOf(c)...)
	}
	if err := t.Sessions.Report(ctx, caller, feed); err != nil {
		t.Log.DebugContext(ctx, "cannot add recent sessions to the search", "error", err)
	}
}

// sourcesOf converts changed sessions into sources of the index. It omits sessions that only
// searched.
func sourcesOf(c sessions.Change) (sources []knowledge.Source) {
	for i := range c.Active {
		if s := &c.Active[i]; len(s.Files)+len(s.Tasks) > 0 {
			sources = append(sources, sourceOf(s))
		}
	}
	for _, id := range c.Gone {
		sources = append(sources, knowledge.Source{Path: sessionPath(id), Gone: true})
	}
	return sources
}

// sourceOf converts a session into a source of the index: one chunk that describes what was done.
func sourceOf(s *sessions.Session) knowledge.Source {
	text := summaryOf(s)
	passage := knowledge.Chunk{Chunk: chunk.Chunk{
		Source: chunk.Session, Name: "Session of " + clientName(s.Client), Text: text, Session: s.ID, Date: s.Last, Line: 1, End: strings.Count(text, "\n") + 1,
	}}
	return knowledge.Source{
		Path: sessionPath(s.ID), Hash: sha256.Sum256([]byte(text)), Size: int64(len(text)), Modified: s.Last, Chunks: []knowledge.Chunk{passage},
	}
}

// clientName returns the name of a client without its version.
func clientName(client string) string {
	name, _, _ := strings.Cut(client, "/")
	if name == "" {
		return "a client"
	}
	return name
}

// summaryOf describes in a few lines what was done in a session. It omits the queries: they would
// match the next identical query instead of what that query is looking for.
func summaryOf(s *sessions.Session) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Session of %s on %s", clientName(s.Client), s.Started.UTC().Format(time.DateOnly))
	for _, part := range []struct {
		words string
		items []sessions.Item
	}{{"read", s.Files}, {"worked on task", s.Tasks}} {
		if list := newest(part.items); list != "" {
			fmt.Fprintf(&b, "\n%s %s", part.words, list)
		}
	}
	text := b.String()
	if len(text) > chunk.MaxText {
		text = strings.ToValidUTF8(text[:chunk.MaxText], "")
	}
	return text
}

// maxSummarised limits the items of each kind in a session's summary.
const maxSummarised = 20

// newest returns the last items, the last first.
func newest(items []sessions.Item) string {
	var names []string
	for i := len(items) - 1; i >= 0 && len(names) < maxSummarised; i-- {
		names = append(names, strings.Join(strings.Fields(strings.ToValidUTF8(items[i].What, "\uFFFD")), " "))
	}
	return strings.Join(names, ", ")
}
