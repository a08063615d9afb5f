package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"remit/internal/contract/jsontree"
	"remit/internal/engine/approval"
)

func (w *work) approval(ctx context.Context, args *jsontree.Value) error {
	if !w.tool.Approval.Required || w.call.Round.Approved {
		return nil
	}
	var ask approval.Asker
	if w.call.Peer != nil && (w.call.Grant == nil || w.engine.pageOf("") != "") {
		ask = w.askPerson
	}
	err := w.engine.Approvals.Pass(ctx, approval.Subject{
		Principal: w.call.Principal,
		Tool:      w.tool.ID,
		Version:   w.tool.Version.String(),
		Digest:    w.tool.Digest,
		Arguments: args.Canonical(),
		Window:    time.Duration(w.tool.Approval.Window),
		Summary:   w.tool.Title,
		Asked:     w.call.Round.Asked,
	}, ask)
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return w.late(ctx, err)
	}
	w.next.Approved = err == nil
	return err
}

// askPerson shows the person at the client exactly what is to be done. They take
// their time; later writes of the connection do not wait for them.
func (w *work) askPerson(ctx context.Context, r approval.Request) (approval.Answer, error) {
	Placed(ctx)
	ctx, cancel := context.WithDeadline(ctx, r.ExpiresAt)
	defer cancel()
	question, accepted := w.approvalQuestion(&r)
	question.Guarded = true
	answers, err := w.call.Peer.Ask(ctx, []Question{question})
	if _, later := paused(err); later {
		return approval.NotShown, fmt.Errorf("%w: %w", approval.ErrLater, err)
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
	default: // cancel: the dialog was closed without a choice; and who does not open a page has not denied anything
		return approval.NotShown, nil
	}
}

// approvalQuestion is what the client is asked, and what it means if it accepts. A client
// with a token is an agent's: it may send its person to the page of the request, but its
// own word approves nothing.
func (w *work) approvalQuestion(r *approval.Request) (Question, approval.Answer) {
	key := "approval-" + r.ID
	page := w.engine.pageOf(r.ID)
	if w.call.Grant != nil || page != "" && !w.call.Peer.Can(Forms) && w.call.Peer.Can(Links) {
		return Link(key, r.Summary+" ("+r.Tool+") asks for your approval. Decide about it on this page.", r.ID, page), approval.Opened
	}
	return Form(key, r.Wording(), YesOrNo()), approval.Accepted
}

func (e *Engine) pageOf(id string) string {
	if e.ApprovalPage == nil {
		return ""
	}
	return e.ApprovalPage(id)
}
