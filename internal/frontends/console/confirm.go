package console

import (
	"context"

	"remit/internal/engine/approval"
	"remit/internal/engine/audit/auditindex"
	"remit/internal/visible"
)

// confirmPage asks a person before something ends for good.
type confirmPage struct {
	Title, Lead string
	Facts       []confirmFact
	Stops       []string // what no longer works afterwards
	Again       string   // how to make another one
	Action      string   // where the form is sent
	Name        string   // sent as the field "name", unless it is ""
	Button      string
	Passkey     string // where to ask for the signature of a passkey; "" if none is needed
	Back        string // the page to go back to
}

// confirmFact is a line about what ends. At most one of the values is set.
type confirmFact struct {
	Label, Text string
	Call        *auditindex.Call // when it was used last, and by which client
}

// confirm shows the question. It is one of the pages about access.
func (v *visit) confirm(page confirmPage) error {
	return v.page("confirm", "access", page.Title, page)
}

// lastUse returns a fact about the newest call of a caller.
func (v *visit) lastUse(caller string) confirmFact {
	fact := confirmFact{Label: "Last call", Text: "none in the records"}
	if v.Calls == nil {
		return fact
	}
	_ = v.Calls.Refresh(v.r.Context()) // an older call is good enough
	page, err := v.Calls.Page(v.r.Context(), auditindex.Filter{Caller: caller, ExceptFrontend: frontendPage}, "", 1)
	switch {
	case err != nil:
		v.Log.Warn("reading the newest call of a caller failed", "error", err)
		fact.Text = "cannot be read now"
	case len(page.Calls) > 0:
		fact.Text, fact.Call = "", &page.Calls[0]
	}
	return fact
}

// waitingOf returns how many requests of a caller wait for a person.
func (v *visit) waitingOf(ctx context.Context, caller string) (n int, err error) {
	waiting, err := v.waiting(ctx, maxInboxRequests)
	for i := range waiting {
		if waiting[i].Principal == caller {
			n++
		}
	}
	return n, err
}

// rulesOf returns how many rules are in force for a caller.
func (v *visit) rulesOf(ctx context.Context, caller string) (n int, err error) {
	rules, err := v.Desk.ListRules(ctx, false)
	for i := range rules {
		if rules[i].Principal == caller && rules[i].Now == approval.InForce {
			n++
		}
	}
	return n, err
}

// clientOf returns how a call reached the server.
func clientOf(c *auditindex.Call) string {
	if c.Client == "" {
		return visible.Line(c.Frontend)
	}
	return visible.Line(c.Client) + " via " + visible.Line(c.Frontend)
}

// Client returns which client made the call.
func (f confirmFact) Client() string { return clientOf(f.Call) }
