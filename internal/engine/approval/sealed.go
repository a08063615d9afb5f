package approval

import (
	"context"
	"crypto/hmac"
	"strconv"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/identity"
)

// Sealed is a Store whose decisions count only if they were made with the secret.
// The database may lie in a folder that came from elsewhere, a clone or an archive,
// and nothing that lies there may approve for a person.
type Sealed struct {
	Store
	Secret []byte
}

var _ Store = (*Sealed)(nil)

// Take spends decisions until it finds one with a true seal; others count for
// nothing.
func (s *Sealed) Take(ctx context.Context, key string, now time.Time) (Request, bool, error) {
	for {
		r, found, err := s.Store.Take(ctx, key, now)
		if err != nil || !found {
			return r, found, err
		}
		if hmac.Equal([]byte(r.Seal), []byte(s.seal(&r))) {
			return r, true, nil
		}
	}
}

// Decide keeps the verdict with its seal. It refuses a request that shows other
// arguments than those it is bound to.
func (s *Sealed) Decide(ctx context.Context, id string, v Verdict, now, expires time.Time) (Request, error) {
	r, err := s.Get(ctx, id)
	if err != nil {
		return r, err
	}
	shown := Subject{Workspace: r.Workspace, Principal: r.Principal, Tool: r.Tool, Digest: r.Digest, Arguments: r.Arguments}
	if r.Key != shown.Key() {
		return r, contract.Errorf(contract.Conflict, "Request %s does not show the call that it stands for; the database was tampered with", id)
	}
	r.State = Denied
	if v.Approve {
		r.State = Approved
	}
	r.DecidedBy, r.ExpiresAt = v.By, expires
	v.Seal = s.seal(&r)
	return s.Store.Decide(ctx, id, v, now, expires)
}

// seal binds a decision to the call it is about and to how long it counts. Stores
// keep microseconds, so no more goes into it.
func (s *Sealed) seal(r *Request) string {
	return identity.Seal(s.Secret, r.ID, r.Key, string(r.State), r.DecidedBy, strconv.FormatInt(r.ExpiresAt.UnixMicro(), 10))
}
