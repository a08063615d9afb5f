package e2e

import (
	"context"
	"strings"

	"remit/internal/engine"
)

// Tools are the tools of a toolset in docs/adding-a-tool.md. The code below is that of the
// document. TestAddingATool compares and binds it.
type Tools struct{}

// handlers is the table of handlers with the line that the document adds.
func (t *Tools) handlers() map[string]engine.Handler {
	return map[string]engine.Handler{
		"count_words": engine.Handle(t.CountWords),
	}
}

// CountWordsIn is a text.
type CountWordsIn struct {
	Text string `json:"text"`
}

// CountWordsOut is the number of its words.
type CountWordsOut struct {
	Words int `json:"words"`
}

// CountWords counts the words of a text.
func (t *Tools) CountWords(_ context.Context, in CountWordsIn) (CountWordsOut, error) {
	return CountWordsOut{Words: len(strings.Fields(in.Text))}, nil
}
