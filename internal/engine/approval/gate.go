package approval

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/audit"
	"remit/internal/engine/identity"
	"remit/internal/engine/passkey"
)

// Answer is the result of showing a question in the caller's own client.
type Answer int

// The answers. The zero Answer means that nobody saw the question, so that an unset value approves
// nothing.
const (
	NotShown Answer = iota
	Accepted
	Declined
	Opened // the person was sent to the page of the request and decides there
)

// ErrAnswerPending is returned by an Asker if the question was asked but the answer comes with a
// later call. The request then stays pending.
var ErrAnswerPending = errors.New("the answer comes with a later call")

// Asker shows a question to the person at the caller's client and waits for the answer. An error
// counts as NotShown, except for ErrAnswerPending. A nil Asker means that the client cannot ask.
type Asker func(ctx context.Context, q Request, s Shown) (Answer, error)

// MinAnswerTime is the shortest time in which a person can answer. Clients that cannot show a
// question decline it at once instead of reporting that, or accept whatever they are asked.
const MinAnswerTime = 300 * time.Millisecond

// MaxQuestions is how often one call asks its client. It asks again if what the call would do has
// changed while the person decided.
const MaxQuestions = 3

// byClient is stored as the decider if the answer came through the caller's client.
const byClient = "client"

// Gate is the step of a call that asks a person for approval.
type Gate struct {
	Mode  Mode // the zero Mode asks
	Store Store
	Now   func() time.Time // nil is time.Now
	NewID func() string    // nil is ten random characters
	// Page returns the URL of the page where people decide about a request. Nil, or an empty URL,
	// means that there is no such page.
	Page func(id string) string
	// OnRequest is called with every new request and what it would do. It must not block; it may be
	// nil.
	OnRequest func(Request, Shown)
	// Signed means that approvals must be signed with a passkey, at the page of the request.
	Signed bool
	Rules  *Rules // the standing rules; nil if there are none

	waiters waiters
}

// Passed says why a call may run.
type Passed struct {
	By   string // for audit.Record.Approved: the id of the request, audit.ByRule or audit.ByMode
	Rule string // the id of the rule that let the call pass, or that denied it; "" if none did
	Seen string // the state that the person saw when they approved it; "" if nobody was asked
}

// Pass returns nil if the call may run, and why. It never lets a call pass because nobody could be
// asked. Otherwise the error is of kind denied, of kind pending with the pending request, of kind
// unavailable, ErrAnswerPending, that of Show, or that of the context.
func (g *Gate) Pass(ctx context.Context, s Subject, ask Asker) (Passed, error) {
	p := &passage{Gate: g, Subject: s}
	switch g.Mode {
	case Auto:
		if settled, err := p.applyRules(ctx); settled && err != nil {
			return p.passed, err
		}
		return Passed{By: audit.ByMode}, nil
	case Deny:
		return Passed{}, contract.Errorf(contract.Denied, "This server denies every call that needs approval (the setting approve is deny), so %s was not run", s.Tool)
	}
	if settled, err := p.settle(ctx); settled {
		return p.passed, err
	}
	for range MaxQuestions {
		if ask == nil {
			break
		}
		again, err := p.askClient(ctx, ask)
		if err != nil {
			return Passed{}, err
		}
		// Whatever the client answered, somebody may have decided in another front end meanwhile,
		// and an identical call may have used the approval of this one.
		if settled, err := p.settle(ctx); settled {
			return p.passed, err
		}
		if !again {
			break
		}
	}
	return Passed{}, p.wait(ctx)
}

// passage is one call that waits at the gate.
type passage struct {
	*Gate
	Subject
	passed  Passed
	allowed []Rule // the permissions that cover the call
	changed bool   // the call was approved, but would have another effect now
	unshown error  // why the client did not show the question
}

// askClient asks through the caller's client and stores the answer. again is true if what the call
// would do changed while the person decided.
func (p *passage) askClient(ctx context.Context, ask Asker) (again bool, err error) {
	shown, err := p.show(ctx, p.Seen)
	if err != nil {
		return false, err
	}
	q, err := p.question(ctx, shown)
	if err != nil {
		return false, err
	}
	answer, unshown := p.askShown(ctx, q, shown, ask)
	p.unshown = unshown
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case errors.Is(unshown, ErrAnswerPending):
		return false, unshown
	case answer == Opened:
		if p.waiters.join(p.Principal) {
			p.await(ctx, q)
			p.waiters.leave(p.Principal)
		}
		return false, nil
	case answer == Accepted:
		now, err := p.show(ctx, shown.State)
		if err != nil || now.State != shown.State {
			p.Asked, p.changed = time.Time{}, true
			return true, err
		}
	}
	return false, p.decide(ctx, q, shown, answer)
}

