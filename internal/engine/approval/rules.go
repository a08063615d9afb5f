package approval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
	"remit/internal/engine/passkey"
)

// Rules makes, applies and revokes the rules of a workspace. It applies only those that a person
// made here, with their passkey if passkeys must sign approvals.
type Rules struct {
	Store    RuleStore
	Secret   []byte        // seals rules; it is not in the database
	Passkeys *passkey.Keys // nil means that there are none
	Anchor   RuleAnchor    // nil if only the operator can put the database back
	Audit    interface {
		Ready(now time.Time) error
		Write(ctx context.Context, r *audit.Record, durable bool) error
	}
}

// applicable are the rules for one call.
type applicable struct {
	denial      *Rule // nil if none covers the call
	permissions []Rule
}

// find returns the rules that cover a call. A denial that the database has lost lets no permission
// count: a person is asked then.
func (s *Rules) find(ctx context.Context, call *Subject, now time.Time) (found applicable, err error) {
	all, err := s.Store.For(ctx, call.Workspace, call.Principal, call.Tool, now)
	if err != nil {
		return found, err
	}
	args, err := jsontree.Parse(call.Arguments)
	if err != nil {
		return found, fmt.Errorf("read the arguments: %w", err)
	}
	var denials []string
	for _, r := range all {
		if !r.genuine(s.Secret) {
			continue
		}
		if !r.Allow {
			denials = append(denials, r.ID)
		}
		if err := r.applyAnchor(s.Anchor); err != nil {
			return found, err
		}
		switch {
		case !r.covers(call, &args) || r.State(now) != InForce:
		case r.Allow:
			found.permissions = append(found.permissions, r)
		case found.denial == nil:
			found.denial = &r
		}
	}
	if len(found.permissions) > 0 && s.Anchor != nil {
		if lost, err := s.haveLost(call, denials, now); lost || err != nil {
			found.permissions = nil
			return found, err
		}
	}
	return found, nil
}

// covers reports whether a rule is for a call. Doubt is no.
func (r *Rule) covers(call *Subject, args *jsontree.Value) bool {
	if r.Workspace != call.Workspace || r.Principal != call.Principal || r.Principal == "" || r.Tool != call.Tool || r.Digest != call.Digest ||
		r.Allow && call.Each {
		return false
	}
	scope, err := ParseScope(r.Scope)
	return err == nil && scope.Matches(args, call.Linked)
}

// haveLost reports whether a denial was made for the caller and the tool that is not among those of
// the database.
func (s *Rules) haveLost(call *Subject, denials []string, now time.Time) (bool, error) {
	prefix := denialsKey(call.Workspace, call.Principal, call.Tool)
	made, err := s.Anchor.EndedWith(prefix, now)
	if err != nil {
		return false, err
	}
	for _, key := range made {
		id := strings.TrimPrefix(key, prefix)
		_, ended, err := s.Anchor.Ended((&Rule{ID: id}).endKey())
		if err != nil {
			return false, err
		}
		if !ended && !slices.Contains(denials, id) {
			return true, nil
		}
	}
	return false, nil
}

// use lets a call pass by a permission, and counts that before the call has any effect; false if
// none of them holds any more.
func (s *Rules) use(ctx context.Context, permissions []Rule, now time.Time) (r Rule, ok bool, err error) {
	for _, candidate := range permissions {
		counts, err := s.isSigned(ctx, &candidate)
		if err != nil {
			return r, false, err
		}
		if !counts {
			continue
		}
		r, ok, err = s.Store.Use(ctx, candidate.ID, now)
		if err != nil {
			return r, false, err
		}
		// What was read before may have been changed since.
		if !ok || r.Seal != candidate.Seal || !r.genuine(s.Secret) {
			continue
		}
		if s.Anchor == nil {
			return r, true, nil
		}
		if _, ok, err = s.Anchor.Count(r.usesKey(), r.Calls, now, r.ExpiresAt); ok || err != nil {
			return r, ok, err
		}
	}
	return r, false, nil
}

// isSigned reports whether a permission has the signature that it needs now.
func (s *Rules) isSigned(ctx context.Context, r *Rule) (bool, error) {
	return signedBy(ctx, s.Passkeys, r.By, r.Proof, func() []passkey.Claim {
		return []passkey.Claim{r.claim(s.Passkeys, false), r.claim(s.Passkeys, true)}
	})
}

