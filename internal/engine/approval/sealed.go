package approval

import (
	"context"
	"crypto/hmac"
	"slices"
	"strconv"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/identity"
	"remit/internal/visible"
)

// Sealed is a Store that accepts only decisions that were made with the secret, and tells only what
// was asked with it. The database may be in a folder that came from elsewhere, such as a clone or
// an archive, and nothing in it may approve a call in the name of a person.
type Sealed struct {
	Store
	Secret []byte
}

// Ask stores the request with a seal of what it says about its call.
func (s *Sealed) Ask(ctx context.Context, r Request) (Request, error) {
	r.AskedSeal = s.askSeal(&r)
	r, err := s.Store.Ask(ctx, r)
	return s.proven(r), err
}

// Get implements Store.
func (s *Sealed) Get(ctx context.Context, id string) (Request, error) {
	r, err := s.Store.Get(ctx, id)
	return s.proven(r), err
}

// List implements Store.
func (s *Sealed) List(ctx context.Context, o ListOptions) ([]Request, error) {
	list, err := s.Store.List(ctx, o)
	for i := range list {
		list[i] = s.proven(list[i])
	}
	return list, err
}

// Withdraw implements Store.
func (s *Sealed) Withdraw(ctx context.Context, id string, v Verdict, now time.Time) (Request, error) {
	r, err := s.Store.Withdraw(ctx, id, v, now)
	return s.proven(r), err
}

// Similar leaves out decisions without a valid seal.
func (s *Sealed) Similar(ctx context.Context, o SimilarOptions) ([]Request, error) {
	list, err := s.Store.Similar(ctx, o)
	list = slices.DeleteFunc(list, func(r Request) bool { return !s.genuine(r) })
	for i := range list {
		list[i] = s.proven(list[i])
	}
	return list, err
}

// proven returns the request without what it says about its call, unless it was asked here: nothing
// that was put into the database may tell a person what a call does. An older version asked without
// a seal.
func (s *Sealed) proven(r Request) Request {
	if r.ID != "" && !hmac.Equal([]byte(r.AskedSeal), []byte(s.askSeal(&r))) {
		r.Summary, r.Target, r.Origin = "Call "+visible.Line(r.Tool), "", Origin{}
	}
	return r
}

// Decided discards decisions without a valid seal until it finds one that has it.
func (s *Sealed) Decided(ctx context.Context, key string, now time.Time) (Request, bool, error) {
	for {
		r, found, err := s.Store.Decided(ctx, key, now)
		if err != nil || !found || s.genuine(r) {
			return r, found, err
		}
		if _, _, err := s.Store.Take(ctx, key, r.Shown, now); err != nil {
			return r, false, err
		}
	}
}

// Take takes decisions until it finds one with a valid seal. It ignores all others.
func (s *Sealed) Take(ctx context.Context, key, shown string, now time.Time) (Request, bool, error) {
	for {
		r, found, err := s.Store.Take(ctx, key, shown, now)
		if err != nil || !found || s.genuine(r) {
			return r, found, err
		}
	}
}

// genuine reports whether the decision was sealed here. A changed one was sealed as an approval.
func (s *Sealed) genuine(r Request) bool {
	if r.State == Changed {
		r.State = Approved
	}
	return hmac.Equal([]byte(r.Seal), []byte(s.seal(&r)))
}

// Decide stores the verdict with its seal. It returns an error if the request shows other arguments
// than those that its key is bound to.
func (s *Sealed) Decide(ctx context.Context, id string, v Verdict, now, expires time.Time) (Request, error) {
	r, err := s.Get(ctx, id)
	if err != nil {
		return r, err
	}
	if err := r.checkKey(); err != nil {
		return r, err
	}
	r.State = Denied
	if v.Approve {
		r.State = Approved
	}
	r.DecidedBy, r.ExpiresAt, r.Shown = v.By, expires, v.Shown
	v.Seal = s.seal(&r)
	r, err = s.Store.Decide(ctx, id, v, now, expires)
	return s.proven(r), err
}

// checkKey returns an error if the request shows another call than its key is bound to.
func (r *Request) checkKey() error {
	call := Subject{Workspace: r.Workspace, Principal: r.Principal, Tool: r.Tool, Digest: r.Digest, Arguments: r.Arguments}
	if r.Key != call.Key() {
		return contract.Errorf(contract.Conflict,
			"The stored arguments of request %s do not match its key, so the database was changed from outside; the request cannot be decided", r.ID)
	}
	return nil
}

// seal binds a decision to its call, to what the person saw and to its expiry. Stores keep times in
// microseconds, so the seal does too.
func (s *Sealed) seal(r *Request) string {
	return identity.Seal(s.Secret, r.ID, r.Key, string(r.State), r.DecidedBy, stamp(r.ExpiresAt), r.ShownDigest())
}

func stamp(at time.Time) string { return strconv.FormatInt(at.UnixMicro(), 10) }
