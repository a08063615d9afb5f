package e2e

import (
	"context"
	"strings"

	"remit/internal/engine"
)

// Tools stands for the tools of a toolset in docs/adding-a-tool.md. What follows is the code
// of that document, which TestAddingATool compares and binds.
type Tools struct{}

// handlers is the table with the one line that the document adds.
func (t *Tools) handlers() map[string]engine.Handler {
	return map[string]engine.Handler{
		"count_words": engine.Handle(t.CountWords),
	}
}

// CountWordsIn is a text.
type CountWordsIn struct {
	Text string `json:"text"`
}

// CountWordsOut tells how many words it has.
type CountWordsOut struct {
	Words int `json:"words"`
}

// CountWords counts the words of a text.
func (t *Tools) CountWords(_ context.Context, in CountWordsIn) (CountWordsOut, error) {
	return CountWordsOut{Words: len(strings.Fields(in.Text))}, nil
}
