package approval

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/identity"
	"remit/internal/engine/passkey"
)

// RuleTerms are what a person chooses for a rule.
type RuleTerms struct {
	Allow bool
	Scope string // the name of one of Scopes
	Calls int    // of a permission
	Valid time.Duration
	Until time.Time // instead of Valid
}

// RuleView is a rule with what people need to know about it.
type RuleView struct {
	Rule
	Now RuleState
}

// Scopes returns the scopes for rules that are made from a request, from narrow to wide. It returns
// a contract.Conflict error if the tool is not served under the contract of the request.
func (d *Desk) Scopes(r *Request) ([]NamedScope, error) {
	c, err := d.contract(r.Tool, r.Digest)
	if err != nil {
		return nil, err
	}
	return scopesOf(c, r)
}

func scopesOf(c *contract.Contract, r *Request) ([]NamedScope, error) {
	args, err := jsontree.Parse(r.Arguments)
	if err != nil {
		return nil, contract.Errorf(contract.Conflict, "The arguments of request %s cannot be read", r.ID).Because(err)
	}
	return Scopes(c, &args), nil
}

// AsksEachTime reports whether the contract of a request lets no permission count.
func (d *Desk) AsksEachTime(r *Request) bool {
	c, err := d.contract(r.Tool, r.Digest)
	return err == nil && c.Approval.Each
}

// Draft returns the rule that MakeRule would make from a request, without an id.
func (d *Desk) Draft(r *Request, terms RuleTerms, by string) (Rule, error) {
	now := d.Now().Truncate(time.Microsecond) // as stores keep it
	expires := terms.Until
	if expires.IsZero() {
		expires = now.Add(terms.Valid)
	}
	rule := Rule{
		Allow: terms.Allow, Request: r.ID, Workspace: r.Workspace, Principal: r.Principal, Tool: r.Tool, Version: r.Version, Digest: r.Digest,
		By: by, CreatedAt: now, ExpiresAt: expires.Truncate(time.Microsecond),
	}
	if stage := r.Stage(now); stage != string(Pending) {
		return rule, contract.Errorf(contract.Conflict, "Request %s is %s already; make a rule from one that waits", r.ID, stage)
	}
	if err := r.checkKey(); err != nil {
		return rule, err
	}
	c, err := d.contract(r.Tool, r.Digest)
	if err != nil {
		return rule, err
	}
	if terms.Allow {
		rule.Calls = terms.Calls
		if c.Approval.Each {
			return rule, contract.Errorf(contract.Conflict, "The contract of %s says that a person decides about each call, so there can be "+
				"no standing permission", r.Tool)
		}
	}
	scopes, err := scopesOf(c, r)
	if err != nil {
		return rule, err
	}
	i := slices.IndexFunc(scopes, func(s NamedScope) bool { return s.Name == terms.Scope })
	if i < 0 {
		return rule, contract.Errorf(contract.Invalid, "scope must be one of %s", ScopeNames(scopes))
	}
	rule.Scope = scopes[i].String()
	return rule, rule.check()
}

// ScopeNames lists the names of scopes.
func ScopeNames(scopes []NamedScope) string {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = s.Name
	}
	return strings.Join(names, ", ")
}

// MakeRule makes a rule from a request that waits, in the name of decision.By. The requests that it
// answers wait no longer; covered is their number.
func (d *Desk) MakeRule(ctx context.Context, id string, terms RuleTerms, decision Decision) (rule Rule, covered int, err error) {
	store, err := d.Open(ctx)
	if err != nil {
		return rule, 0, err
	}
	r, err := store.Get(ctx, id)
	if err != nil {
		return rule, 0, err
	}
	if rule, err = d.Draft(&r, terms, decision.By); err != nil {
		return rule, 0, err
	}
	rules, err := d.rules(ctx)
	if err != nil {
		return rule, 0, err
	}
	waiting, err := d.Covers(ctx, store, &rule)
	if err != nil {
		return rule, 0, err
	}
	if !terms.Allow {
		rule.Reason = decision.Reason
	}
	rule.ID = identity.NewID()
	rule, err = rules.add(ctx, rule, waiting, decision, terms)
	return rule, len(waiting), err
}

// maxCovered is how many waiting requests a new rule answers at most. A caller has at most
// MaxPending of them.
const maxCovered = 1000

// Covers returns the ids of the waiting requests that a rule would answer.
func (d *Desk) Covers(ctx context.Context, store Store, rule *Rule) ([]string, error) {
	waiting, err := store.List(ctx, ListOptions{Limit: maxCovered, Now: d.Now()})
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, r := range waiting {
		args, err := jsontree.Parse(r.Arguments)
		call := Subject{Workspace: r.Workspace, Principal: r.Principal, Tool: r.Tool, Digest: r.Digest}
		if err == nil && rule.covers(&call, &args) {
			ids = append(ids, r.ID)
		}
	}
	return ids, nil
}

