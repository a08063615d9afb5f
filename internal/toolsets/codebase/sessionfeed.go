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

// sessionPath is the name under which the index knows a session.
func sessionPath(id string) string { return "session:" + id }

// feedPatience is how long a search waits for sessions: what clients did matters less than an answer.
const feedPatience = 200 * time.Millisecond

// feedSessions brings what clients did since the last time into the index, but for the caller's own session. What it has no time
// for comes with a later search.
func (t *Tools) feedSessions(ctx context.Context, caller engine.Caller) {
	ctx, cancel := context.WithTimeout(ctx, feedPatience)
	defer cancel()
	feed := func(ctx context.Context, c sessions.Change) error { return t.Knowledge.Feed(ctx, sourcesOf(c)...) }
	if err := t.Sessions.Tell(ctx, caller, feed); err != nil {
		t.Log.DebugContext(ctx, "what clients did is not searched for now", "error", err)
	}
}

// sourcesOf is what became of sessions as the index takes it. Of those that only searched there is nothing to tell.
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

// sourceOf is a session as the index takes it: one piece that tells what was done.
func sourceOf(s *sessions.Session) knowledge.Source {
	text := told(s)
	piece := knowledge.Piece{Piece: chunk.Piece{
		Source: chunk.Session, Name: "Session of " + clientName(s.Client), Text: text, Session: s.ID, Date: s.Last, Line: 1, End: strings.Count(text, "\n") + 1,
	}}
	return knowledge.Source{
		Path: sessionPath(s.ID), Hash: sha256.Sum256([]byte(text)), Size: int64(len(text)), Modified: s.Last, Pieces: []knowledge.Piece{piece},
	}
}

// clientName is what a client calls itself, without its version.
func clientName(client string) string {
	name, _, _ := strings.Cut(client, "/")
	if name == "" {
		return "a client"
	}
	return name
}

// told says in a few lines what was done in a session. What was searched for is left out: it would answer the next who asks
// the same, in place of what they look for.
func told(s *sessions.Session) string {
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

// mostTold is how many things of a kind a session tells of.
const mostTold = 20

// newest names the last things that were done, the last first.
func newest(items []sessions.Item) string {
	var names []string
	for i := len(items) - 1; i >= 0 && len(names) < mostTold; i-- {
		names = append(names, strings.Join(strings.Fields(strings.ToValidUTF8(items[i].What, "\uFFFD")), " "))
	}
	return strings.Join(names, ", ")
}
