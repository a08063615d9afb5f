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
type Asker func(ctx context.Context, q Request) (Answer, error)

// minDeclineTime is the shortest time in which a person can decline. Clients that cannot show a
// question decline it at once instead of reporting that.
const minDeclineTime = 300 * time.Millisecond

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
	// OnRequest is called with every new request. It must not block; it may be nil.
	OnRequest func(Request)

	waiters waiters
}

// Pass returns nil if the call may run. It never lets a call pass because nobody could be asked.
// Otherwise the error is of kind denied, of kind pending with the pending request, of kind
// unavailable, ErrAnswerPending, or that of the context.
func (g *Gate) Pass(ctx context.Context, s Subject, ask Asker) error {
	switch g.Mode {
	case Auto:
		return nil
	case Deny:
		return contract.Errorf(contract.Denied, "This server denies every call that needs approval (--approve deny), so %s was not run", s.Tool)
	}
	if settled, err := g.settle(ctx, s); settled {
		return err
	}
	if ask == nil {
		return g.wait(ctx, s, nil)
	}
	return g.askClient(ctx, s, ask)
}

// askClient asks through the caller's client, and returns the pending request if that gives no
// answer.
func (g *Gate) askClient(ctx context.Context, s Subject, ask Asker) error {
	q, err := g.question(ctx, s)
	if err != nil {
		return err
	}
	answer, unshown := g.show(ctx, s, q, ask)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(unshown, ErrAnswerPending) {
		return unshown
	}
	if answer == Opened && g.waiters.join(s.Principal) {
		g.await(ctx, q)
		g.waiters.leave(s.Principal)
	}
	if err := g.decide(ctx, s, q, answer); err != nil {
		return err
	}
	// Whatever the client answered, somebody may have decided in another front end meanwhile, and
	// an identical call may have used the approval of this one.
	if settled, err := g.settle(ctx, s); settled {
		return err
	}
	return g.wait(ctx, s, unshown)
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
		if now, err := g.Store.Get(ctx, q.ID); err != nil || now.State != Pending {
			return // the next access to the store reports its failure
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

// settle uses a decision that exists already; false if there is none.
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

// question returns the pending request for s, and creates it if there is none.
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
	if q.ID == id && g.OnRequest != nil {
		g.OnRequest(q)
	}
	return q, nil
}

// show asks the person at the client. The error says why the question was not shown.
func (g *Gate) show(ctx context.Context, s Subject, q Request, ask Asker) (Answer, error) {
	start := s.Asked
	if start.IsZero() {
		start = g.now()
	}
	answer, err := ask(ctx, q)
	if err != nil {
		return NotShown, err
	}
	if answer == Declined && g.now().Sub(start) < minDeclineTime {
		return NotShown, errors.New("the client declined before a person could see the question")
	}
	return answer, nil
}

// decide stores the answer of the client, if a person gave one.
func (g *Gate) decide(ctx context.Context, s Subject, q Request, answer Answer) error {
	if answer != Accepted && answer != Declined {
		return nil
	}
	now := g.now()
	v := Verdict{Approve: answer == Accepted, By: byClient}
	_, err := g.Store.Decide(ctx, q.ID, v, now, now.Add(s.window()))
	if err == nil || contract.AsError(err).Kind == contract.Conflict {
		return nil // on a conflict the earlier decision counts
	}
	return storeFailed(ctx, s, err)
}

// wait ends the call with the request that a person must still decide.
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
		where = fmt.Sprintf(" (%s)", details["url"])
	}
	// Agents read this, so it names no command that approves.
	return contract.Errorf(contract.Pending,
		"Approval needed: request %s waits for a person, who decides in the console%s or at a terminal. "+
			"Repeat the same call after that.", q.ID, where).
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
	return StoreUnavailable(s, err)
}

// StoreUnavailable returns the error for a caller when the store fails or cannot be opened.
func StoreUnavailable(s Subject, cause error) error {
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