// AskRulePasskey returns the question to the passkey of a person who makes a permission.
func (d *Desk) AskRulePasskey(ctx context.Context, id, by string, terms RuleTerms) (passkey.Question, error) {
	store, err := d.Open(ctx)
	if err != nil {
		return passkey.Question{}, err
	}
	r, err := store.Get(ctx, id)
	if err != nil {
		return passkey.Question{}, err
	}
	rule, err := d.Draft(&r, terms, by)
	if err != nil {
		return passkey.Question{}, err
	}
	return d.Passkeys.AskApproval(ctx, by, rule.claim(d.Passkeys, !terms.Until.IsZero()))
}

// RevokeRule ends a rule at once and for good.
func (d *Desk) RevokeRule(ctx context.Context, id string, decision Decision) (Rule, error) {
	rules, err := d.rules(ctx)
	if err != nil {
		return Rule{}, err
	}
	return rules.revoke(ctx, id, decision, d.Now())
}

// Rule returns the rule with this id.
func (d *Desk) Rule(ctx context.Context, id string) (Rule, error) {
	rules, err := d.rules(ctx)
	if err != nil {
		return Rule{}, err
	}
	return rules.Store.Get(ctx, id)
}

// maxListedRules is how many rules ListRules returns at most.
const maxListedRules = 1000

// ListRules returns the rules, newest first: those in force, or with all also those that are not.
func (d *Desk) ListRules(ctx context.Context, all bool) ([]RuleView, error) {
	if d.Rules == nil {
		return nil, nil
	}
	rules, err := d.Rules(ctx)
	if err != nil || rules == nil {
		return nil, err
	}
	list, err := rules.list(ctx, maxListedRules)
	if err != nil {
		return nil, err
	}
	place, err := d.Place()
	if err != nil {
		return nil, err
	}
	var views []RuleView
	served := map[[2]string]*contract.Contract{} // a failed lookup takes time
	for _, r := range list {
		view := RuleView{Rule: r, Now: r.State(d.Now())}
		if view.Now == InForce {
			key := [2]string{r.Tool, r.Digest}
			c, known := served[key]
			if !known {
				c, _ = d.contract(r.Tool, r.Digest)
				served[key] = c
			}
			if isVoid(rules, &r, place, c) {
				view.Now = Void
			}
		}
		if all || view.Now == InForce {
			views = append(views, view)
		}
	}
	return views, nil
}

// isVoid reports whether a rule counts for no call, although it has not ended. c is its contract;
// nil if it is not served.
func isVoid(rules *Rules, r *Rule, place string, c *contract.Contract) bool {
	own := r.Workspace == place || strings.HasPrefix(r.Workspace, place+OwnerMark)
	return !own || !r.genuine(rules.Secret) || c == nil || r.Allow && c.Approval.Each
}

// contract returns the contract of a tool that is served.
func (d *Desk) contract(tool, digest string) (*contract.Contract, error) {
	if d.Contract == nil {
		return nil, contract.Errorf(contract.Conflict, "%s is not served under this contract", tool)
	}
	return d.Contract(tool, digest)
}

// rules opens the rules.
func (d *Desk) rules(ctx context.Context) (*Rules, error) {
	if d.Rules == nil {
		return nil, errNoRules
	}
	rules, err := d.Rules(ctx)
	if err == nil && rules == nil {
		err = errNoRules
	}
	return rules, err
}

var errNoRules = contract.Errorf(contract.NotFound, "There are no rules: this workspace has no database yet")

// ParseValid parses how long a rule lasts: minutes, hours or days such as 30m, 1h or 7d, or today,
// which is until midnight in the zone of now.
func (t *RuleTerms) ParseValid(text string, now time.Time) error {
	if text == "today" {
		year, month, day := now.Date()
		t.Valid, t.Until = 0, time.Date(year, month, day+1, 0, 0, 0, 0, now.Location())
		return nil
	}
	number, unit := text, time.Duration(0)
	for end, of := range map[string]time.Duration{"m": time.Minute, "h": time.Hour, "d": 24 * time.Hour} {
		if before, ok := strings.CutSuffix(text, end); ok {
			number, unit = before, of
		}
	}
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil || unit == 0 {
		return contract.Errorf(contract.Invalid, "%q is not how long a rule lasts; use a value such as 30m, 1h, 7d or today", text)
	}
	t.Valid, t.Until = time.Duration(n)*unit, time.Time{}
	return nil
}
