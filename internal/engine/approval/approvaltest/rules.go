package approvaltest

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/contracttest"
	"remit/internal/engine/approval"
)

// RuleStores are the two stores of one database.
type RuleStores struct {
	Requests approval.Store
	Rules    approval.RuleStore
}

// RuleSuite tests a store of rules. open returns empty stores that live until the end of their
// test.
func RuleSuite(t *testing.T, open func(t *testing.T) RuleStores) {
	for name, check := range map[string]func(*testing.T, RuleStores){
		"Add stores every field":         addStores,
		"Add covers waiting requests":    addCovers,
		"Add limits the rules in force":  addTooMany,
		"For returns rules in force":     forCaller,
		"Use counts up to the limit":     useCounts,
		"Use refuses what is not usable": useRefuses,
		"concurrent Use never exceeds":   useConcurrently,
		"Revoke ends a rule for good":    revoke,
		"List, newest first":             listRules,
	} {
		t.Run(name, func(t *testing.T) { check(t, open(t)) })
	}
}

func rule(id string) approval.Rule {
	return approval.Rule{
		ID: id, Allow: true, Request: "a1", Workspace: "/work\nowner token", Principal: "agent:ü", Tool: "books/write_content", Version: "1.2.0",
		Digest: "sha256:abc", Scope: `{"where":[{"name":"ü","is":"any"}]}`, Calls: 3, Reason: "because\nü", By: "console:grace",
		CreatedAt: noon, ExpiresAt: noon.Add(time.Hour), Seal: "seal", Proof: "{}",
	}
}

func addRule(t *testing.T, s RuleStores, r approval.Rule, covered ...string) {
	t.Helper()
	if err := s.Rules.Add(t.Context(), r, covered); err != nil {
		t.Fatalf("add %s: %v", r.ID, err)
	}
}

func getRule(t *testing.T, s RuleStores, id string) approval.Rule {
	t.Helper()
	r, err := s.Rules.Get(t.Context(), id)
	if err != nil {
		t.Fatalf("get %s: %v", id, err)
	}
	return r
}

func addStores(t *testing.T, s RuleStores) {
	permission, denial := rule("r1"), rule("r2")
	denial.Allow, denial.Calls = false, 0
	addRule(t, s, permission)
	addRule(t, s, denial)
	contracttest.Equal(t, getRule(t, s, "r1"), permission)
	contracttest.Equal(t, getRule(t, s, "r2"), denial)
	if err := s.Rules.Add(t.Context(), permission, nil); err == nil {
		t.Error("a second rule has the same id")
	}
	_, err := s.Rules.Get(t.Context(), "r")
	contracttest.WantError(t, err, contract.NotFound, "r")
	later := rule("r3")
	later.CreatedAt = noon.AddDate(0, 2, 0)
	later.ExpiresAt = later.CreatedAt.Add(time.Hour)
	addRule(t, s, later)
	_, err = s.Rules.Get(t.Context(), "r1")
	contracttest.WantError(t, err, contract.NotFound, "r1")
}

func addCovers(t *testing.T, s RuleStores) {
	for _, id := range []string{"a1", "a2", "a3"} {
		ask(t, s.Requests, request(id, "key of "+id))
	}
	decide(t, s.Requests, "a3", false)
	r := rule("r1")
	r.CreatedAt = noon.Add(time.Minute)
	addRule(t, s, r, "a1", "a3", "nothing")
	covered := get(t, s.Requests, "a1")
	if stage := covered.Stage(noon.Add(time.Minute)); stage != approval.StageCovered || covered.DecidedBy != r.By || covered.Reason != "Rule r1" {
		t.Errorf("the covered request is %s by %q: %q", stage, covered.DecidedBy, covered.Reason)
	}
	if got := get(t, s.Requests, "a3"); got.State != approval.Denied {
		t.Errorf("a decided request became %s", got.State)
	}
	waiting, err := s.Requests.List(t.Context(), approval.ListOptions{Now: noon.Add(time.Minute)})
	if err != nil || len(waiting) != 1 || waiting[0].ID != "a2" {
		t.Errorf("waiting: %v, error %v, want a2", waiting, err)
	}
	if _, err := s.Requests.Decide(t.Context(), "a1", approval.Verdict{Approve: true, By: "eve"}, noon.Add(time.Minute), noon.Add(time.Hour)); err == nil {
		t.Error("a covered request was decided")
	}
	again := request("a4", "key of a1")
	again.CreatedAt = noon.Add(2 * time.Minute)
	if got := ask(t, s.Requests, again); got.ID != "a4" {
		t.Errorf("a covered request is still the question: %s", got.ID)
	}
}

