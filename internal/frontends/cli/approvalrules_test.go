package cli_test

import (
	"strings"
	"testing"

	"remit/internal/engine/approval"
	"remit/internal/frontends/cli"
)

// TestRulesAtTheTerminal makes, lists and revokes rules, as a person at the terminal does.
func TestRulesAtTheTerminal(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	call := func(code int, text string) {
		t.Helper()
		p.runs(code, "call", "write_memory_entry", "file=decisions.jsonl", `entry={"timestamp":"2026-01-09T10:30:00Z","type":"stack","decision":"`+text+`"}`)
	}
	call(cli.ExitPending, "a")
	id := p.requests()[0]
	if _, errOut := p.runs(cli.ExitUsage, "approvals", "allow", id); !strings.Contains(errOut, "--scope values") || !strings.Contains(errOut, `entry.type "stack"`) {
		t.Errorf("without --scope it says %q", errOut)
	}
	p.reads = approval.MinAnswerTime - 1
	p.runs(cli.ExitFailed, "approvals", "allow", id, "--scope", "values")
	p.reads = approval.MinAnswerTime
	if out, _ := p.runs(cli.ExitOK, "approvals", "allow", id, "--scope", "values", "--for", "1h", "--calls", "1"); !strings.Contains(out, "at most 1 time until") ||
		!strings.Contains(out, "Nobody is asked") || !strings.Contains(out, "1 request that it covers waits no longer") {
		t.Errorf("allow says %q", out)
	}
	call(cli.ExitOK, "b")
	call(cli.ExitPending, "c")
	if out, _ := p.runs(cli.ExitOK, "approvals", "rules"); !strings.Contains(out, "No rule is in force") {
		t.Errorf("rules says %q", out)
	}
	if out, _ := p.runs(cli.ExitOK, "approvals", "rules", "--all", "--json"); !strings.Contains(out, `"state": "used up"`) {
		t.Errorf("rules --all says %s", out)
	}
	id = p.requests()[0]
	p.runs(cli.ExitUsage, "approvals", "deny", id, "--for", "1h")
	if out, _ := p.runs(cli.ExitOK, "approvals", "deny", id, "--standing", "--scope", "tool", "--reason", "not now"); !strings.Contains(out, "is denied until") {
		t.Errorf("deny says %q", out)
	}
	call(cli.ExitFailed, "d")
	out, _ := p.runs(cli.ExitOK, "approvals", "rules", "--json")
	_, rule, _ := strings.Cut(out, `"id": "`)
	rule, _, _ = strings.Cut(rule, `"`)
	p.reads = approval.MinAnswerTime - 1
	p.runs(cli.ExitFailed, "approvals", "revoke", rule)
	p.reads = approval.MinAnswerTime
	p.runs(cli.ExitOK, "approvals", "revoke", rule)
	call(cli.ExitPending, "e")
}
