package httpapi

import (
	"context"

	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

// script is the client of a plain request: it waits for the one answer, however
// long that takes, and cannot be told or asked anything before.
type script struct{}

var _ engine.Peer = script{}

// Progress has nobody to tell.
func (script) Progress(float64, float64, string) {}

// Log has nobody to tell.
func (script) Log(engine.Level, string, jsontree.Value) {}

// Ask has nobody to ask.
func (script) Ask(_ context.Context, questions []engine.Question) (map[string]jsontree.Value, error) {
	if len(questions) == 0 {
		return map[string]jsontree.Value{}, nil
	}
	return nil, &engine.IncapableError{Needs: questions[0].Needs}
}

// Can tells that the client waits for what others get as a task.
func (script) Can(c engine.Capability) bool { return c == engine.Tasks }

// Background never needs a task: the request waits.
func (script) Background() error { return nil }

// Release has nothing to let go.
func (script) Release() {}
