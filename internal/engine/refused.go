package engine

import (
	"context"
	"strings"
	"sync"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
)

// RefusalKind is a kind of request that never becomes a call.
type RefusalKind string

// The kinds of refusals, as records name them.
const (
	UnknownTool RefusalKind = "refused/unknown_tool"
	NoCall      RefusalKind = "refused/no_call" // a body that cannot be read as a call
)

// maxRefusals is how many refusals of each kind are recorded per minute, so that nobody can flood
// the audit log.
const maxRefusals = 30

// refusals counts the refusals of an engine. The zero value is ready to use.
type refusals struct {
	mu    sync.Mutex
	kinds map[RefusalKind]*refusalCount
}

type refusalCount struct {
	since         time.Time
	written, left int // in the minute since; left out since the last record
}

// due reports whether a refusal is to be recorded, and how many were left out before it.
func (r *refusals) due(kind RefusalKind, now time.Time) (left int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kinds == nil {
		r.kinds = map[RefusalKind]*refusalCount{}
	}
	n := r.kinds[kind]
	if n == nil {
		n = &refusalCount{since: now}
		r.kinds[kind] = n
	}
	if passed := now.Sub(n.since); passed >= time.Minute || passed < 0 {
		n.since, n.written = now, 0
	}
	if n.written >= maxRefusals {
		n.left++
		return 0, false
	}
	n.written++
	left, n.left = n.left, 0
	return left, true
}

// Refused records a request that never became a call: about says what it was, such as the name of
// the tool. Of each kind at most maxRefusals a minute are recorded; the next record says how many
// were left out.
func (e *Engine) Refused(ctx context.Context, kind RefusalKind, who Requester, about string) {
	now := e.Now()
	left, ok := e.refusals.due(kind, now)
	if !ok {
		return
	}
	const maxAbout = 100
	args := jsontree.Obj(jsontree.M("about", jsontree.Str(strings.ToValidUTF8(about[:min(len(about), maxAbout)], ""))))
	if left > 0 {
		args.Members = append(args.Members, jsontree.M("left_out", jsontree.Int(int64(left))))
	}
	outcome := map[RefusalKind]contract.Kind{UnknownTool: contract.NotFound, NoCall: contract.Invalid}[kind]
	_ = e.writeAudit(ctx, &audit.Record{ // writeAudit logs the error
		Time: now, Principal: who.Principal, Frontend: who.Frontend, Client: who.Client, Session: who.Connection,
		Tool: string(kind), Arguments: args, Outcome: string(outcome),
	}, false)
}
