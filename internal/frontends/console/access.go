package console

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"remit/internal/contract"
	"remit/internal/engine/approval"
	"remit/internal/engine/identity"
	"remit/internal/visible"
)

// accessPage is the data of the page about who may do what.
type accessPage struct {
	Rules  []ruleRow
	All    bool // also the rules that are not in force
	MayEnd bool
	Admin  bool // the rest is for admins only

	Tokens    []tokenRow
	Inactive  int // number of expired and revoked tokens that are not shown
	AllTokens bool
	People    []personRow
	Signing   signing // what approvals need
	Trust     Trust
	Ended     *endedNotice
}

// ruleRow is a rule in the list.
type ruleRow struct {
	approval.RuleView
	Sentence, Maker, Why string
	Live                 bool
}

// endedNotice says what has just ended, and where to make another one.
type endedNotice struct{ Text, Again string }

// access lists the standing rules, newest first, and to admins tokens, people and trust.
func (v *visit) access() error {
	q := v.r.URL.Query()
	page := accessPage{
		All: q.Get("show") == "all", AllTokens: q.Get("tokens") == "all",
		MayEnd: v.person.Role >= identity.Approver, Admin: v.person.Role >= identity.Admin,
	}
	rules, err := v.Desk.ListRules(v.r.Context(), page.All)
	if err != nil {
		return err
	}
	for _, r := range rules {
		page.Rules = append(page.Rules, rowOfRule(r))
	}
	if page.Admin {
		if err := v.accessForAdmins(&page, q); err != nil {
			return err
		}
	}
	return v.page("access", "access", "Access", page)
}

func rowOfRule(r approval.RuleView) ruleRow {
	return ruleRow{RuleView: r, Sentence: r.Sentence(), Maker: visible.Line(r.By), Why: visible.Line(r.Reason), Live: r.Now == approval.InForce}
}

func (v *visit) accessForAdmins(page *accessPage, q url.Values) (err error) {
	if page.Tokens, page.Inactive, err = v.tokenRows(page.AllTokens); err != nil {
		return err
	}
	if page.People, err = v.peopleRows(); err != nil {
		return err
	}
	page.Signing = v.signing(accessPath)
	page.Trust = v.Trust()
	if id := q.Get("revoked"); id != "" {
		if t, err := v.tokenByID(id); err == nil && !t.Revoked.IsZero() {
			page.Ended = &endedNotice{"Token " + t.Name + " is revoked. Its calls are rejected from now on.", tokensPath + "/new?like=" + url.QueryEscape(t.ID)}
		}
	}
	if name := q.Get("out"); identity.CheckName(name) == nil {
		page.Ended = &endedNotice{
			"What you ended of " + name + " has ended for good.", linksPath + "/new?" + url.Values{"name": {name}, "role": {q.Get("role")}}.Encode(),
		}
	}
	return nil
}

// confirmRevokeRule asks before a rule ends.
func (v *visit) confirmRevokeRule() error {
	rules, err := v.Desk.ListRules(v.r.Context(), false)
	if err != nil {
		return err
	}
	for _, r := range rules {
		if r.ID != v.r.PathValue("rule") || r.Now != approval.InForce {
			continue
		}
		page := confirmPage{
			Title: "Revoke rule " + r.ID + "?", Lead: r.Sentence(), Action: accessPath + "/" + r.ID + "/revoke", Button: "Revoke the rule", Back: accessPath,
			Facts: []confirmFact{{Label: "Made by", Text: r.By + ", " + distance(r.CreatedAt, v.Now())}, v.lastUse(r.Principal)},
			Again: "A revoked rule stays revoked. To make another one, open a request that waits and choose “Allow or deny calls like this”.",
		}
		if r.Allow {
			used := "never"
			if !r.UsedAt.IsZero() {
				used = strconv.Itoa(r.Used) + " of " + strconv.Itoa(r.Calls) + " times, last " + distance(r.UsedAt, v.Now())
			}
			page.Facts = append(page.Facts, confirmFact{Label: "Used", Text: used})
			page.Stops = []string{"Calls of " + r.Principal + " that this rule lets pass now wait for a person again, from the next one on."}
		} else {
			page.Stops = []string{"Calls of " + r.Principal + " that this rule denies now wait for a person again."}
		}
		return v.confirm(page)
	}
	return contract.Errorf(contract.NotFound, "There is no rule in force with this id; it may have been revoked, used up or expired")
}

// revokeRule ends a rule at once and for good.
func (v *visit) revokeRule() error {
	by := approval.Decision{By: v.person.Principal(), Via: frontendConsole, Address: v.Address(v.r)}
	_, err := v.Desk.RevokeRule(v.r.Context(), v.r.PathValue("rule"), by)
	return v.afterRule(err, "The rule was not revoked", accessPath+"?show=all")
}

// afterRule sends the person to a page, or says why nothing was changed.
func (v *visit) afterRule(err error, failed, next string) error {
	if err != nil && contract.AsError(err).Kind == contract.Conflict {
		v.problem(http.StatusConflict, problem{
			Title: failed, Link: next, LinkText: "Go on", Message: visible.Line(contract.AsError(err).Message) + ".",
		})
		return nil
	}
	if err != nil {
		return err
	}
	v.redirect(next)
	return nil
}

// ruleChoice is a value that a form offers.
type ruleChoice struct {
	Value, Words string
	Chosen       bool
}

