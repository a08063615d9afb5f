package conformancetest

import (
	"context"
	"time"

	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

// interval is the time between two notifications.
const interval = 50 * time.Millisecond

// Progressing sends three progress notifications.
func Progressing(ctx context.Context, _ NoArguments) (engine.Content, error) {
	engine.Progress(ctx, 0, 100, "started")
	for _, done := range []float64{50, 100} {
		if err := pause(ctx, interval); err != nil {
			return engine.Content{}, err
		}
		engine.Progress(ctx, done, 100, "working")
	}
	return textContent("Tool with progress executed successfully."), nil
}

// Logging sends three log messages while it runs.
func Logging(ctx context.Context, _ NoArguments) (engine.Content, error) {
	logInfo(ctx, "Tool execution started")
	for _, words := range []string{"Tool processing data", "Tool execution completed"} {
		if err := pause(ctx, interval); err != nil {
			return engine.Content{}, err
		}
		logInfo(ctx, words)
	}
	return textContent("Tool with logging executed successfully."), nil
}

// LogOnce sends one log message and answers.
func LogOnce(ctx context.Context, _ NoArguments) (engine.Content, error) {
	logInfo(ctx, "Tool executed")
	return textContent("Sent a log message to clients that requested log messages."), nil
}

func logInfo(ctx context.Context, words string) {
	engine.LogMessage(ctx, engine.Info, "conformance", jsontree.Str(words))
}

// Reconnecting closes its stream and answers later.
func Reconnecting(ctx context.Context, _ NoArguments) (engine.Content, error) {
	engine.CloseConnection(ctx)
	if err := pause(ctx, 2*interval); err != nil {
		return engine.Content{}, err
	}
	return textContent("Answered after the stream was closed."), nil
}

// ToolChange announces that the tools have changed. They have not: a client that lists them again
// gets the same list.
func ToolChange(ctx context.Context, _ NoArguments) (engine.Content, error) {
	engine.Announce(ctx, engine.Change{Kind: engine.ToolsChanged})
	return textContent("Announced a change of the tools."), nil
}

// PromptChange announces that the prompts have changed. They have not.
func PromptChange(ctx context.Context, _ NoArguments) (engine.Content, error) {
	engine.Announce(ctx, engine.Change{Kind: engine.PromptsChanged})
	return textContent("Announced a change of the prompts."), nil
}
