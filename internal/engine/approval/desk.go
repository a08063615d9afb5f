package approval

import (
	"context"
	"errors"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
	"remit/internal/engine/passkey"
)

// Desk is where people decide, whichever front end they use.
type Desk struct {
	// Open returns the store. Reading from a store that does not exist yet does not create it.
	Open func(ctx context.Context) (Store, error)
	// Show returns what the call of a request would do now; see Show.
	Show func(ctx context.Context, r Request, seen string) (Shown, error)
	Now  func() time.Time
	// Passkeys are those that must sign approvals, once one is registered. Nil means that there are
	// none.
	Passkeys *passkey.Keys
	// Rules opens the standing rules; nil without an error while there can be none.
	Rules func(ctx context.Context) (*Rules, error)
	// Contract returns the contract of a tool that is served, by the tool's id and its digest.
	Contract func(tool, digest string) (*contract.Contract, error)
	// Place returns what the workspace of a request begins with, if its rules are not void.
	Place func() (string, error)
}

// Decision is what a person decides about a request.
type Decision struct {
	Approve bool
	By      string // who decides
	Via     string // the front end that they use
	Address string // where they are, if that is known
	Reason  string
	Mark    string         // of what they saw (PageMark); only an approval needs it
	Answer  passkey.Answer // of their passkey, if they used one
}

func (d Decision) verdict() Verdict {
	return Verdict{Approve: d.Approve, By: d.By, Via: d.Via, Address: d.Address, Reason: d.Reason, Answer: d.Answer}
}

// Decide stores the decision of a person about the request with this id. It returns a
// contract.Conflict error if the request is decided or expired, or if the call would not do what
// the person saw any more.
func (d *Desk) Decide(ctx context.Context, id string, decision Decision) (Request, error) {
	store, err := d.Open(ctx)
	if err != nil {
		return Request{}, err
	}
	r, err := store.Get(ctx, id)
	if err != nil {
		return r, err
	}
	now := d.Now()
	v := decision.verdict()
	if v.Approve && r.Stage(now) == string(Pending) { // the store refuses all others, and says why
		if v.Shown, err = d.stillShown(ctx, r, decision.Mark); err != nil {
			return r, err
		}
	}
	// The decision is valid for as long as the request was.
	return store.Decide(ctx, r.ID, v, now, now.Add(r.ExpiresAt.Sub(r.CreatedAt)))
}

// stillShown returns the state in a mark, if the call would still do what the page with that mark
// showed.
func (d *Desk) stillShown(ctx context.Context, r Request, mark string) (string, error) {
	state, ok := r.StateOf(mark)
	if !ok {
		return "", contract.Errorf(contract.Conflict, "The approval does not say what you saw of request %s; look at the request "+
			"and decide then", r.ID)
	}
	shown, err := d.Show(ctx, r, state)
	if err == nil && shown.State != state {
		err = contract.Errorf(contract.Conflict, "What request %s would do has changed since you looked at it, so it was not approved; "+
			"look at it again", r.ID)
	}
	return state, err
}

// Seen is a request as a person has seen it.
type Seen struct {
	ID   string
	Mark string // of the page or the part of a page that showed it; see Request.PageMark
}

// Outcome is what became of a request that was decided together with others.
type Outcome struct {
	Request Request
	Err     error // nil if it was decided
}

// MaxTogether is how many requests one call of DecideSeen decides.
const MaxTogether = 200

// DecideSeen decides about several requests in the same way, each as Decide does; the Mark of the
// decision does not count. Also a denial needs the mark of each request, so that nobody decides
// about what they have not seen. The outcomes are in the order of seen: one that cannot be decided
// does not keep the others from it.
func (d *Desk) DecideSeen(ctx context.Context, seen []Seen, decision Decision) ([]Outcome, error) {
	if len(seen) > MaxTogether {
		return nil, contract.Errorf(contract.Invalid, "%d requests are too many; decide about at most %d together", len(seen), MaxTogether)
	}
	store, err := d.Open(ctx)
	if err != nil {
		return nil, err
	}
	outcomes := make([]Outcome, len(seen))
	for i, one := range seen {
		outcomes[i] = d.decideSeen(ctx, store, one, decision)
	}
	return outcomes, nil
}

