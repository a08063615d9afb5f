package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/approval"
)

// approval asks a person, if the contract requires it.
func (w *work) approval(ctx context.Context, args *jsontree.Value, files map[string]File, invoke invocation) error {
	if !w.tool.Approval.Required || w.call.Continuation.Approved {
		return nil
	}
	if w.call.Dialogue && w.engine.NeedsPasskey != nil && w.engine.NeedsPasskey(ctx) {
		w.call.Dialogue = false
	}
	var ask approval.Asker
	if w.call.Peer != nil && (w.call.Dialogue || w.engine.pageOf("") != "") {
		ask = w.askPerson
	}
	passed, err := w.engine.Approvals.Pass(ctx, approval.Subject{
		Principal: w.call.Principal,
		Owner:     w.call.Owner(),
		Origin: approval.Origin{
			Frontend: w.call.Frontend, Client: w.call.Client, Session: w.call.Connection, CallerReason: w.call.Reason,
		},
		Tool:      w.tool.ID,
		Version:   w.tool.Version.String(),
		Digest:    w.tool.Digest,
		Arguments: args.Canonical(),
		Window:    time.Duration(w.tool.Approval.Window),
		Summary:   w.tool.Sentence(args, approval.Quote),
		Target:    w.tool.TargetOf(args, strings.TrimSpace),
		Asked:     w.call.Continuation.Asked,
		Seen:      w.call.Continuation.Seen,
		Each:      w.tool.Approval.Each,
		Linked:    isLinked(files),
		Show: func(ctx context.Context, seen string) (Shown, error) {
			return w.show(ctx, invoke, seen)
		},
	}, ask)
	w.call.Continuation.Rule = passed.Rule
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return w.timeoutError(ctx, err)
	}
	if err == nil {
		c := &w.call.Continuation
		c.Approved, c.Seen, c.By = true, passed.Seen, passed.By
	}
	return err
}

// isLinked reports whether one of the paths leads over a link, so that its name does not say where
// the file is.
func isLinked(files map[string]File) bool {
	for _, file := range files {
		if f, ok := file.(interface{ Resolved() string }); ok && f.Resolved() != file.Name() {
			return true
		}
	}
	return false
}

// show runs the hook of a handler, under the deadline of the contract.
func (w *work) show(ctx context.Context, invoke invocation, seen string) (Shown, error) {
	limited := w.engine.withDeadline(ctx, w.timeout(), w.caller(), nil, nil)
	defer limited.cancel()
	limited.seen = seen
	shown, _, err := invoke.show(limited)
	if err != nil && limited.Err() != nil && errors.Is(err, limited.Err()) && ctx.Err() == nil {
		err = contract.Errorf(contract.Unavailable, "What %s would do cannot be shown, because it takes too long to find out; try again",
			w.tool.Name).Because(err)
	}
	return shown, err
}

// ErrNotShown is wrapped by the error of Show if this engine does not serve the tool of a request
// under the contract of the request, so that no call could use its approval.
var ErrNotShown = errors.New("no tool is served that could use the approval")

// Show returns what the call of a request would do now, for the person who decides. seen is the
// state that they were shown before, or ""; if that still holds, the result has it.
func (e *Engine) Show(ctx context.Context, r approval.Request, seen string) (shown Shown, err error) {
	defer e.recoverPanic(r.Tool, &err)
	i := slices.IndexFunc(e.list, func(t *Tool) bool { return t.ID == r.Tool && t.Digest == r.Digest })
	if i < 0 {
		return Shown{}, contract.Errorf(contract.Conflict, "%s is not served any more under the contract of request %s, so no call "+
			"could use an approval", r.Tool, r.ID).Because(ErrNotShown)
	}
	args, err := jsontree.Parse(r.Arguments)
	if err != nil {
		return Shown{}, fmt.Errorf("read the arguments of request %s: %w", r.ID, err)
	}
	t := e.list[i]
	w := &work{engine: e, tool: t, call: Call{Principal: r.Principal, Args: args}}
	if args, err = t.Accept(args); err != nil {
		return Shown{}, err
	}
	files, err := w.paths(&args)
	if err != nil {
		return Shown{}, err
	}
	invoke, err := t.handler.prepare(&args, files)
	if err != nil {
		return Shown{}, err
	}
	return w.show(ctx, invoke, seen)
}

// StaleError is the error of a handler that had no effect, because the state that a person saw when
// they made or approved the call does not hold any more. what names the thing that has changed.
func StaleError(what string) *contract.Error {
	return contract.Errorf(contract.Conflict, "%s has changed since a person approved this call, so nothing was done; "+
		"repeat the call to ask them again", what)
}

// askPerson shows the person at the client exactly what the call would do. People take their time,
// so later writes of the connection do not wait for them.
func (w *work) askPerson(ctx context.Context, r approval.Request, shown Shown) (approval.Answer, error) {
	MarkOrdered(ctx)
	ctx, cancel := context.WithDeadline(ctx, r.ExpiresAt)
	defer cancel()
	question, accepted := w.approvalQuestion(&r, shown)
	question.Guarded = true
	w.call.Continuation.Seen = shown.State
	answers, err := w.call.Peer.Ask(ctx, []Question{question})
	if _, later := paused(err); later && w.call.Continuation.Asks < approval.MaxQuestions {
		w.call.Continuation.Asks++
		return approval.NotShown, fmt.Errorf("%w: %w", approval.ErrAnswerPending, err)
	}
	if err != nil {
		return approval.NotShown, fmt.Errorf("ask the client: %w", err)
	}
	answer := answers[question.Key]
	switch {
	case answer.Field("action").Text == "accept":
		return accepted, nil
	case answer.Field("action").Text == "decline" && accepted == approval.Accepted:
		return approval.Declined, nil
	default:
		// Cancel means that the dialog was closed without a choice. Not opening a page is not a
		// denial either.
		return approval.NotShown, nil
	}
}

// approvalQuestion returns the question to the client, and what it means if the client accepts. A
// client that no person started may send its person to the page of the request, but its own answer
// approves nothing. The key of a form names what the form shows, so that an answer to one is no
// answer to a later form that shows something else.
func (w *work) approvalQuestion(r *approval.Request, shown Shown) (Question, approval.Answer) {
	key := "approval-" + r.ID
	page := w.engine.pageOf(r.ID)
	if !w.call.Dialogue || page != "" && !w.call.Peer.Can(Forms) && w.call.Peer.Can(Links) {
		return Link(key, r.Summary+" ("+r.Tool+") asks for your approval. Decide about it on this page.", r.ID, page), approval.Opened
	}
	if shown.State != "" {
		mark, _, _ := strings.Cut(r.PageMark(shown.State), ":")
		key += "-" + mark
	}
	return Form(key, r.Wording(shown), YesOrNo()), approval.Accepted
}

func (e *Engine) pageOf(id string) string {
	if e.ApprovalPage == nil {
		return ""
	}
	return e.ApprovalPage(id)
}
