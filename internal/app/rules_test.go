package app

import (
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/contracttest"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/approval"
	"remit/internal/engine/identity"
	"remit/internal/engine/passkey"
	"remit/internal/engine/passkey/passkeytest"
	"remit/internal/frontends/cli"
	"remit/internal/frontends/httpapi"
)

// ruled is a workspace that asks for approval, as one process has opened it.
type ruled struct {
	*App
	t *testing.T
}

func openRuled(t *testing.T, root string, change ...func(*cli.Settings)) *ruled {
	t.Helper()
	a := openHere(t, func(s *cli.Settings) {
		s.Root, s.Data, s.Approve, s.Toolsets = root, filepath.Join(root, ".remit"), approval.Ask, []string{"learning-os"}
		s.Database = "sqlite://" + filepath.Join(s.Data, "remit.db")
		for _, f := range change {
			f(s)
		}
	})
	return &ruled{a, t}
}

// entryOf returns the arguments of an entry of a type.
func entryOf(kind, text string) string {
	return fmt.Sprintf(`{"file":"decisions.jsonl","entry":{"timestamp":"2026-01-09T10:30:00Z","type":%q,"decision":%q}}`, kind, text)
}

func (r *ruled) write(args string) engine.Result {
	r.t.Helper()
	return call(r.t, r.App, engine.Call{Tool: "write_memory_entry"}, args)
}

// passes writes an entry, and fails the test unless the outcome is want: "ok", or a kind of error.
func (r *ruled) passes(args, want string) {
	r.t.Helper()
	result := r.write(args)
	got := "ok"
	if result.Err != nil {
		got = string(result.Err.Kind)
	}
	if got != want {
		r.t.Errorf("%s: %s, want %s: %s", args, got, want, result.Body)
	}
}

// waits makes a call that waits for a decision, and returns the request.
func (r *ruled) waits(args string) string {
	r.t.Helper()
	result := r.write(args)
	if result.Err == nil || result.Err.Kind != contract.Pending {
		r.t.Fatalf("%s does not wait: %s", args, result.Body)
	}
	id, _ := result.Err.Details["approval"].(map[string]any)["id"].(string)
	return id
}

func (r *ruled) make(request string, terms approval.RuleTerms) approval.Rule {
	r.t.Helper()
	if terms.Valid == 0 {
		terms.Valid = time.Hour
	}
	made, _, err := r.Desk().MakeRule(r.t.Context(), request, terms, approval.Decision{By: "console:ada", Via: "console", Reason: "not today"})
	if err != nil {
		r.t.Fatal(err)
	}
	return made
}

func (r *ruled) allow(request, scope string, calls int) approval.Rule {
	r.t.Helper()
	return r.make(request, approval.RuleTerms{Allow: true, Scope: scope, Calls: calls})
}

func (r *ruled) revoke(id string) {
	r.t.Helper()
	if _, err := r.Desk().RevokeRule(r.t.Context(), id, approval.Decision{By: "console:ada", Via: "console"}); err != nil {
		r.t.Fatal(err)
	}
}

// states returns the states of all rules, newest first.
func (r *ruled) states() string {
	r.t.Helper()
	list, err := r.Desk().ListRules(r.t.Context(), true)
	if err != nil {
		r.t.Fatal(err)
	}
	var states []string
	for _, one := range list {
		states = append(states, fmt.Sprintf("%s %d/%d", one.Now, one.Used, one.Calls))
	}
	return strings.Join(states, ", ")
}

// sql changes the database behind the back of Remit.
func (r *ruled) sql(query string) {
	r.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(r.settings.Data, "remit.db"))
	if err != nil {
		r.t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(r.t.Context(), "PRAGMA busy_timeout = 60000;"+query); err != nil {
		r.t.Fatal(err)
	}
}