func (d *Desk) decideSeen(ctx context.Context, store Store, seen Seen, decision Decision) (o Outcome) {
	if o.Request, o.Err = store.Get(ctx, seen.ID); o.Err != nil {
		return o
	}
	if _, ok := o.Request.StateOf(seen.Mark); !ok {
		o.Err = unseenError(&o.Request)
		return o
	}
	decision.Mark = seen.Mark
	o.Request, o.Err = d.Decide(ctx, o.Request.ID, decision)
	return o
}

func unseenError(r *Request) error {
	return contract.Errorf(contract.Conflict, "The decision does not say what you saw of request %s; look at the request and decide then", r.ID)
}

// Withdraw takes back an approval that no call has used.
func (d *Desk) Withdraw(ctx context.Context, id string, decision Decision) (Request, error) {
	store, err := d.Open(ctx)
	if err != nil {
		return Request{}, err
	}
	r, err := store.Get(ctx, id)
	if err != nil {
		return r, err
	}
	return store.Withdraw(ctx, r.ID, decision.verdict(), d.Now())
}

// Recorded is a Store that keeps an audit record of every decision, and of every attempt to decide.
// It approves nothing that it cannot record.
type Recorded struct {
	Store
	Audit interface {
		Ready(now time.Time) error
		Write(ctx context.Context, r *audit.Record, durable bool) error
	}
}

// Decide implements Store.
func (s *Recorded) Decide(ctx context.Context, id string, v Verdict, now, expires time.Time) (Request, error) {
	if v.Approve {
		if err := s.Audit.Ready(now); err != nil {
			return Request{}, contract.Errorf(contract.Unavailable,
				"The audit record cannot be written, so nothing was decided; try again later").Because(err)
		}
	}
	action := "deny"
	if v.Approve {
		action = "approve"
	}
	ctx, effect := s.start(ctx, action, id, v, now)
	r, err := s.Store.Decide(ctx, id, v, now, expires)
	recordErr := conclude(ctx, effect, &r, err)
	if err == nil && recordErr != nil && v.Approve {
		_, undone := s.Store.Withdraw(context.WithoutCancel(ctx), id, v, now)
		return r, contract.Errorf(contract.Unavailable,
			"The audit record could not be written, so the approval was withdrawn; try again later").Because(errors.Join(recordErr, undone))
	}
	return r, err
}

// Withdraw implements Store.
func (s *Recorded) Withdraw(ctx context.Context, id string, v Verdict, now time.Time) (Request, error) {
	ctx, effect := s.start(ctx, "withdraw", id, v, now)
	r, err := s.Store.Withdraw(ctx, id, v, now)
	_ = conclude(ctx, effect, &r, err) // taking back needs no record to hold
	return r, err
}

// start returns a context that carries the record of a decision. A store that keeps records in the
// transaction of the decision completes it with DescribeRequest.
func (s *Recorded) start(ctx context.Context, action, id string, v Verdict, now time.Time) (context.Context, *audit.Effect) {
	about := []jsontree.Member{jsontree.M("request", jsontree.Str(id))}
	for _, m := range [][2]string{{"reason", v.Reason}, {"address", v.Address}} {
		if m[1] != "" {
			about = append(about, jsontree.M(m[0], jsontree.Str(m[1])))
		}
	}
	record := audit.Record{
		Time: now, Principal: v.By, Frontend: v.Via, Tool: "approvals/" + action, Outcome: "ok", Arguments: jsontree.Obj(about...),
	}
	return audit.Start(ctx, &record, s.Audit)
}

// DescribeRequest adds what a decision is about to the record that ctx carries.
func DescribeRequest(ctx context.Context, r *Request) {
	var about []jsontree.Member
	for _, m := range [][2]string{{"tool", r.Tool}, {"caller", r.Principal}} {
		if m[1] != "" {
			about = append(about, jsontree.M(m[0], jsontree.Str(m[1])))
		}
	}
	if proof, err := jsontree.Parse([]byte(r.Proof)); err == nil && r.State == Approved {
		about = append(about, jsontree.M(passkey.RecordMember, proof))
	}
	audit.EffectFrom(ctx).Describe(about...)
}

// recordTimeout is how long the record of a decision may take to reach the disk.
const recordTimeout = 10 * time.Second

// conclude writes the audit record of a decision, even if the person has gone meanwhile.
func conclude(ctx context.Context, effect *audit.Effect, r *Request, failed error) error {
	DescribeRequest(ctx, r)
	return concludeEffect(ctx, effect, failed)
}

func concludeEffect(ctx context.Context, effect *audit.Effect, failed error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	return effect.Conclude(ctx, failed)
}
