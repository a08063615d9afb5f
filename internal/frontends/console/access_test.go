package console

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/approval"
	"remit/internal/engine/identity"
	"remit/internal/engine/passkey"
	"remit/internal/engine/passkey/passkeytest"
)

// ruleStore is an approval.RuleStore in memory.
type ruleStore struct {
	approval.RuleStore
	all []approval.Rule // newest first
}

func (s *ruleStore) Add(_ context.Context, r approval.Rule, _ []string) error {
	s.all = append([]approval.Rule{r}, s.all...)
	return nil
}

func (s *ruleStore) List(context.Context, int) ([]approval.Rule, error) {
	return append([]approval.Rule(nil), s.all...), nil
}

func (s *ruleStore) Get(_ context.Context, id string) (approval.Rule, error) {
	for _, r := range s.all {
		if r.ID == id {
			return r, nil
		}
	}
	return approval.Rule{}, approval.RuleNotFound(id)
}

func (s *ruleStore) Revoke(_ context.Context, id, by string, now time.Time) (approval.Rule, error) {
	for i := range s.all {
		switch r := &s.all[i]; {
		case r.ID != id:
		case !r.RevokedAt.IsZero():
			return *r, contract.Errorf(contract.Conflict, "Rule %s was revoked", id)
		default:
			r.RevokedAt, r.RevokedBy = now, by
			return *r, nil
		}
	}
	return approval.Rule{}, approval.RuleNotFound(id)
}

// withRules gives a fixture rules, and a request that waits.
func withRules(t *testing.T, keys *passkey.Keys) (*fixture, *ruleStore) {
	t.Helper()
	c, rules := newFixture(t), &ruleStore{}
	c.Passkeys, c.Desk.Passkeys = keys, keys
	c.Desk.Rules = func(context.Context) (*approval.Rules, error) {
		return &approval.Rules{Store: rules, Secret: []byte("secret"), Audit: c, Passkeys: keys}, nil
	}
	c.Desk.Place = func() (string, error) { return "", nil }
	c.Desk.Contract = func(tool, digest string) (*contract.Contract, error) {
		found, err := c.Engine.Find("write")
		if err != nil || found.ID != tool || found.Digest != digest {
			return nil, contract.Errorf(contract.Conflict, "%s is not served", tool)
		}
		return found.Contract, nil
	}
	r := c.addRequest(t, "k3v9q2xa7m", "agent:"+evil, `{"text":"x"}`)
	call := approval.Subject{Principal: r.Principal, Tool: r.Tool, Digest: r.Digest, Arguments: r.Arguments}
	c.approvals.all[0].Key = call.Key()
	return c, rules
}

// TestRulePages makes a permission and a denial from a request, and revokes one.
func TestRulePages(t *testing.T) {
	c, rules := withRules(t, nil)
	const form = "/console/approvals/k3v9q2xa7m/rule"
	approver := c.as(identity.Approver)
	wants(t, approver("GET", "/console/approvals/k3v9q2xa7m", nil), 200, `href="`+form+`"`)
	w := approver("GET", form, nil)
	wants(t, w, 200, `value="values" checked`, "at most 20 times until 2026-08-01 13:00 UTC", "Nobody is asked before these calls, or shown what they change",
		"any text, and no other arguments", "It answers this request", "Allow these calls")
	lacks(t, w, "<script>alert", "<img")
	wants(t, approver("GET", form+"?scope=tool&for=8h&calls=3", nil), 200, "with any arguments, at most 3 times until 2026-08-01 20:00 UTC", `value="tool" checked`)
	wants(t, approver("GET", form+"?scope=nothing&for=8h&calls=3", nil), 200, "scope must be one of exact, values, tool")
	wants(t, approver("GET", form+"?calls=1001", nil), 200, "1 to 1000 calls")
	part := approver("GET", form, nil, "HX-Request", "true")
	wants(t, part, 200, "Allow these calls")
	lacks(t, part, "<html")
	for _, method := range []string{"GET", "POST"} {
		wants(t, c.as(identity.Viewer)(method, form, url.Values{"verdict": {"allow"}}), 403)
	}
	for verdict, status := range map[string]int{"approve": 400, "": 400} {
		wants(t, approver("POST", form, url.Values{"verdict": {verdict}, "scope": {"values"}, "for": {"1h"}, "calls": {"2"}}), status)
	}
	wants(t, approver("GET", "/console/access", nil), 200, "No rules to show")
	wants(t, approver("POST", form, url.Values{"verdict": {"allow"}, "scope": {"values"}, "for": {"1h"}, "calls": {"2"}}), 303)
	wants(t, approver("POST", form, url.Values{"verdict": {"deny"}, "scope": {"tool"}, "for": {"8h"}, "calls": {"2"}, "reason": {"not " + evil}}), 303)
	if len(rules.all) != 2 || !rules.all[1].Allow || rules.all[1].Calls != 2 || rules.all[1].By != "console:ada" || rules.all[0].Allow {
		t.Fatalf("made %+v", rules.all)
	}
	page := approver("GET", "/console/access", nil)
	wants(t, page, 200, "permission", "denial", "0 of 2", "in force", "console:ada", "/console/access/"+rules.all[1].ID+"/revoke")
	lacks(t, page, "<script>alert", "<img")
	revoke := "/console/access/" + rules.all[1].ID + "/revoke"
	wants(t, c.as(identity.Viewer)("POST", revoke, nil), 403)
	lacks(t, c.as(identity.Viewer)("GET", "/console/access", nil), "/revoke")
	wants(t, approver("POST", revoke, nil), 303)
	wants(t, approver("POST", revoke, nil), 409, "was revoked")
	wants(t, approver("POST", "/console/access/nothing/revoke", nil), 404)
	wants(t, approver("GET", "/console/access?show=all", nil), 200, "revoked", "by console:ada")
	rules.all[0].Scope = `{"any":false}`
	wants(t, approver("GET", "/console/access?show=all", nil), 200, ">void<")
	records := strings.Join(c.recorded(), "\n")
	for _, part := range []string{"console:ada rules/allow ok", "console:ada rules/deny ok", "console:ada rules/revoke ok", `"address":"192.0.2.1"`} {
		if !strings.Contains(records, part) {
			t.Errorf("no record has %s:\n%s", part, records)
		}
	}
}

// TestSignedRulePage checks that the form asks for the passkey, and that a permission needs it.
func TestSignedRulePage(t *testing.T) {
	memory := &passkeytest.Memory{}
	keys := passkeytest.NewKeys(memory, func() time.Time { return time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC) })
	c, rules := withRules(t, keys)
	hers := passkeytest.NewAuthenticator(t)
	approver := sender(c.as(identity.Approver))
	approver.register(t, hers, nil)
	const form = "/console/approvals/k3v9q2xa7m/rule"
	wants(t, approver("GET", passkeytest.Origin+form, nil), 200, `data-passkey="`+form+`/passkey"`, "with your passkey")
	terms := url.Values{"verdict": {"allow"}, "scope": {"values"}, "for": {"1h"}, "calls": {"2"}}
	wants(t, approver("POST", form, terms), 403)
	q := approver.ask(t, form+"/passkey", terms)
	terms.Set("nonce", q.Nonce)
	terms.Set("assertion", hers.Get(q))
	wants(t, approver("POST", form, terms), 303)
	if len(rules.all) != 1 || rules.all[0].Proof == "" {
		t.Errorf("made %+v", rules.all)
	}
}
