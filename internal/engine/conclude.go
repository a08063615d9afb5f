package engine

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
	"remit/internal/engine/telemetry"
)

// conclude builds the result of the call. It is the only place that logs, counts and records calls.
func (w *work) conclude(ctx context.Context, answer jsontree.Value, err error) Result {
	result := Result{Tool: w.tool}
	took := w.engine.Now().Sub(w.started)
	questions, waits := paused(err)
	switch {
	case waits:
		w.ran = false // a suspended handler has changed nothing
		next := w.call.Continuation
		next.Attempt++
		next.Asked = w.engine.Now()
		result.Suspended = &Suspension{Questions: questions, Task: len(questions) == 0, Next: next}
	case err == nil:
		result.Replayed, result.Truncation, result.Metadata = w.replayed, w.notes, w.remarks
		result.succeed(&answer)
		w.recordActivity(answer)
	default:
		result.fail(w.withPath(contract.AsError(err)))
	}
	record := w.record(&result, took)
	// A call that has begun has a durable record already; recovery adds its outcome after a crash.
	durable := w.wrote() && !record.InOutbox && !w.effect.HasBegun()
	if auditErr := w.engine.writeAudit(ctx, record, durable); auditErr != nil && durable && result.Err == nil {
		result.fail(contract.Errorf(contract.Unavailable,
			"The call was carried out, but its audit record could not be written; do not repeat it").Because(auditErr))
		record = w.record(&result, took)
	}
	info := telemetry.Call{Method: "tools/call", Tool: w.tool.ID, Connection: w.call.Connection}
	var failure error
	if result.Err != nil {
		info.Err, failure = w.tool.Code(result.Err), result.Err
	}
	w.engine.report(ctx, record, info, failure, w.ran && took > w.timeout())
	return result
}

// withPath adds the path argument of the call to its error, if the tool's error shape is
// contract.Named and the error has no path yet.
func (w *work) withPath(e *contract.Error) *contract.Error {
	path, given := w.call.Args.Get("path")
	if _, has := e.Details["path"]; has || !given || path.Kind != jsontree.String || w.tool.Shape != contract.Named {
		return e
	}
	copied := *e
	copied.Details = maps.Clone(e.Details)
	return copied.With("path", path.Text)
}

func (r *Result) succeed(answer *jsontree.Value) {
	least, _ := answer.Sizes()
	// The extra room is for escapes, to avoid a second allocation.
	r.Structured = answer.Append(make([]byte, 0, least+least/16+64))
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
	case r.Suspended != nil:
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

func (w *work) record(result *Result, took time.Duration) *audit.Record {
	r := &audit.Record{
		Time:      w.started,
		Principal: w.call.Principal,
		Frontend:  w.call.Frontend,
		Client:    w.call.Client,
		Session:   w.call.Connection,
		Tool:      w.tool.ID,
		Version:   w.tool.Version.String(),
		Outcome:   result.outcome(),
		Approved:  w.call.Continuation.By,
		Rule:      w.call.Continuation.Rule,
		Request:   requestOf(result.Err),
		Key:       w.repeats,
		Duration:  took,
		Bytes:     len(result.Body),
	}
	if w.redacted != nil {
		r.Arguments = *w.redacted
	} else {
		r.Arguments = w.tool.Redacted(&w.call.Args)
	}
	if result.Err != nil && audit.IsFailure(r.Outcome) {
		r.Code = w.tool.Code(result.Err)
		r.Message = contract.Hide(w.tool.Message(result.Err), &w.call.Args, &r.Arguments)
	}
	w.effect.AddTo(r)
	w.effect.Complete(r, result.Err == nil)
	return r
}

// requestOf returns the id of the approval request that an error names.
func requestOf(e *contract.Error) string {
	if e == nil {
		return ""
	}
	about, _ := e.Details["approval"].(map[string]any)
	id, _ := about["id"].(string)
	return id
}

// auditTimeout is how long a record may take to reach the disk.
const auditTimeout = 10 * time.Second

// writeAudit writes the audit record of a call or a request. That of a write is durable before the
// caller gets its answer, even if the caller has gone meanwhile. Nobody waits for that of a read,
// or for one that takes the place of a record in the outbox.
func (e *Engine) writeAudit(ctx context.Context, r *audit.Record, durable bool) error {
	patient := context.Background()
	if durable {
		var cancel context.CancelFunc
		patient, cancel = context.WithTimeout(patient, auditTimeout)
		defer cancel()
	}
	err := e.Audit.Write(patient, r, durable)
	if err != nil {
		e.Log.ErrorContext(ctx, "cannot write the audit record", "tool", r.Tool, "error", err)
	}
	return err
}

// report passes a call or a request to the observer, to telemetry and to the log. info holds what
// is not in the record; err is the error that the caller gets.
func (e *Engine) report(ctx context.Context, r *audit.Record, info telemetry.Call, err error, late bool) {
	e.Observer.Observe(r.Tool, r.Outcome, r.Duration)
	if e.Telemetry != nil {
		call := info
		call.Outcome, call.Version, call.Caller, call.Frontend, call.Client = r.Outcome, r.Version, r.Principal, r.Frontend, r.Client
		call.Started, call.Took, call.Bytes = r.Time, r.Duration, r.Bytes
		e.Telemetry.End(ctx, &call)
	}
	level := slog.LevelInfo
	switch {
	case r.Outcome == string(contract.Internal):
		level = slog.LevelError
	case r.Outcome == string(contract.Unavailable) && !errors.Is(err, context.Canceled), late:
		level = slog.LevelWarn
	}
	if !e.Log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("tool", r.Tool),
		slog.String("caller", r.Principal),
		slog.String("outcome", r.Outcome),
		slog.Duration("took", r.Duration),
		slog.Int("bytes", r.Bytes),
	}
	if r.Session != "" {
		attrs = append(attrs, slog.String("session", r.Session))
	}
	if cause := errors.Unwrap(err); cause != nil {
		attrs = append(attrs, slog.Any("cause", cause))
	}
	e.Log.LogAttrs(ctx, level, "call", attrs...)
}