// pageTimeout is how long a call waits for a person who opened the page of its request, and
// pagePollInterval how often it checks for the decision.
const (
	pageTimeout      = 5 * time.Minute
	pagePollInterval = 250 * time.Millisecond
)

// await returns when a request is decided, or when the wait is over.
func (g *Gate) await(ctx context.Context, q Request) {
	ctx, cancel := context.WithTimeout(ctx, min(pageTimeout, q.ExpiresAt.Sub(g.now())))
	defer cancel()
	look := time.NewTicker(pagePollInterval)
	defer look.Stop()
	for {
		if now, err := g.Store.Get(ctx, q.ID); err != nil || now.Stage(g.now()) != string(Pending) {
			return // the next access to the store reports its failure
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

// settle uses a decision that exists already; false if there is none: a standing denial, a decision
// about exactly this call, or a standing permission.
func (p *passage) settle(ctx context.Context) (bool, error) {
	if denied, err := p.applyRules(ctx); denied {
		return true, err
	}
	if settled, err := p.useDecision(ctx); settled {
		return true, err
	}
	if len(p.allowed) == 0 {
		return false, nil
	}
	r, passes, err := p.Rules.use(ctx, p.allowed, p.now())
	if err != nil {
		return true, storeFailed(ctx, p.Subject, err)
	}
	if passes {
		p.passed = Passed{By: audit.ByRule, Rule: r.ID}
	}
	return passes, nil
}

// applyRules looks up the rules that cover the call. It returns true if a standing denial does, or
// if they cannot be known.
func (p *passage) applyRules(ctx context.Context) (denied bool, err error) {
	p.allowed = nil
	if p.Rules == nil {
		return false, nil
	}
	found, err := p.Rules.find(ctx, &p.Subject, p.now())
	switch {
	case err != nil:
		return true, storeFailed(ctx, p.Subject, err)
	case found.denial != nil:
		p.passed = Passed{Rule: found.denial.ID}
		return true, found.denial.denial()
	}
	p.allowed = found.permissions
	return false, nil
}

// useDecision uses a decision about exactly this call; false if there is none. An approval for
// another effect than the call would have now is used up, and does not count.
func (p *passage) useDecision(ctx context.Context) (bool, error) {
	decision, found, err := p.Store.Decided(ctx, p.Key(), p.now())
	if err != nil {
		return true, storeFailed(ctx, p.Subject, err)
	}
	var shown Shown
	if found && decision.State == Approved {
		if shown, err = p.show(ctx, decision.Shown); err != nil {
			return true, err
		}
	}
	if !found {
		return false, nil
	}
	r, found, err := p.Store.Take(ctx, p.Key(), shown.State, p.now())
	switch {
	case err != nil:
		return true, storeFailed(ctx, p.Subject, err)
	case !found:
		return false, nil
	case r.State == Changed:
		p.changed = true
		return false, nil
	case r.State != Approved:
		return true, denial(r)
	}
	p.passed = Passed{By: r.ID, Seen: r.Shown}
	return true, nil
}

// question returns the pending request for the call, and creates it if there is none.
func (p *passage) question(ctx context.Context, shown Shown) (Request, error) {
	now, id := p.now(), p.newID()
	q, err := p.Store.Ask(ctx, Request{
		ID: id, Key: p.Key(),
		Workspace: p.Workspace, Principal: p.Principal, Tool: p.Tool, Version: p.Version, Digest: p.Digest,
		Arguments: p.Arguments, Summary: p.Summary, Target: words(p.Target, maxTarget), Origin: p.public(),
		State: Pending, CreatedAt: now, ExpiresAt: now.Add(p.window()),
	})
	if err != nil {
		return Request{}, storeFailed(ctx, p.Subject, err)
	}
	if q.ID == id && p.OnRequest != nil {
		p.OnRequest(q, shown)
	}
	return q, nil
}

// askShown asks the person at the client. The error says why the question was not shown.
func (p *passage) askShown(ctx context.Context, q Request, shown Shown, ask Asker) (Answer, error) {
	start := p.Asked
	if start.IsZero() {
		start = p.now()
	}
	answer, err := ask(ctx, q, shown)
	if err != nil {
		return NotShown, err
	}
	if (answer == Accepted || answer == Declined) && p.now().Sub(start) < MinAnswerTime {
		return NotShown, errors.New("the client answered before a person could read the question")
	}
	return answer, nil
}

// decide stores the answer of the client, if a person gave one.
func (p *passage) decide(ctx context.Context, q Request, shown Shown, answer Answer) error {
	if answer != Accepted && answer != Declined {
		return nil
	}
	now := p.now()
	v := Verdict{Approve: answer == Accepted, By: byClient, Via: p.Frontend, Shown: shown.State}
	_, err := p.Store.Decide(ctx, q.ID, v, now, now.Add(p.window()))
	switch {
	case err == nil || contract.AsError(err).Kind == contract.Conflict:
		return nil // on a conflict the earlier decision counts
	case errors.Is(err, passkey.ErrNeeded):
		p.unshown = err // the answer of a client carries no signature
		return nil
	}
	return storeFailed(ctx, p.Subject, err)
}

// wait ends the call with the request that a person must still decide.
func (p *passage) wait(ctx context.Context) error {
	shown, err := p.show(ctx, "")
	if err != nil {
		return err
	}
	q, err := p.question(ctx, shown)
	if err != nil {
		return err
	}
	details := map[string]any{
		"id":         q.ID,
		"status":     string(Pending),
		"expires_at": q.ExpiresAt.UTC().Format(time.RFC3339),
	}
	if p.changed {
		details["reason"] = "changed since it was approved"
	}
	where := ""
	if p.Page != nil && p.Page(q.ID) != "" {
		details["url"] = p.Page(q.ID)
		where = fmt.Sprintf(" (%s)", details["url"])
	}
	how := " or at a terminal"
	if p.Signed {
		how = " with a passkey"
	}
	// Agents read this, so it names no command that approves.
	return contract.Errorf(contract.Pending,
		"Approval needed: request %s waits for a person, who decides in the console%s%s. Repeat the same call after that.", q.ID, where, how).
		With("approval", details).
		Because(p.unshown)
}

func denial(r Request) error {
	message := "A person denied this call"
	if r.Reason != "" {
		message += ": " + r.Reason
	}
	return contract.Errorf(contract.Denied, "%s", message).
		With("approval", map[string]any{"id": r.ID, "status": string(Denied)})
}

func storeFailed(ctx context.Context, s Subject, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if contract.AsError(err).Kind == contract.Limited {
		return err
	}
	return StoreUnavailable(s, err)
}

// StoreUnavailable returns the error for a caller when the store fails or cannot be opened. A cause
// that is meant for callers stays as it is.
func StoreUnavailable(s Subject, cause error) error {
	if own, ok := errors.AsType[*contract.Error](cause); ok && own.Kind == contract.Unavailable {
		return own
	}
	return contract.Errorf(contract.Unavailable,
		"The approval store cannot be reached right now, so %s was not run; try again later", s.Tool).
		Because(cause)
}

func (g *Gate) now() time.Time {
	if g.Now == nil {
		return time.Now()
	}
	return g.Now()
}

func (g *Gate) newID() string {
	if g.NewID == nil {
		return identity.NewID()
	}
	return g.NewID()
}

// maxWaiting is how many calls of one caller may wait for a person at a page. Further calls return
// at once that the request is pending, because each waiting call takes the place of one that could
// run.
const maxWaiting = 8

// waiters counts the waiting calls by caller. The zero value is ready to use.
type waiters struct {
	mu     sync.Mutex
	counts map[string]int
}

// join reports whether one more call of a caller may wait. If so, the caller must call leave.
func (w *waiters) join(principal string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.counts[principal] >= maxWaiting {
		return false
	}
	if w.counts == nil {
		w.counts = map[string]int{}
	}
	w.counts[principal]++
	return true
}

func (w *waiters) leave(principal string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.counts[principal]--; w.counts[principal] == 0 {
		delete(w.counts, principal)
	}
}
