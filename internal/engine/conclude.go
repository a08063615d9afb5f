package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
	"remit/internal/engine/telemetry"
)

// conclude renders what the call came to, and is the one place that logs,
// counts and records it.
func (w *work) conclude(ctx context.Context, answer jsontree.Value, err error) Result {
	result := Result{Tool: w.tool}
	took := w.engine.Now().Sub(w.started)
	questions, waits := paused(err)
	switch {
	case waits:
		w.ran = false // a handler that waits has changed nothing
		w.next.Asked = w.engine.Now()
		result.Need = &Need{Questions: questions, Task: len(questions) == 0, Next: w.next}
	case err == nil:
		result.Replayed, result.Notes, result.Remarks = w.replayed, w.notes, w.remarks
		result.succeed(&answer)
		w.witness(&answer)
	default:
		result.fail(contract.AsError(err))
	}
	if auditErr := w.record(&result, took); auditErr != nil {
		w.engine.Log.ErrorContext(ctx, "the audit record could not be kept", "tool", w.tool.ID, "error", auditErr)
		if w.wrote() && result.Err == nil {
			result.fail(contract.Errorf(contract.Unavailable,
				"The call was carried out, but its audit record could not be kept; do not repeat it").Because(auditErr))
		}
	}
	w.engine.Observer.Observe(w.tool.ID, result.outcome(), took)
	w.tell(ctx, &result, took)
	w.log(ctx, &result, took)
	return result
}

// tell lets those hear of the call who follow it from program to program.
func (w *work) tell(ctx context.Context, result *Result, took time.Duration) {
	if w.engine.Telemetry == nil {
		return
	}
	told := telemetry.Call{
		Method: "tools/call", Tool: w.tool.ID, Outcome: result.outcome(), Version: w.tool.Version.String(),
		Caller: w.call.Principal, Face: w.call.Face, Client: w.call.Client, Connection: w.call.Connection,
		Started: w.started, Took: took, Bytes: len(result.Body),
	}
	if result.Err != nil {
		told.Err = w.tool.Code(result.Err)
	}
	w.engine.Telemetry.Called(ctx, &told)
}

func (r *Result) succeed(answer *jsontree.Value) {
	least, _ := answer.Sizes()
	r.Structured = answer.Append(make([]byte, 0, least+least/16+64)) // some escapes need no second buffer
	r.Body = r.Tool.Body(r.Structured)
	if r.Tool.Content {
		blocks := answer.Field("content")
		r.Content = blocks.Append(nil)
	}
}

func (r *Result) fail(e *contract.Error) {
	r.Err = e
	r.Body, r.Structured, r.Content = r.Tool.Render(e), nil, nil
}

func (r *Result) outcome() string {
	switch {
	case r.Need != nil:
		return "asked"
	case r.Replayed && r.Err == nil:
		return "replayed"
	case r.Err == nil:
		return "ok"
	default:
		return string(r.Err.Kind)
	}
}

func (w *work) wrote() bool { return w.ran && !w.tool.Hints.ReadOnly }

// record keeps the audit record; that of a write is durable before the answer,
// even if the caller has gone meanwhile.
func (w *work) record(result *Result, took time.Duration) error {
	ctx := context.Background()
	if w.wrote() { // the record of a read is not waited for
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, auditPatience)
		defer cancel()
	}
	return w.engine.Audit.Write(ctx, &audit.Record{
		Time:      w.started,
		Principal: w.call.Principal,
		Face:      w.call.Face,
		Client:    w.call.Client,
		Tool:      w.tool.ID,
		Version:   w.tool.Version.String(),
		Arguments: w.tool.Redacted(&w.call.Args),
		Outcome:   result.outcome(),
		Duration:  took,
		Bytes:     len(result.Body),
	}, w.wrote())
}

// auditPatience is how long a record may take to reach the disk.
const auditPatience = 10 * time.Second

func (w *work) log(ctx context.Context, result *Result, took time.Duration) {
	level := slog.LevelInfo
	switch {
	case result.Err != nil && result.Err.Kind == contract.Internal:
		level = slog.LevelError
	case result.Err != nil && result.Err.Kind == contract.Unavailable && !errors.Is(result.Err, context.Canceled),
		took > w.engine.limit(w.tool) && w.ran:
		level = slog.LevelWarn
	}
	if !w.engine.Log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("tool", w.tool.ID),
		slog.String("caller", w.call.Principal),
		slog.String("outcome", result.outcome()),
		slog.Duration("took", took),
		slog.Int("bytes", len(result.Body)),
	}
	if result.Err != nil && result.Err.Cause != nil {
		attrs = append(attrs, slog.Any("cause", result.Err.Cause))
	}
	w.engine.Log.LogAttrs(ctx, level, "call", attrs...)
}
