package conformancetest

import (
	"context"
	"time"

	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

// beat is the time between two signs of life.
const beat = 50 * time.Millisecond

// Progressing tells three times how far it has come.
func Progressing(ctx context.Context, _ Nothing) (engine.Content, error) {
	engine.Progress(ctx, 0, 100, "started")
	for _, done := range []float64{50, 100} {
		if err := pause(ctx, beat); err != nil {
			return engine.Content{}, err
		}
		engine.Progress(ctx, done, 100, "working")
	}
	return says("Tool with progress executed successfully."), nil
}

// Logging sends three log messages while it runs.
func Logging(ctx context.Context, _ Nothing) (engine.Content, error) {
	tell(ctx, "Tool execution started")
	for _, words := range []string{"Tool processing data", "Tool execution completed"} {
		if err := pause(ctx, beat); err != nil {
			return engine.Content{}, err
		}
		tell(ctx, words)
	}
	return says("Tool with logging executed successfully."), nil
}

// LoggingAtOnce sends a log message to those who want one, and answers.
func LoggingAtOnce(ctx context.Context, _ Nothing) (engine.Content, error) {
	tell(ctx, "Tool executed")
	return says("Logged to whoever asked for it."), nil
}

func tell(ctx context.Context, words string) {
	engine.Tell(ctx, engine.Info, "conformance", jsontree.Str(words))
}

// Reconnecting lets its connection go and answers later.
func Reconnecting(ctx context.Context, _ Nothing) (engine.Content, error) {
	engine.Release(ctx)
	if err := pause(ctx, 2*beat); err != nil {
		return engine.Content{}, err
	}
	return says("Answered after the stream was closed."), nil
}

// ToolChange announces that the tools have changed. They have not: a client that
// looks again finds the same.
func ToolChange(ctx context.Context, _ Nothing) (engine.Content, error) {
	engine.Announce(ctx, engine.Change{Kind: engine.ToolsChanged})
	return says("Announced a change of the tools."), nil
}

// PromptChange announces that the prompts have changed, just so.
func PromptChange(ctx context.Context, _ Nothing) (engine.Content, error) {
	engine.Announce(ctx, engine.Change{Kind: engine.PromptsChanged})
	return says("Announced a change of the prompts."), nil
}
