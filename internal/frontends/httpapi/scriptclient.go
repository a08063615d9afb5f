package httpapi

import (
	"context"

	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

// scriptClient is the client of a plain request. It waits for the one response, however long that
// takes, and receives no notifications or questions before.
type scriptClient struct{}

var _ engine.Peer = scriptClient{}

// Progress does nothing.
func (scriptClient) Progress(float64, float64, string) {}

// Log does nothing.
func (scriptClient) Log(engine.Level, string, jsontree.Value) {}

// Ask fails, because a script cannot answer questions.
func (scriptClient) Ask(_ context.Context, questions []engine.Question) (map[string]jsontree.Value, error) {
	if len(questions) == 0 {
		return map[string]jsontree.Value{}, nil
	}
	return nil, &engine.MissingCapabilityError{Needs: questions[0].Needs}
}

// Can reports the capability to run tasks: the client waits for the result instead.
func (scriptClient) Can(c engine.Capability) bool { return c == engine.Tasks }

// Background does nothing: the request waits.
func (scriptClient) Background() error { return nil }

// Release does nothing.
func (scriptClient) Release() {}