// Paged is an Out whose list may be truncated, so that the answer stays within the budget of its
// contract.
type Paged interface {
	// Cut returns the same answer with only the first n elements of its list, and the cursor that
	// continues after them.
	Cut(n int) any
}

// TruncationReporter is an Out that reports whether its list is incomplete. It is for answers that
// are truncated without a cursor.
type TruncationReporter interface {
	Truncation() Truncation
}

// Truncation tells the caller about an answer that was truncated without a cursor.
type Truncation struct {
	Truncated bool // the list is incomplete
	// Total is how many elements there are; -1 if unknown. Not set if the answer is complete.
	Total int64
	Shown int // how many elements the answer has; set by the engine
}

// MetadataReporter is an Out with additional information about the answer: how it was found, how
// fresh it is. Metadata returns an object, or null if there is no such information. It is not part
// of the contract.
type MetadataReporter interface {
	Metadata() jsontree.Value
}

// conformed converts the result of a handler to the answer that the contract promises: its fields,
// its schema and its budget. It does not check the elements that are cut.
func (w *work) conformed(out any) (jsontree.Value, error) {
	answer, err := w.encoded(out)
	if err != nil {
		return answer, err
	}
	if remarker, ok := out.(MetadataReporter); ok {
		w.remarks = remarker.Metadata()
	}
	keep, fits := w.tool.Fit(&answer)
	switch {
	case w.tool.Truncate.Cursor == "":
		w.note(out, &answer, keep, fits)
	case !fits:
		if answer, err = w.encoded(out.(Paged).Cut(keep)); err != nil { // New has checked this
			return answer, err
		}
	}
	return w.tool.Conform(answer)
}

// note truncates an answer without a cursor if it is too large, and sets the notes about the
// missing elements.
func (w *work) note(out any, answer *jsontree.Value, keep int, fits bool) {
	if noted, ok := out.(TruncationReporter); ok {
		w.notes = noted.Truncation()
	}
	if !fits {
		total := w.tool.Cut(answer, keep)
		if !w.notes.Truncated {
			w.notes = Truncation{Truncated: true, Total: int64(total)}
		}
	}
	w.notes.Shown = keep
}

// encoded converts the result of a handler to a tree in the shape of its set.
func (w *work) encoded(out any) (jsontree.Value, error) {
	answer, err := jsontree.Of(out)
	return w.tool.Wrap(answer), err
}

// ActivityRecorder records what callers did. It must not block, and must copy what it keeps.
type ActivityRecorder interface {
	// Record is called for every call that succeeded.
	Record(s Activity)
	// ConnectionClosed is called when a connection has ended.
	ConnectionClosed(connection string)
}

// Activity describes a call that succeeded.
type Activity struct {
	Caller Caller
	Tool   string // set/name
	Args   jsontree.Value
	Answer jsontree.Value
	At     time.Time // when it began
}

// recordActivity passes the call to the recorder. A replayed call did nothing.
func (w *work) recordActivity(answer jsontree.Value) {
	if w.engine.Activity == nil || w.replayed {
		return
	}
	w.engine.Activity.Record(Activity{Caller: w.caller(), Tool: w.tool.ID, Args: w.call.Args, Answer: answer, At: w.started})
}

// ConnectionClosed tells the activity recorder that a connection has ended. Front ends call it.
func (e *Engine) ConnectionClosed(connection string) {
	if e.Activity != nil && connection != "" {
		e.Activity.ConnectionClosed(connection)
	}
}