// TestStandingPermission checks that a permission lets calls in its scope pass, as often as it
// says, and no others, and that the records say so.
func TestStandingPermission(t *testing.T) {
	r := openRuled(t, t.TempDir())
	first, second := r.waits(entryOf("stack", "a")), r.waits(entryOf("stack", "b"))
	other := r.waits(entryOf("style", "c"))
	rule := r.allow(first, "values", 3)
	want := `cli:local may call write_memory_entry with entry.type "stack", file "decisions.jsonl", any entry.decision, any entry.timestamp, ` +
		`and no other arguments, at most 3 times until ` + rule.ExpiresAt.UTC().Format("2006-01-02 15:04 UTC") +
		`. Nobody is asked before these calls, or shown what they change.`
	if got := strings.Replace(rule.Sentence(), cli.LocalPrincipal, "cli:local", 1); got != want {
		t.Errorf("the rule says\n%s\nwant\n%s", got, want)
	}
	store, err := r.Approvals(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{first: "covered", second: "covered", other: "pending"} {
		if got, err := store.Get(t.Context(), id); err != nil || got.Stage(time.Now()) != want {
			t.Errorf("request %s is %s, want %s (error %v)", id, got.Stage(time.Now()), want, err)
		}
	}
	r.passes(entryOf("stack", "a"), "ok")
	r.passes(entryOf("stack", "d"), "ok")
	r.passes(entryOf("style", "c"), "pending")
	r.passes(`{"file":"progress_log.jsonl","entry":{"timestamp":"2026-01-09T10:30:00Z","type":"stack","decision":"a"}}`, "pending")
	r.passes(strings.Replace(entryOf("stack", "e"), `"decision"`, `"more":1,"decision"`, 1), "pending")
	r.passes(entryOf("stack", "f"), "ok")
	if got := r.states(); got != "used up 3/3" {
		t.Errorf("rules: %s", got)
	}
	r.passes(entryOf("stack", "g"), "pending")
	records := recordsIn(t, filepath.Join(r.settings.Data, "audit"))
	if n := strings.Count(records, `"approved":"rule","rule":"`+rule.ID+`"`); n < 3 {
		t.Errorf("%d records name the rule, want one for each use at least:\n%s", n, records)
	}
	for _, part := range []string{`"tool":"rules/allow"`, `"principal":"console:ada"`, `"request":"` + first + `"`} {
		if !strings.Contains(records, part) {
			t.Errorf("no record has %s", part)
		}
	}
}

// recordsIn returns the text of all records, once those of the outbox are there.
func recordsIn(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// TestStandingDenial checks that a denial wins over a permission and in every mode, that the caller
// gets the error of a denial, and that it ends when it is revoked.
func TestStandingDenial(t *testing.T) {
	root := t.TempDir()
	r := openRuled(t, root)
	r.allow(r.waits(entryOf("stack", "a")), "tool", 5)
	r.passes(entryOf("stack", "a"), "ok")
	denial := r.make(r.waitsAnyway(entryOf("stack", "b")), approval.RuleTerms{Scope: "values"})
	result := r.write(entryOf("stack", "c"))
	if result.Err == nil || result.Err.Kind != contract.Denied || result.Err.Message != "A person denied this call: not today" {
		t.Errorf("denied: %s", result.Body)
	}
	r.passes(entryOf("style", "c"), "ok")
	auto := openRuled(t, root, func(s *cli.Settings) { s.Approve = approval.Auto })
	auto.passes(entryOf("stack", "d"), "denied")
	auto.passes(entryOf("style", "d"), "ok")
	openRuled(t, root, func(s *cli.Settings) { s.Approve = approval.Deny }).passes(entryOf("style", "e"), "denied")
	openRuled(t, root, func(s *cli.Settings) { s.ReadOnly = true }).passes(entryOf("style", "f"), "denied")
	if got := r.states(); got != "in force 0/0, in force 2/5" {
		t.Errorf("rules: %s", got)
	}
	r.revoke(denial.ID)
	r.passes(entryOf("stack", "c"), "ok")
	if got := r.states(); got != "revoked 0/0, in force 3/5" {
		t.Errorf("rules: %s", got)
	}
}

// waitsAnyway stores a request as an earlier call would have, although a permission covers its
// call.
func (r *ruled) waitsAnyway(args string) string {
	r.t.Helper()
	r.sql("UPDATE approval_rules SET revoked_at = 1")
	id := r.waits(args)
	r.sql("UPDATE approval_rules SET revoked_at = NULL")
	return id
}

// TestOtherCallers checks that nobody else inherits a permission: not another agent, not a new
// token of the same name.
func TestOtherCallers(t *testing.T) {
	r := openRuled(t, t.TempDir())
	agent := func(name, token string) engine.Call {
		return engine.Call{Tool: "write_memory_entry", Principal: "agent:" + name, Grant: &identity.Grant{
			Scopes: identity.Scopes{{Set: "*", Write: true}: true}, Credential: identity.Credential{Kind: identity.TokenCredential, ID: token},
		}}
	}
	as := func(c engine.Call, args string) engine.Result {
		t.Helper()
		c.Args = parse(t, args)
		result, err := r.engine.Call(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	asked := as(agent("bot", "t1"), entryOf("stack", "a"))
	id, _ := asked.Err.Details["approval"].(map[string]any)["id"].(string)
	r.allow(id, "tool", 10)
	if result := as(agent("bot", "t1"), entryOf("stack", "a")); result.Err != nil {
		t.Errorf("the agent: %s", result.Body)
	}
	for name, c := range map[string]engine.Call{
		"a new token of the name": agent("bot", "t2"), "another agent": agent("Bot", "t1"), "without a token": {Tool: "write_memory_entry", Principal: "agent:bot"},
	} {
		if result := as(c, entryOf("stack", "a")); result.Err == nil || result.Err.Kind != contract.Pending {
			t.Errorf("%s: %s", name, result.Body)
		}
	}
	if got := r.states(); got != "in force 1/10" {
		t.Errorf("rules: %s", got)
	}
}

func parse(t *testing.T, text string) jsontree.Value {
	t.Helper()
	v, err := jsontree.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestPutBackRules checks that an older database revives no rule that was revoked or used up, and
// that a denial that it has lost lets no permission count.
func TestPutBackRules(t *testing.T) {
	root := t.TempDir()
	r := openRuled(t, root)
	r.allow(r.waits(entryOf("used", "a")), "values", 2)
	revoked := r.allow(r.waits(entryOf("revoked", "a")), "values", 2)
	r.allow(r.waits(entryOf("held", "a")), "values", 2)
	backup := r.dump()
	r.passes(entryOf("used", "a"), "ok")
	r.passes(entryOf("used", "b"), "ok")
	r.revoke(revoked.ID)
	r.passes(entryOf("held", "a"), "ok")
	r.restore(backup)
	r.passes(entryOf("used", "c"), "pending")
	r.passes(entryOf("revoked", "c"), "pending")
	r.passes(entryOf("held", "b"), "ok")
	r.passes(entryOf("held", "c"), "pending")
	if got := r.states(); got != "used up 2/2, revoked 0/2, used up 2/2" {
		t.Errorf("rules: %s", got)
	}
	r.allow(r.waits(entryOf("again", "a")), "values", 2)
	backup = r.dump()
	r.make(r.waits(entryOf("denied", "a")), approval.RuleTerms{Scope: "values"})
	r.passes(entryOf("denied", "b"), "denied")
	r.passes(entryOf("again", "a"), "ok")
	r.restore(backup)
	r.passes(entryOf("denied", "b"), "pending")
	r.passes(entryOf("again", "b"), "pending")
}

// dump copies the rules; restore puts them back.
func (r *ruled) dump() string {
	r.t.Helper()
	r.sql("DROP TABLE IF EXISTS earlier")
	r.sql("CREATE TABLE earlier AS SELECT * FROM approval_rules")
	return "earlier"
}

func (r *ruled) restore(table string) {
	r.t.Helper()
	r.sql("DELETE FROM approval_rules")
	r.sql("INSERT INTO approval_rules SELECT * FROM " + table)
}

// TestForgedRules checks that what somebody writes into the database lets no call pass.
func TestForgedRules(t *testing.T) {
	r := openRuled(t, t.TempDir())
	r.allow(r.waits(entryOf("stack", "a")), "values", 1)
	r.passes(entryOf("stack", "a"), "ok")
	for name, forge := range map[string]string{
		"more calls":       "calls = 100",
		"other scope":      `scope = '{"any":true}', used = 0`,
		"later":            "expires_at = expires_at + 1, used = 0",
		"unreadable scope": "scope = '', used = 0",
		"another caller":   "principal = 'agent:eve', used = 0",
		"no seal":          "seal = '', used = 0",
		"a copy":           "id = 'k3v9q2xa7m', used = 0",
		"uses forgotten":   "used = 0",
	} {
		backup := r.dump()
		r.sql("UPDATE approval_rules SET " + forge)
		r.passes(entryOf("stack", "b "+name), "pending")
		r.passes(entryOf("style", name), "pending")
		r.restore(backup)
	}
}

// TestRulesEnd checks that a permission ends with its time, and is void under another contract.
func TestRulesEnd(t *testing.T) {
	root := t.TempDir()
	now := time.Now()
	r := openRuled(t, root)
	r.clockAt(func() time.Time { return now })
	r.allow(r.waits(entryOf("stack", "a")), "values", 5)
	now = now.Add(time.Hour - time.Second)
	r.passes(entryOf("stack", "b"), "ok")
	now = now.Add(time.Second)
	r.passes(entryOf("stack", "c"), "pending")
	if got := r.states(); got != "expired 1/5" {
		t.Errorf("rules: %s", got)
	}
	r.allow(r.waits(entryOf("stack", "e")), "tool", 5)
	stricter := openRuled(t, root, func(s *cli.Settings) {
		s.Tools = map[string]contract.Tightening{"write_memory_entry": {Request: 8 << 10}}
	})
	stricter.clockAt(func() time.Time { return now })
	stricter.passes(entryOf("stack", "f"), "pending")
	if got := stricter.states(); got != "void 0/5, expired 1/5" {
		t.Errorf("rules: %s", got)
	}
	r.passes(entryOf("stack", "f"), "ok")
}

// TestClockSetBackRevivesNoRule checks that a process that starts with a clock that was set back
// goes by the newest time that was seen.
func TestClockSetBackRevivesNoRule(t *testing.T) {
	root := t.TempDir()
	r := openRuled(t, root)
	r.allow(r.waits(entryOf("stack", "a")), "values", 5)
	later := openRuled(t, root)
	later.clock.newest = func() time.Time { return time.Now().Add(2 * time.Hour) }
	later.passes(entryOf("stack", "b"), "pending")
	if got := later.states(); got != "expired 0/5" {
		t.Errorf("rules: %s", got)
	}
}

// clockAt lets approvals go by another clock.
func (r *ruled) clockAt(now func() time.Time) {
	r.waiting.now, r.desk.Now = now, now
}

// TestProcessesShareUses lets two processes spend the last uses at once.
func TestProcessesShareUses(t *testing.T) {
	root := t.TempDir()
	all := []*ruled{openRuled(t, root), openRuled(t, root)}
	const calls = 3
	all[0].allow(all[0].waits(entryOf("stack", "a")), "values", calls)
	var passed atomic.Int32
	contracttest.Concurrently(8, func(i int) {
		result, err := all[i%2].engine.Call(t.Context(), engine.Call{
			Tool: "write_memory_entry", Principal: cli.LocalPrincipal, Args: parse(t, entryOf("stack", fmt.Sprint(i))),
		})
		if err == nil && result.Err == nil {
			passed.Add(1)
		}
	})
	if n := passed.Load(); n != calls {
		t.Errorf("%d calls passed by a permission for %d", n, calls)
	}
	if got := all[1].states(); got != "used up 3/3" {
		t.Errorf("rules: %s", got)
	}
}

// TestKeyedRepeatsUseNoPermission checks that a repeat with the same idempotency key counts once.
func TestKeyedRepeatsUseNoPermission(t *testing.T) {
	r := openRuled(t, t.TempDir())
	r.allow(r.waits(entryOf("stack", "a")), "values", 5)
	for range 3 {
		if result := call(t, r.App, engine.Call{Tool: "write_memory_entry", Key: "k-1"}, entryOf("stack", "a")); result.Err != nil {
			t.Fatalf("%s", result.Body)
		}
	}
	if got := r.states(); got != "in force 1/5" {
		t.Errorf("rules: %s", got)
	}
}

// TestEachTime checks that no permission counts, and none can be made, if the contract says that a
// person decides about each call. Denials can.
func TestEachTime(t *testing.T) {
	r := openRuled(t, t.TempDir())
	r.allow(r.waits(entryOf("stack", "a")), "tool", 5)
	i := slices.IndexFunc(r.sets[0].Contracts, func(c *contract.Contract) bool { return c.Name == "write_memory_entry" })
	r.sets[0].Contracts[i].Approval.Each = true
	request := r.waits(entryOf("stack", "b"))
	terms := approval.RuleTerms{Allow: true, Scope: "values", Valid: time.Hour, Calls: 1}
	_, _, err := r.Desk().MakeRule(t.Context(), request, terms, approval.Decision{By: "console:ada", Via: "console"})
	contracttest.WantError(t, err, contract.Conflict, "each call")
	if got := r.states(); got != "void 0/5" {
		t.Errorf("rules: %s", got)
	}
	r.make(request, approval.RuleTerms{Scope: "values"})
	r.passes(entryOf("stack", "c"), "denied")
}

// TestRuleTerms checks that a rule is bounded, and made only from a request that waits.
func TestRuleTerms(t *testing.T) {
	r := openRuled(t, t.TempDir())
	request := r.waits(entryOf("stack", "a"))
	for name, c := range map[string]struct {
		terms approval.RuleTerms
		want  contract.Kind
	}{
		"too short":        {approval.RuleTerms{Allow: true, Scope: "tool", Calls: 1, Valid: time.Second}, contract.Invalid},
		"too long":         {approval.RuleTerms{Allow: true, Scope: "tool", Calls: 1, Valid: 32 * 24 * time.Hour}, contract.Invalid},
		"over already":     {approval.RuleTerms{Allow: true, Scope: "tool", Calls: 1, Until: time.Now().Add(-time.Hour)}, contract.Invalid},
		"no calls":         {approval.RuleTerms{Allow: true, Scope: "tool", Valid: time.Hour}, contract.Invalid},
		"too many calls":   {approval.RuleTerms{Allow: true, Scope: "tool", Calls: approval.MaxCalls + 1, Valid: time.Hour}, contract.Invalid},
		"no scope":         {approval.RuleTerms{Allow: true, Calls: 1, Valid: time.Hour}, contract.Invalid},
		"an unknown scope": {approval.RuleTerms{Allow: true, Scope: "under:..", Calls: 1, Valid: time.Hour}, contract.Invalid},
	} {
		_, _, err := r.Desk().MakeRule(t.Context(), request, c.terms, approval.Decision{By: "console:ada"})
		if err == nil || contract.AsError(err).Kind != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	r.make(request, approval.RuleTerms{Scope: "exact"})
	terms := approval.RuleTerms{Allow: true, Scope: "tool", Calls: 1, Valid: time.Hour}
	_, _, err := r.Desk().MakeRule(t.Context(), request, terms, approval.Decision{By: "console:ada"})
	contracttest.WantError(t, err, contract.Conflict, "covered")
	other := r.waits(entryOf("stack", "b"))
	r.sql(`UPDATE approvals SET arguments = '{}' WHERE id = '` + other + `'`)
	_, _, err = r.Desk().MakeRule(t.Context(), other, terms, approval.Decision{By: "console:ada"})
	contracttest.WantError(t, err, contract.Conflict, "changed from outside")
}

// TestSignedRule checks that a permission needs the signature of a passkey under exactly its terms,
// once one is registered.
func TestSignedRule(t *testing.T) {
	r := openRuled(t, t.TempDir(), func(s *cli.Settings) { s.PublicURL = passkeytest.Origin })
	r.allow(r.waits(entryOf("before", "a")), "values", 5)
	hers := passkeytest.NewAuthenticator(t)
	q, err := r.passkeys.AskRegistration(t.Context(), "console:ada")
	if err != nil {
		t.Fatal(err)
	}
	answer := passkey.Answer{Nonce: q.Nonce, Attestation: hers.Create(q)}
	if _, _, err := r.passkeys.Register(t.Context(), "console:ada", "key", answer); err != nil {
		t.Fatal(err)
	}
	r.passes(entryOf("before", "b"), "pending")
	request := r.waits(entryOf("stack", "a"))
	asked := approval.RuleTerms{Allow: true, Scope: "values", Calls: 2, Valid: time.Hour}
	sign := func(asked, made approval.RuleTerms) error {
		t.Helper()
		q, err := r.Desk().AskRulePasskey(t.Context(), request, "console:ada", asked)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = r.Desk().MakeRule(t.Context(), request, made, approval.Decision{
			By: "console:ada", Via: "console", Answer: passkey.Answer{Nonce: q.Nonce, Assertion: hers.Get(q)},
		})
		return err
	}
	for name, change := range map[string]func(*approval.RuleTerms){
		"wider":     func(t *approval.RuleTerms) { t.Scope = "tool" },
		"more":      func(t *approval.RuleTerms) { t.Calls = 3 },
		"longer":    func(t *approval.RuleTerms) { t.Valid = 2 * time.Hour },
		"until":     func(t *approval.RuleTerms) { t.Until = time.Now().Add(3 * time.Hour) },
		"the other": func(t *approval.RuleTerms) { t.Scope = "exact" },
	} {
		made := asked
		if change(&made); contract.AsError(sign(asked, made)).Kind != contract.Denied {
			t.Errorf("a signature is good for a permission that is %s", name)
		}
	}
	_, _, err = r.Desk().MakeRule(t.Context(), request, asked, approval.Decision{By: "console:ada", Via: "console"})
	if !errors.Is(err, passkey.ErrNeeded) {
		t.Errorf("without a signature: %v", err)
	}
	if err := sign(asked, asked); err != nil {
		t.Fatal(err)
	}
	r.passes(entryOf("stack", "a"), "ok")
	if checked := r.recordCheck(t.Context()); checked != nil {
		for _, line := range strings.Split(recordsIn(t, filepath.Join(r.settings.Data, "audit")), "\n") {
			if err := checked.Check([]byte(line)); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
	backup := r.dump()
	r.sql("UPDATE approval_rules SET proof = ''")
	r.passes(entryOf("stack", "b"), "pending")
	r.restore(backup)
	until := asked
	until.Valid, until.Until, request = 0, time.Now().Add(time.Hour), r.waits(entryOf("today", "a"))
	if err := sign(until, until); err != nil {
		t.Fatal(err)
	}
	r.passes(entryOf("today", "b"), "ok")
}

// TestOnlyPeopleMakeRules checks that the API takes rules from people alone, and makes, lists and
// revokes them.
func TestOnlyPeopleMakeRules(t *testing.T) {
	r := openRuled(t, t.TempDir())
	request, who := r.waits(entryOf("stack", "a")), identity.Identity{Principal: "agent:bot"}
	var rejected []string
	api := &httpapi.API{
		Identity: func(*http.Request) identity.Identity { return who }, Desk: r.Desk(),
		Address:  func(*http.Request) string { return "192.0.2.1" },
		Rejected: func(_ *http.Request, reason string) { rejected = append(rejected, reason) },
	}
	mux := http.NewServeMux()
	api.Register(mux)
	send := func(method, path, body string) (int, string) {
		q := httptest.NewRequest(method, path, strings.NewReader(body))
		q.Header.Set("Authorization", "Bearer x")
		q.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, q)
		return w.Code, w.Body.String()
	}
	const rule = `{"effect":"allow","scope":"values","for":"1h","calls":2}`
	for _, path := range []string{"GET /approvals/rules", "GET /approvals/" + request + "/scopes", "POST /approvals/" + request + "/rule", "POST /approvals/rules/x/revoke"} {
		method, path, _ := strings.Cut(path, " ")
		if code, body := send(method, path, rule); code != http.StatusForbidden {
			t.Errorf("an agent at %s: %d %s", path, code, body)
		}
	}
	if len(rejected) != 4 {
		t.Errorf("rejected: %q", rejected)
	}
	who = identity.Identity{Principal: "person:bot", Role: identity.Approver}
	for _, body := range []string{
		``, `{}`, `{"effect":"ALLOW","scope":"values","for":"1h","calls":2}`, `{"effect":"allow","scope":"values","for":"1h"}`,
		`{"effect":"allow","scope":"values","calls":2}`, `{"effect":"allow","scope":"all","for":"1h","calls":2}`,
		`{"effect":"allow","scope":"values","for":"forever","calls":2}`, `{"effect":"allow","scope":"values","for":"1h","calls":2,"more":1}`,
		`{"effect":"allow","scope":"values","for":"1h","calls":"2"}`, `[` + rule + `]`,
	} {
		if code, answer := send("POST", "/approvals/"+request+"/rule", body); code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", body, code, answer)
		}
	}
	if code, body := send("GET", "/approvals/"+request+"/scopes", ""); code != http.StatusOK || !strings.Contains(body, `"scope":"values"`) {
		t.Errorf("scopes: %d %s", code, body)
	}
	code, body := send("POST", "/approvals/"+request+"/rule", rule)
	if code != http.StatusOK || !strings.Contains(body, `"covered":1`) || !strings.Contains(body, `"made_by":"person:bot"`) {
		t.Fatalf("%d %s", code, body)
	}
	r.passes(entryOf("stack", "b"), "ok")
	made := parse(t, body)
	id := made.At("rule", "id")
	if code, body := send("POST", "/approvals/rules/"+id.Text+"/revoke", ""); code != http.StatusOK || !strings.Contains(body, `"state":"revoked"`) {
		t.Errorf("revoke: %d %s", code, body)
	}
	r.passes(entryOf("stack", "c"), "pending")
	if code, body := send("GET", "/approvals/rules", ""); code != http.StatusOK || body != `{"rules":[]}` && body != "{\"rules\":[]}\n" {
		t.Errorf("rules in force: %d %s", code, body)
	}
	if code, body := send("GET", "/approvals/rules?all=true", ""); code != http.StatusOK || !strings.Contains(body, `"used":1`) {
		t.Errorf("all rules: %d %s", code, body)
	}
}
