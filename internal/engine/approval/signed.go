package approval

import (
	"context"
	"slices"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/passkey"
)

// Signed is a Store that accepts an approval only with the signature of a passkey, once one is
// registered. It verifies the signature when the person decides, and again when a call uses the
// approval. Denials need none.
type Signed struct {
	Store
	Passkeys *passkey.Keys
}

// claim returns what a passkey signs to approve the request in the state that the person saw.
func claim(keys *passkey.Keys, r *Request) passkey.Claim {
	return keys.ApprovalClaim(r.ID, r.pageDigest(r.Shown))
}

// Decide implements Store. It returns a contract.Denied error if the signature of an approval is
// missing or not valid.
func (s *Signed) Decide(ctx context.Context, id string, v Verdict, now, expires time.Time) (Request, error) {
	if !v.Approve {
		return s.Store.Decide(ctx, id, v, now, expires)
	}
	required, err := s.Passkeys.Required(ctx)
	if err != nil {
		return Request{}, err
	}
	if !required {
		return s.Store.Decide(ctx, id, v, now, expires)
	}
	r, err := s.Get(ctx, id)
	if err != nil {
		return r, err
	}
	if r.Stage(now) == string(Pending) { // the store refuses all others, and says why
		if v.Answer == (passkey.Answer{}) {
			return r, passkey.NeededError(s.Passkeys.Origin())
		}
		r.Shown = v.Shown
		if v.Proof, err = s.Passkeys.Sign(ctx, v.By, claim(s.Passkeys, &r), v.Answer); err != nil {
			return r, err
		}
	}
	return s.Store.Decide(ctx, r.ID, v, now, expires)
}

// Decided discards approvals without a valid signature until it finds a decision that counts.
func (s *Signed) Decided(ctx context.Context, key string, now time.Time) (Request, bool, error) {
	for {
		r, found, err := s.Store.Decided(ctx, key, now)
		if err != nil || !found {
			return r, found, err
		}
		counts, err := s.counts(ctx, &r)
		if err != nil || counts {
			return r, counts, err
		}
		if _, _, err := s.Store.Take(ctx, key, r.Shown, now); err != nil {
			return r, false, err
		}
	}
}

// Take takes decisions until it finds one that counts. It ignores approvals without a valid
// signature.
func (s *Signed) Take(ctx context.Context, key, shown string, now time.Time) (Request, bool, error) {
	for {
		r, found, err := s.Store.Take(ctx, key, shown, now)
		if err != nil || !found {
			return r, found, err
		}
		if counts, err := s.counts(ctx, &r); err != nil || counts {
			return r, counts, err
		}
	}
}

// counts reports whether a decision is no approval, or one with all that approvals need now.
func (s *Signed) counts(ctx context.Context, r *Request) (bool, error) {
	if r.State != Approved {
		return true, nil // a changed one starts nothing
	}
	return signedBy(ctx, s.Passkeys, r.DecidedBy, r.Proof, func() []passkey.Claim { return []passkey.Claim{claim(s.Passkeys, r)} })
}

// signedBy reports whether a proof is the signature of a person under one of the claims, or no
// signature is needed now; then it makes no claims.
func signedBy(ctx context.Context, people *passkey.Keys, person, proofText string, claims func() []passkey.Claim) (bool, error) {
	required, err := people.Required(ctx)
	if err != nil || !required {
		return err == nil, err
	}
	proof, err := passkey.ParseProof(proofText)
	if err != nil {
		return false, nil //nolint:nilerr // then nothing is signed
	}
	signer, found, err := people.ByID(ctx, proof.Credential)
	if err != nil || !found || signer.Person != person {
		return false, err
	}
	return slices.ContainsFunc(claims(), func(c passkey.Claim) bool { return proof.Verify(signer.PublicKey, c) == nil }), nil
}

// CheckWay returns an error if approvals must be signed with a passkey, which is possible at the
// console only. Front ends call it before they ask a person in another way. The refusal is
// recorded.
func (d *Desk) CheckWay(ctx context.Context, r Request, decision Decision) error {
	if !decision.Approve {
		return nil
	}
	required, err := d.Passkeys.Required(ctx)
	if err == nil && required {
		err = passkey.NeededError(d.Passkeys.Origin())
	}
	if err == nil {
		return nil
	}
	store, openErr := d.Open(ctx)
	if recorded, ok := store.(*Recorded); ok && openErr == nil {
		ctx, effect := recorded.start(ctx, "approve", r.ID, decision.verdict(), d.Now())
		// Nothing was decided, so it does not matter whether this succeeds.
		_ = conclude(ctx, effect, &r, err)
	}
	return err
}

// AskPasskey returns the question to the passkey of a person who approves what the page with this
// mark shows.
func (d *Desk) AskPasskey(ctx context.Context, id, by, mark string) (passkey.Question, error) {
	store, err := d.Open(ctx)
	if err != nil {
		return passkey.Question{}, err
	}
	r, err := store.Get(ctx, id)
	if err != nil {
		return passkey.Question{}, err
	}
	if stage := r.Stage(d.Now()); stage != string(Pending) {
		return passkey.Question{}, contract.Errorf(contract.Conflict, "Request %s is %s already", r.ID, stage)
	}
	if r.Shown, err = d.stillShown(ctx, r, mark); err != nil {
		return passkey.Question{}, err
	}
	return d.Passkeys.AskApproval(ctx, by, claim(d.Passkeys, &r))
}