// add seals and stores a new rule, with its record. covered are the requests that wait for a
// decision and that the rule answers.
func (s *Rules) add(ctx context.Context, r Rule, covered []string, d Decision, terms RuleTerms) (Rule, error) {
	if err := s.Audit.Ready(r.CreatedAt); err != nil {
		return r, contract.Errorf(contract.Unavailable, "The audit record cannot be written, so no rule was made; try again later").Because(err)
	}
	if r.Allow {
		if err := s.sign(ctx, &r, d, terms); err != nil {
			return r, err
		}
	}
	r.Seal = r.seal(s.Secret)
	if !r.Allow && s.Anchor != nil {
		if _, err := s.Anchor.End(ctx, denialsKey(r.Workspace, r.Principal, r.Tool)+r.ID, r.CreatedAt, r.ExpiresAt); err != nil {
			return r, contract.Errorf(contract.Unavailable, "The key folder cannot be written, so no rule was made; try again later").Because(err)
		}
	}
	recording, effect := s.start(ctx, r.Effect(), d, r.CreatedAt)
	err := s.Store.Add(recording, r, covered)
	DescribeRule(recording, &r)
	recordErr := concludeEffect(recording, effect, err)
	if err == nil && recordErr != nil && r.Allow {
		_, undone := s.end(context.WithoutCancel(ctx), r.ID, d.By, r.CreatedAt)
		return r, contract.Errorf(contract.Unavailable,
			"The audit record could not be written, so the rule was revoked; try again later").Because(errors.Join(recordErr, undone))
	}
	return r, err
}

// sign adds the signature of the person's passkey to a permission, if it needs one.
func (s *Rules) sign(ctx context.Context, r *Rule, d Decision, terms RuleTerms) error {
	required, err := s.Passkeys.Required(ctx)
	if err != nil || !required {
		return err
	}
	if d.Answer == (passkey.Answer{}) {
		return passkey.NeededError(s.Passkeys.Origin())
	}
	proof, err := s.Passkeys.Sign(ctx, r.By, r.claim(s.Passkeys, !terms.Until.IsZero()), d.Answer)
	r.Proof = proof.String()
	return err
}

// revoke ends a rule for good, with its record.
func (s *Rules) revoke(ctx context.Context, id string, d Decision, now time.Time) (Rule, error) {
	recording, effect := s.start(ctx, "revoke", d, now)
	audit.EffectFrom(recording).Describe(jsontree.M("rule", jsontree.Str(id)))
	r, err := s.end(recording, id, d.By, now)
	_ = concludeEffect(recording, effect, err) // taking back needs no record to hold
	return r, err
}

// end revokes a rule in the database and the anchor.
func (s *Rules) end(ctx context.Context, id, by string, now time.Time) (Rule, error) {
	r, err := s.Store.Revoke(ctx, id, by, now)
	already := err != nil && contract.AsError(err).Kind == contract.Conflict
	if already { // the anchor may not have it
		r, _ = s.Store.Get(ctx, id)
	}
	if err != nil && !already || s.Anchor == nil {
		return r, err
	}
	if _, anchorErr := s.Anchor.End(ctx, r.endKey(), now, r.ExpiresAt); anchorErr != nil {
		return r, contract.Errorf(contract.Unavailable, "The rule was revoked, but a restored database could bring it back: "+
			"the key folder cannot be written; revoke the rule again").Because(anchorErr)
	}
	return r, err
}

// start returns a context that carries the record of a decision about a rule. A store that keeps
// records in the transaction completes it with DescribeRule.
func (s *Rules) start(ctx context.Context, action string, d Decision, now time.Time) (context.Context, *audit.Effect) {
	var about []jsontree.Member
	for _, m := range [][2]string{{"reason", d.Reason}, {"address", d.Address}} {
		if m[1] != "" {
			about = append(about, jsontree.M(m[0], jsontree.Str(m[1])))
		}
	}
	return audit.Start(ctx, &audit.Record{
		Time: now, Principal: d.By, Frontend: d.Via, Tool: "rules/" + action, Outcome: "ok", Arguments: jsontree.Obj(about...),
	}, s.Audit)
}

// DescribeRule adds a rule to the record that ctx carries.
func DescribeRule(ctx context.Context, r *Rule) {
	about := []jsontree.Member{
		jsontree.M("rule", jsontree.Str(r.ID)), jsontree.M("request", jsontree.Str(r.Request)), jsontree.M("caller", jsontree.Str(r.Principal)),
		jsontree.M("tool", jsontree.Str(r.Tool)), jsontree.M("scope", jsontree.Str(r.Scope)),
		jsontree.M("calls", jsontree.Int(int64(r.Calls))), jsontree.M("expires_at", jsontree.Str(r.ExpiresAt.UTC().Format(time.RFC3339))),
	}
	if proof, err := jsontree.Parse([]byte(r.Proof)); err == nil && r.RevokedAt.IsZero() {
		about = append(about, jsontree.M(passkey.RecordMember, proof))
	}
	audit.EffectFrom(ctx).Describe(about...)
}

// list returns the rules, newest first, with what the anchor knows about them.
func (s *Rules) list(ctx context.Context, limit int) ([]Rule, error) {
	all, err := s.Store.List(ctx, limit)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if err := all[i].applyAnchor(s.Anchor); err != nil {
			return nil, err
		}
	}
	return all, nil
}
