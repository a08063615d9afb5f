package console

import (
	"context"
	"fmt"
	"testing"
	"testing/fstest"
	"time"

	"remit/internal/engine/identity"
)

// TestPulse checks what the overview says of calls in and before its window.
func TestPulse(t *testing.T) {
	c := newFixture(t)
	var day []byte
	for i, call := range []struct {
		before                time.Duration
		caller, tool, outcome string
		millis                int
	}{
		{5 * time.Hour, "agent:old", "demo/look", "ok", 5},
		{29 * time.Minute, "agent:idle", "demo/look", "ok", 5},
		{8 * time.Minute, "agent:a", "demo/look", "ok", 2500},
		{90 * time.Second, "agent:a", "demo/write", "ok", 3},
		{80 * time.Second, "agent:b", "demo/look", "denied", 1},
		{70 * time.Second, "agent:b", "demo/look", "denied", 1},
		{time.Minute, "console:ada", "approvals/approve", "ok", 0},
	} {
		day = fmt.Appendf(day, `{"time":%q,"principal":%q,"frontend":"http","client":"x/%d","tool":%q,"outcome":%q,"micros":%d}`+"\n",
			c.now.Add(-call.before).Format(time.RFC3339Nano), call.caller, i, call.tool, call.outcome, call.millis*1000)
	}
	c.Calls = callsIn(fstest.MapFS{"2026-08-01.jsonl": {Data: day}}, c.Now)
	c.Holdings = func(context.Context) (Holdings, error) {
		return Holdings{Tasks: 1234, Records: 4096, Free: 1 << 30, All: 4 << 30}, nil
	}
	c.addRequest(t, "k3v9q2xa7m", "agent:w", `{}`)
	viewer := c.as(identity.Viewer)

	w := viewer("GET", "/", nil)
	wants(t, w, 200,
		"5 in the last 30 minutes", `<p class="figure">2 <small>40.0 %</small>`, // failures
		`<p class="figure">2 <small>`, "the last call of 1 failed", // active agents
		"2 of them: denied, demo/look", `href="/console/calls?outcome=denied&amp;period=30m&amp;tool=demo%2Flook"`,
		"look 2.6 s, target 1.0 s", "deadline 2m0s", // p95 over its target
		`href="/console/agents/agent:a"`, ">waits for you<", ">failing<", ">active<", ">idle<",
		"no change by a call", "1,234", "4.0 KiB", "1.0 GiB of 4.0 GiB", "not known", `1 request</a> <span class="muted">oldest`,
		"Calls in the last 30 minutes, by caller: 5 in all, at most 3 in 1 min")
	lacks(t, w, "agent:old", "approvals/approve", "No calls yet")
	wants(t, viewer("GET", "/?window=6h", nil), 200, "6 in the last 6 hours", "agent:old", "one bar per 5 min", `hx-get="/console/overview/pulse?window=6h"`)
	wants(t, viewer("GET", pulsePath+"?window=7d", nil), 200, "6 in the last 7 days", "one bar per 2 h")

	c.now = c.now.Add(time.Hour)
	w = viewer("GET", "/", nil)
	wants(t, w, 200, "No agent has called in the last 30 minutes", "no failures", "0 in the last 30 minutes", "No call has failed", "Nothing is waiting")
	lacks(t, w, "No calls yet")
}

// TestPulseIsMadeOnce checks that open pages share one pulse until something changes.
func TestPulseIsMadeOnce(t *testing.T) {
	c := newFixture(t)
	c.addRequest(t, "k3v9q2xa7m", "agent:w", `{}`)
	viewer := c.as(identity.Viewer)
	lists := func() int {
		wants(t, viewer("GET", "/", nil), 200)
		return c.approvals.lists()
	}
	first := lists()
	if n := lists(); n != first {
		t.Errorf("an unchanged pulse was made again: %d lists, want %d", n, first)
	}
	c.addRequest(t, "z3v9q2xa7m", "agent:w", `{}`)
	if n := lists(); n != first+1 {
		t.Errorf("after a new request: %d lists, want %d", n, first+1)
	}
	c.now = c.now.Add(pulseAge)
	if n := lists(); n != first+2 {
		t.Errorf("after %s: %d lists, want %d", pulseAge, n, first+2)
	}
}
