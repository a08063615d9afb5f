package approval

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/identity"
)

// Answer is what came of showing a question in the caller's own client.
type Answer int

// The answers. The zero Answer is that nobody saw the question, so that a
// forgotten value approves nothing.
const (
	NotShown Answer = iota
	Accepted
	Declined
	Opened // the person was sent to the page of the request, and decides there
)

// ErrLater is what an Asker returns when the question was put, but the answer
// comes with a later call. The request then stays open.
var ErrLater = errors.New("the answer comes with a later call")

// Asker shows a question to the person at the caller's client and waits for the
// answer. An error counts as NotShown, except for ErrLater. It is nil when that
// client cannot ask.
type Asker func(ctx context.Context, q Request) (Answer, error)

// glance is the least time in which a person can say no. Clients that cannot
// show a question decline it at once instead of saying so.
const glance = 300 * time.Millisecond

// byClient is who decided when the answer came through the caller's client.
const byClient = "client"

// Gate is the step of a call at which a person is asked.
type Gate struct {
	Mode  Mode // the zero Mode asks
	Store Store
	Now   func() time.Time // nil is time.Now
	NewID func() string    // nil is ten random characters
	// Page is where people decide about a request with a browser; "" or nil is nowhere.
	Page func(id string) string
	// Told hears of every new question. It must not block; nil if nobody wants to know.
	Told func(Request)

	waiters waiters
}

// Pass returns nil when the call may go on; it never proceeds because nobody
// could be asked. Otherwise the error is of kind denied, of kind pending with
// the request that waits, of kind unavailable, ErrLater, or the context's own.
func (g *Gate) Pass(ctx context.Context, s Subject, ask Asker) error {
	switch g.Mode {
	case Auto:
		return nil
	case Deny:
		return contract.Errorf(contract.Denied, "Approval is switched off here (--approve deny): %s was not run", s.Tool)
	}
	if settled, err := g.settle(ctx, s); settled {
		return err
	}
	if ask == nil {
		return g.wait(ctx, s, nil)
	}
	return g.passBy(ctx, s, ask)
}

// passBy asks through the caller's client, and falls back to waiting.
func (g *Gate) passBy(ctx context.Context, s Subject, ask Asker) error {
	q, err := g.question(ctx, s)
	if err != nil {
		return err
	}
	answer, unshown := g.show(ctx, s, q, ask)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(unshown, ErrLater) {
		return unshown
	}
	if answer == Opened && g.waiters.join(s.Principal) {
		g.await(ctx, q)
		g.waiters.leave(s.Principal)
	}
	if err := g.decide(ctx, s, q, answer); err != nil {
		return err
	}
	// Whatever the client answered, another face may have decided meanwhile,
	// and an identical call may have spent what this one brought about.
	if settled, err := g.settle(ctx, s); settled {
		return err
	}
	return g.wait(ctx, s, unshown)
}

// How long a call waits for a person who went to the page of its request, and how often
// it looks.
const (
	pagePatience = 5 * time.Minute
	pageGlance   = 250 * time.Millisecond
)

// await returns when a request is decided, or nobody waits for it any more.
func (g *Gate) await(ctx context.Context, q Request) {
	ctx, cancel := context.WithTimeout(ctx, min(pagePatience, q.ExpiresAt.Sub(g.now())))
	defer cancel()
	look := time.NewTicker(pageGlance)
	defer look.Stop()
	for {
		if now, err := g.Store.Get(ctx, q.ID); err != nil || now.State != Pending {
			return // a store that fails says so to whoever asks next
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

// settle goes by a decision that is already there; false if there is none.
func (g *Gate) settle(ctx context.Context, s Subject) (bool, error) {
	r, found, err := g.Store.Take(ctx, s.Key(), g.now())
	switch {
	case err != nil:
		return true, storeFailed(ctx, s, err)
	case !found:
		return false, nil
	case r.State != Approved:
		return true, denial(r)
	}
	return true, nil
}

// question returns the open question about s, a new one if there is none.
func (g *Gate) question(ctx context.Context, s Subject) (Request, error) {
	now, id := g.now(), g.newID()
	q, err := g.Store.Ask(ctx, Request{
		ID: id, Key: s.Key(),
		Workspace: s.Workspace, Principal: s.Principal, Tool: s.Tool, Version: s.Version, Digest: s.Digest,
		Arguments: s.Arguments, Summary: s.Summary,
		State: Pending, CreatedAt: now, ExpiresAt: now.Add(s.window()),
	})
	if err != nil {
		return Request{}, storeFailed(ctx, s, err)
	}
	if q.ID == id && g.Told != nil {
		g.Told(q)
	}
	return q, nil
}

// show puts q to the person at the client. The error is why it was not shown.
func (g *Gate) show(ctx context.Context, s Subject, q Request, ask Asker) (Answer, error) {
	start := s.Asked
	if start.IsZero() {
		start = g.now()
	}
	answer, err := ask(ctx, q)
	if err != nil {
		return NotShown, err
	}
	if answer == Declined && g.now().Sub(start) < glance {
		return NotShown, errors.New("the client declined before a person could have seen the question")
	}
	return answer, nil
}

// decide keeps the answer of the client, if a person gave one.
func (g *Gate) decide(ctx context.Context, s Subject, q Request, answer Answer) error {
	if answer != Accepted && answer != Declined {
		return nil
	}
	now := g.now()
	v := Verdict{Approve: answer == Accepted, By: byClient}
	_, err := g.Store.Decide(ctx, q.ID, v, now, now.Add(s.window()))
	if err == nil || contract.AsError(err).Kind == contract.Conflict {
		return nil // on a conflict the decision that came first counts
	}
	return storeFailed(ctx, s, err)
}

// wait ends the call with the question that a person has yet to answer.
func (g *Gate) wait(ctx context.Context, s Subject, unshown error) error {
	q, err := g.question(ctx, s)
	if err != nil {
		return err
	}
	details := map[string]any{
		"id":         q.ID,
		"status":     string(Pending),
		"expires_at": q.ExpiresAt.UTC().Format(time.RFC3339),
	}
	where := ""
	if g.Page != nil && g.Page(q.ID) != "" {
		details["url"] = g.Page(q.ID)
		where = fmt.Sprintf("at %s, or ", details["url"])
	}
	return contract.Errorf(contract.Pending,
		`Approval needed: request %[1]s waits for a person. Approve it %[2]swith "remit approvals approve %[1]s" in the workspace, then repeat the same call.`, q.ID, where).
		With("approval", details).
		Because(unshown)
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
	return Unreachable(s, err)
}

// Unreachable is what a caller is told when the store fails, or cannot be opened.
func Unreachable(s Subject, cause error) error {
	return contract.Errorf(contract.Unavailable, "Approvals cannot be reached right now, so %s was not run; try again later", s.Tool).
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

// mostWaiting is how many calls of one caller wait for a person at a page. Others get
// their answer at once, that the request waits: each that stays takes the place of a
// call that could run.
const mostWaiting = 8

// waiters counts the calls that wait, by caller. The zero value is ready to use.
type waiters struct {
	mu     sync.Mutex
	counts map[string]int
}

// join tells whether one more call of a caller may wait; then it has to leave.
func (w *waiters) join(principal string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.counts[principal] >= mostWaiting {
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