// rulePage is the data of the form that makes a rule from a request.
type rulePage struct {
	ID, Summary, Principal, Tool string
	Scopes, Lasts                []ruleChoice
	Scope, For                   string
	Calls                        int
	MaxCalls                     int
	Allows, Denies               string // the two rules in one sentence each
	Each                         bool   // there can be no permission
	Covered                      int    // how many requests that wait the rule would answer
	Signing                      signing
	Problem                      string // why no rule can be made
}

// ruleLasts are how long a rule may last, for the form.
var ruleLasts = []ruleChoice{
	{"15m", "15 minutes", false},
	{"1h", "1 hour", false},
	{"8h", "8 hours", false},
	{"today", "until midnight, by the clock of the server", false},
	{"1d", "24 hours", false},
	{"7d", "7 days", false},
	{"30d", "30 days", false},
}

// ruleTerms parses the terms of a rule. What is missing gets the narrow default of the form.
func (v *visit) ruleTerms(sent url.Values, allow bool) (terms approval.RuleTerms, err error) {
	terms = approval.RuleTerms{Allow: allow, Scope: sent.Get("scope"), Calls: 20}
	if text := sent.Get("calls"); text != "" {
		if terms.Calls, err = strconv.Atoi(text); err != nil {
			return terms, contract.Errorf(contract.Invalid, "calls must be a number from 1 to %d", approval.MaxCalls)
		}
	}
	return terms, terms.ParseValid(ruleLast(sent), v.Now())
}

func ruleLast(sent url.Values) string {
	if last := sent.Get("for"); last != "" {
		return last
	}
	return "1h"
}

// ruleForm shows the rule that the chosen values would make, and its buttons.
func (v *visit) ruleForm() error {
	request, err := v.loadRequest()
	if err != nil {
		return err
	}
	page := rulePage{
		ID: request.ID, Summary: visible.Line(request.Summary), Principal: visible.Line(request.Principal), Tool: visible.Line(request.Tool),
		MaxCalls: approval.MaxCalls,
	}
	if err := v.fillRule(&page, request); err != nil {
		if kind := contract.AsError(err).Kind; kind != contract.Conflict && kind != contract.Invalid {
			return err
		}
		page.Problem = visible.Line(contract.AsError(err).Message)
	}
	if v.r.Header.Get("HX-Request") != "" {
		return v.part("rule", "rule-form", &page)
	}
	return v.page("rule", "approvals", "Make a rule", &page)
}

func (v *visit) fillRule(page *rulePage, request approval.Request) error {
	sent := v.r.URL.Query()
	scopes, err := v.Desk.Scopes(&request)
	if err != nil {
		return err
	}
	page.Scope, page.For, page.Each = sent.Get("scope"), ruleLast(sent), v.Desk.AsksEachTime(&request)
	if page.Scope == "" { // the narrowest one that covers more than one call
		page.Scope = scopes[min(1, len(scopes)-2)].Name
		sent.Set("scope", page.Scope)
	}
	for _, s := range scopes {
		page.Scopes = append(page.Scopes, ruleChoice{s.Name, s.Words(), s.Name == page.Scope})
	}
	for _, one := range ruleLasts {
		one.Chosen = one.Value == page.For
		page.Lasts = append(page.Lasts, one)
	}
	page.Signing = v.signing(deskPath + "/" + request.ID + "/rule")
	terms, err := v.ruleTerms(sent, false)
	if err != nil {
		return err
	}
	denial, err := v.Desk.Draft(&request, terms, v.person.Principal())
	if err != nil {
		return err
	}
	page.Denies = denial.Sentence()
	store, err := v.openApprovals(v.r.Context())
	if err != nil {
		return err
	}
	covered, err := v.Desk.Covers(v.r.Context(), store, &denial)
	page.Covered = len(covered)
	if sent.Get("calls") == "" { // so many that one permission is enough for all that wait
		terms.Calls = min(max(terms.Calls, page.Covered), approval.MaxCalls)
	}
	page.Calls = terms.Calls
	if err != nil || page.Each {
		return err
	}
	terms.Allow = true
	permission, err := v.Desk.Draft(&request, terms, v.person.Principal())
	page.Allows = permission.Sentence()
	return err
}

// makeRule makes the rule that the form showed.
func (v *visit) makeRule() error {
	sent := v.r.PostForm
	reason := strings.Join(strings.Fields(sent.Get("reason")), " ")
	verdict := sent.Get("verdict")
	switch {
	case !utf8.ValidString(reason) || utf8.RuneCountInString(reason) > maxReason:
		return contract.Errorf(contract.Invalid, "reason must be text of at most %d characters", maxReason)
	case verdict != "allow" && verdict != "deny":
		return contract.Errorf(contract.Invalid, "verdict must be allow or deny")
	}
	terms, err := v.ruleTerms(sent, verdict == "allow")
	if err != nil {
		return err
	}
	id := v.r.PathValue("id")
	_, _, err = v.Desk.MakeRule(v.r.Context(), id, terms, approval.Decision{
		By: v.person.Principal(), Via: frontendConsole, Address: v.Address(v.r), Reason: reason, Answer: v.passkeyAnswer(),
	})
	if err != nil {
		return v.afterRule(err, "No rule was made", "/console/approvals/"+url.PathEscape(id))
	}
	v.redirect("/console/access")
	return nil
}

// askRule responds with the question to the passkey of a person who makes a permission.
func (v *visit) askRule() error {
	terms, err := v.ruleTerms(v.r.PostForm, true)
	if err != nil {
		return err
	}
	q, err := v.Desk.AskRulePasskey(v.r.Context(), v.r.PathValue("id"), v.person.Principal(), terms)
	return v.respondQuestion(q, err)
}
