// Package conformancetest serves the tools that the official MCP conformance suite calls, and a few
// similar ones, so that tests can exercise every part of the protocol. The tools change nothing,
// and clients see them only if they name the toolset.
package conformancetest

import (
	"context"
	"time"

	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

// Toolset returns the table of the tools, with resources and prompts.
func Toolset() engine.Toolset {
	return engine.Toolset{
		Sets:      []string{"conformance"},
		Resources: []engine.ResourceProvider{resources{}},
		Prompts:   prompts(),
		Handlers: map[string]engine.Handler{
			"test_simple_text":            engine.Handle(SimpleText),
			"test_image_content":          engine.Handle(Image),
			"test_audio_content":          engine.Handle(Audio),
			"test_embedded_resource":      engine.Handle(Embedded),
			"test_multiple_content_types": engine.Handle(Mixed),
			"test_error_handling":         engine.Handle(Failing),
			"greet":                       engine.Handle(Greet),
			"json_schema_2020_12_tool":    engine.Handle(Contact),
			"test_x_mcp_header":           engine.Handle(Mirrored),

			"test_tool_with_progress":    engine.Handle(Progressing),
			"test_tool_with_logging":     engine.Handle(Logging),
			"test_logging_tool":          engine.Handle(LogOnce),
			"test_reconnection":          engine.Handle(Reconnecting),
			"test_trigger_tool_change":   engine.Handle(ToolChange),
			"test_trigger_prompt_change": engine.Handle(PromptChange),

			"test_sampling":                     engine.Handle(Sampling),
			"test_missing_capability":           engine.Handle(NeedsSampling),
			"test_elicitation":                  engine.Handle(Eliciting),
			"test_elicitation_sep1034_defaults": engine.Handle(Defaults),
			"test_elicitation_sep1330_enums":    engine.Handle(Enums),
			"test_url_elicitation":              engine.Handle(Linking),
			"test_streaming_elicitation":        engine.Handle(AskConfirmation),
			"test_guarded_elicitation":          engine.Handle(Guarded),

			"test_input_required_result_elicitation":     engine.Handle(AskName),
			"test_input_required_result_sampling":        engine.Handle(AskCapital),
			"test_input_required_result_list_roots":      engine.Handle(AskRoots),
			"test_input_required_result_request_state":   engine.Handle(AskConfirmation),
			"test_input_required_result_tampered_state":  engine.Handle(AskConfirmation),
			"test_input_required_result_multiple_inputs": engine.Handle(AskAll),
			"test_input_required_result_multi_round":     engine.Handle(AskTwice),
			"test_input_required_result_capabilities":    engine.Handle(AskSupported),

			"slow_compute":        engine.Handle(SlowCompute),
			"failing_job":         engine.Handle(FailingJob),
			"protocol_error_job":  engine.Handle(FaultyJob),
			"confirm_delete":      engine.Handle(ConfirmDelete),
			"multi_input":         engine.Handle(MultiInput),
			"test_tool_with_task": engine.Handle(AskThenWork),
		},
	}
}

// NoArguments is the input of a tool without arguments.
type NoArguments struct{}

// textContent returns an answer with one text.
func textContent(text string) engine.Content {
	return engine.Content{Blocks: []jsontree.Value{engine.Text(text)}}
}

// pause waits for span, or until the call is cancelled.
func pause(ctx context.Context, span time.Duration) error {
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
