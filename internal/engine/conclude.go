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
		w.witness(answer)
	default:
		result.fail(contract.AsError(err))
	}
	record := w.record(&result, took)
	if auditErr := w.engine.keep(ctx, record, w.wrote()); auditErr != nil && w.wrote() && result.Err == nil {
		result.fail(contract.Errorf(contract.Unavailable,
			"The call was carried out, but its audit record could not be kept; do not repeat it").Because(auditErr))
		record = w.record(&result, took)
	}
	told := telemetry.Call{Method: "tools/call", Tool: w.tool.ID, Connection: w.call.Connection}
	var failure error
	if result.Err != nil {
		told.Err, failure = w.tool.Code(result.Err), result.Err
	}
	w.engine.tell(ctx, record, told, failure, w.ran && took > w.engine.limit(w.tool))
	return result
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

func (w *work) record(result *Result, took time.Duration) *audit.Record {
	return &audit.Record{
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
	}
}

// auditPatience is how long a record may take to reach the disk.
const auditPatience = 10 * time.Second

// keep keeps the audit record of a call or a visit; that of a write is durable before
// the answer, even if the caller has gone meanwhile. That of a read is not waited for.
func (e *Engine) keep(ctx context.Context, r *audit.Record, durable bool) error {
	patient := context.Background()
	if durable {
		var cancel context.CancelFunc
		patient, cancel = context.WithTimeout(patient, auditPatience)
		defer cancel()
	}
	err := e.Audit.Write(patient, r, durable)
	if err != nil {
		e.Log.ErrorContext(ctx, "the audit record could not be kept", "tool", r.Tool, "error", err)
	}
	return err
}

// tell lets those hear of a call or a visit who count it, follow it from program to
// program or read the log. told has what the record does not; err is what the caller
// was told.
func (e *Engine) tell(ctx context.Context, r *audit.Record, told telemetry.Call, err error, late bool) {
	e.Observer.Observe(r.Tool, r.Outcome, r.Duration)
	if e.Telemetry != nil {
		call := told
		call.Outcome, call.Version, call.Caller, call.Face, call.Client = r.Outcome, r.Version, r.Principal, r.Face, r.Client
		call.Started, call.Took, call.Bytes = r.Time, r.Duration, r.Bytes
		e.Telemetry.Called(ctx, &call)
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
	if cause := errors.Unwrap(err); cause != nil {
		attrs = append(attrs, slog.Any("cause", cause))
	}
	e.Log.LogAttrs(ctx, level, "call", attrs...)
}

// Paged is an Out with a list that may be cut, so that the answer stays within the
// budget of its contract.
type Paged interface {
	// Cut gives the same answer with only the first n elements of its list, and the
	// cursor that goes on after them.
	Cut(n int) any
}

// Noted is an Out that can tell of its list that there is more than it gives. It is for
// answers that are cut without a cursor.
type Noted interface {
	Notes() Notes
}

// Notes are what a caller is told beside an answer that was cut without a cursor.
type Notes struct {
	Truncated bool  // there is more than was given
	Total     int64 // how many elements there are; -1 is not known. It says nothing of an answer that is whole.
	Shown     int   // how many were given; the engine counts them
}

// Remarker is an Out with something to say beside the answer: how it was found, how fresh it is. Remarks gives an object,
// or null if there is nothing to say; what it holds is not part of the contract.
type Remarker interface {
	Remarks() jsontree.Value
}

// promised makes of what a handler gave the answer that the contract promises: the
// fields it names, within its schema and its budget. What is cut is not looked at.
func (w *work) promised(out any) (jsontree.Value, error) {
	answer, err := w.wrapped(out)
	if err != nil {
		return answer, err
	}
	if remarker, ok := out.(Remarker); ok {
		w.remarks = remarker.Remarks()
	}
	keep, fits := w.tool.Fit(&answer)
	switch {
	case w.tool.Truncate.Cursor == "":
		w.note(out, &answer, keep, fits)
	case !fits:
		if answer, err = w.wrapped(out.(Paged).Cut(keep)); err != nil { // New has seen that it is one
			return answer, err
		}
	}
	return w.tool.Conform(answer)
}

// note cuts an answer that has no cursor to go on with, if it must, and remembers what
// its caller is told of what is missing.
func (w *work) note(out any, answer *jsontree.Value, keep int, fits bool) {
	if noted, ok := out.(Noted); ok {
		w.notes = noted.Notes()
	}
	if !fits {
		total := w.tool.Cut(answer, keep)
		if !w.notes.Truncated {
			w.notes = Notes{Truncated: true, Total: int64(total)}
		}
	}
	w.notes.Shown = keep
}

// wrapped is what a handler gave as a tree, in the shape of its set.
func (w *work) wrapped(out any) (jsontree.Value, error) {
	answer, err := jsontree.Of(out)
	return w.tool.Wrap(answer), err
}

// Witness is told what callers did, so that it can be remembered. It must not block, and keeps nothing of what it is
// handed without copying it.
type Witness interface {
	// Saw is told of every call that succeeded.
	Saw(s Seen)
	// Left is told that a connection has ended.
	Left(connection string)
}

// Seen is a call that succeeded.
type Seen struct {
	Caller Caller
	Tool   string // set/name
	Args   jsontree.Value
	Answer jsontree.Value
	At     time.Time // when it began
}

// witness lets it be remembered what the call did. A repeat did nothing.
func (w *work) witness(answer jsontree.Value) {
	if w.engine.Witness == nil || w.replayed {
		return
	}
	w.engine.Witness.Saw(Seen{Caller: w.caller(), Tool: w.tool.ID, Args: w.call.Args, Answer: answer, At: w.started})
}

// Left is how a face tells that a connection has ended.
func (e *Engine) Left(connection string) {
	if e.Witness != nil && connection != "" {
		e.Witness.Left(connection)
	}
}