func addTooMany(t *testing.T, s RuleStores) {
	for i := range approval.MaxRules {
		addRule(t, s, rule(fmt.Sprint("r", i)))
	}
	contracttest.WantError(t, s.Rules.Add(t.Context(), rule("more"), nil), contract.Limited, strconv.Itoa(approval.MaxRules))
	if _, err := s.Rules.Revoke(t.Context(), "r0", "ada", noon); err != nil {
		t.Fatal(err)
	}
	addRule(t, s, rule("more"))
}

func forCaller(t *testing.T, s RuleStores) {
	for _, id := range []string{"r2", "r1", "revoked"} {
		addRule(t, s, rule(id))
	}
	if _, err := s.Rules.Revoke(t.Context(), "revoked", "ada", noon); err != nil {
		t.Fatal(err)
	}
	for id, change := range map[string]func(*approval.Rule){
		"workspace": func(r *approval.Rule) { r.Workspace = "/work" },
		"principal": func(r *approval.Rule) { r.Principal = "agent:Ü" },
		"tool":      func(r *approval.Rule) { r.Tool = "books/delete_content" },
		"expired":   func(r *approval.Rule) { r.ExpiresAt = noon.Add(time.Minute) },
	} {
		r := rule(id)
		change(&r)
		addRule(t, s, r)
	}
	r := rule("")
	found, err := s.Rules.For(t.Context(), r.Workspace, r.Principal, r.Tool, noon.Add(time.Minute))
	if err != nil || len(found) != 2 || found[0].ID != "r1" || found[1].ID != "r2" {
		t.Errorf("found %v, error %v, want r1 and r2", found, err)
	}
}

func useCounts(t *testing.T, s RuleStores) {
	addRule(t, s, rule("r1"))
	for n := 1; n <= 3; n++ {
		at := noon.Add(time.Duration(n) * time.Minute)
		r, ok, err := s.Rules.Use(t.Context(), "r1", at)
		if err != nil || !ok || r.Used != n || !r.UsedAt.Equal(at) {
			t.Fatalf("use %d: %+v, %v, error %v", n, r, ok, err)
		}
		contracttest.Equal(t, getRule(t, s, "r1"), r)
	}
	if _, ok, err := s.Rules.Use(t.Context(), "r1", noon); ok || err != nil {
		t.Errorf("a fourth use: %v, error %v", ok, err)
	}
}

func useRefuses(t *testing.T, s RuleStores) {
	denial, expired := rule("denial"), rule("expired")
	denial.Allow = false
	expired.ExpiresAt = noon.Add(time.Minute)
	for _, r := range []approval.Rule{denial, expired, rule("revoked")} {
		addRule(t, s, r)
	}
	if _, err := s.Rules.Revoke(t.Context(), "revoked", "ada", noon); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"denial", "expired", "revoked", "nothing"} {
		if _, ok, err := s.Rules.Use(t.Context(), id, noon.Add(time.Minute)); ok || err != nil {
			t.Errorf("use of %s: %v, error %v", id, ok, err)
		}
	}
}

func useConcurrently(t *testing.T, s RuleStores) {
	addRule(t, s, rule("r1"))
	var uses atomic.Int32
	contracttest.Concurrently(8, func(int) {
		if _, ok, _ := s.Rules.Use(t.Context(), "r1", noon); ok {
			uses.Add(1)
		}
	})
	if n := uses.Load(); n != 3 {
		t.Errorf("8 calls got %d uses of 3", n)
	}
}

func revoke(t *testing.T, s RuleStores) {
	want := rule("r1")
	addRule(t, s, want)
	at := noon.Add(time.Minute)
	got, err := s.Rules.Revoke(t.Context(), "r1", "ada", at)
	if err != nil {
		t.Fatal(err)
	}
	want.RevokedAt, want.RevokedBy = at, "ada"
	contracttest.Equal(t, got, want)
	_, err = s.Rules.Revoke(t.Context(), "r1", "eve", at.Add(time.Minute))
	contracttest.WantError(t, err, contract.Conflict, "r1", "ada")
	contracttest.Equal(t, getRule(t, s, "r1"), want)
	_, err = s.Rules.Revoke(t.Context(), "nothing", "eve", at)
	contracttest.WantError(t, err, contract.NotFound, "nothing")
}

func listRules(t *testing.T, s RuleStores) {
	for i := range 3 {
		r := rule(fmt.Sprint("r", i))
		r.CreatedAt = noon.Add(time.Duration(i) * time.Minute)
		addRule(t, s, r)
	}
	got, err := s.Rules.List(t.Context(), 2)
	if err != nil || len(got) != 2 || got[0].ID != "r2" || got[1].ID != "r1" {
		t.Errorf("listed %v, error %v", got, err)
	}
}
