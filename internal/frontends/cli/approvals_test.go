package cli_test

import (
	"strings"
	"testing"
	"time"

	"remit/internal/engine/approval"
	"remit/internal/frontends/cli"
)

// TestDecisionTakesTime checks that an answer that comes before anybody could read the request
// decides nothing, and that show has the effect that the prompt has.
func TestDecisionTakesTime(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	_, waits := p.runs(cli.ExitPending, "call", "write_memory_entry", "file=decisions.jsonl", `entry={"timestamp":"2026-01-09T10:30:00Z","type":"stack"}`)
	id := p.requests()[0]
	if want := "To decide: remit approvals approve " + id + ", or remit approvals deny " + id + "\n"; waits != want {
		t.Errorf("the call says %q, want %q", waits, want)
	}
	p.reads = approval.MinAnswerTime - time.Nanosecond
	for _, verb := range []string{"approve", "deny"} {
		if _, errOut := p.runs(cli.ExitFailed, "approvals", verb, id); !strings.Contains(errOut, "before a person could read") {
			t.Errorf("%s says %q", verb, errOut)
		}
	}
	const effect = `"effect": "Append to decisions.jsonl`
	if out, _ := p.runs(cli.ExitOK, "approvals", "show", "--json", id); !strings.Contains(out, effect) || !strings.Contains(out, `"state": "pending"`) {
		t.Errorf("show says %s", out)
	}
	p.reads = approval.MinAnswerTime
	p.runs(cli.ExitOK, "approvals", "approve", id)
	if out, _ := p.runs(cli.ExitOK, "approvals", "show", "--json", id); strings.Contains(out, "effect") || !strings.Contains(out, `"state": "approved"`) {
		t.Errorf("show says %s", out)
	}
}
