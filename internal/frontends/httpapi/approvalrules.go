package httpapi

import (
	"net/http"
	"strings"
	"unicode/utf8"

	"remit/internal/contract"
	"remit/internal/engine/approval"
	"remit/internal/engine/identity"
)

// scopeView is a scope for a rule.
type scopeView struct {
	Scope string `json:"scope"`
	Words string `json:"words"` // which arguments calls in the scope have
}

// listScopes lists the scopes for rules that are made from a request, from narrow to wide.
func (a *API) listScopes(r *http.Request, _ identity.Identity) (any, error) {
	found, err := a.request(r)
	if err != nil {
		return nil, err
	}
	scopes, err := a.Desk.Scopes(&found)
	if err != nil {
		return nil, err
	}
	views := make([]scopeView, len(scopes))
	for i, s := range scopes {
		views[i] = scopeView{s.Name, s.Words()}
	}
	return map[string]any{"scopes": views, "each": a.Desk.AsksEachTime(&found)}, nil
}

// makeRule makes a standing permission or denial from a request that waits.
func (a *API) makeRule(r *http.Request, who identity.Identity) (any, error) {
	var body struct {
		Effect string `json:"effect"`
		Scope  string `json:"scope"`
		For    string `json:"for"`
		Calls  int    `json:"calls"`
		Reason string `json:"reason"`
	}
	found, err := a.request(r)
	if err == nil {
		err = decodeDecision(a, r, &body)
	}
	if err == nil {
		err = contract.OneOf(body.Effect, "allow", "deny")
		if err != nil {
			err = contract.Errorf(contract.Invalid, "effect %s", err)
		}
	}
	terms := approval.RuleTerms{Allow: body.Effect == "allow", Scope: body.Scope, Calls: body.Calls}
	if err == nil {
		err = terms.ParseValid(body.For, a.Desk.Now())
	}
	switch {
	case err != nil:
		return nil, err
	case utf8.RuneCountInString(body.Reason) > maxReason:
		return nil, contract.Errorf(contract.Invalid, "reason has more than %d characters", maxReason)
	}
	decision := approval.Decision{
		Approve: terms.Allow, By: who.Principal, Via: viaAPI, Address: a.Address(r), Reason: strings.Join(strings.Fields(body.Reason), " "),
	}
	if err := a.Desk.CheckWay(r.Context(), found, decision); err != nil {
		return nil, err
	}
	rule, covered, err := a.Desk.MakeRule(r.Context(), found.ID, terms, decision)
	if err != nil {
		return nil, err
	}
	return map[string]any{"rule": approval.RuleView{Rule: rule, Now: approval.InForce}.JSON(), "covered": covered}, nil
}

// listRules lists the rules in force; with ?all=true also the others.
func (a *API) listRules(r *http.Request, _ identity.Identity) (any, error) {
	rules, err := a.Desk.ListRules(r.Context(), r.URL.Query().Get("all") == "true")
	if err != nil {
		return nil, err
	}
	views := make([]approval.RuleJSON, len(rules))
	for i := range rules {
		views[i] = rules[i].JSON()
	}
	return map[string]any{"rules": views}, nil
}

// revokeRule ends a rule.
func (a *API) revokeRule(r *http.Request, who identity.Identity) (any, error) {
	if err := decodeDecision(a, r, &struct{}{}); err != nil {
		return nil, err
	}
	rule, err := a.Desk.RevokeRule(r.Context(), r.PathValue("rule"), approval.Decision{By: who.Principal, Via: viaAPI, Address: a.Address(r)})
	if err != nil {
		return nil, err
	}
	return approval.RuleView{Rule: rule, Now: rule.State(a.Desk.Now())}.JSON(), nil
}
