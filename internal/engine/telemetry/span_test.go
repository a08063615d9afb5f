package telemetry_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"remit/internal/engine/telemetry"
)

func TestSpansFollowTheConventions(t *testing.T) {
	for _, tc := range []struct {
		name string
		call telemetry.Call
		want string // the name of the span
		fail bool
		has  map[string]string
	}{
		{
			"a tool",
			telemetry.Call{
				Method: "tools/call", Tool: "demo/look", Outcome: "ok", Version: "1.2.0", Caller: "ada", Frontend: "http",
				Client:     "inspector 1",
				Connection: "abc", Bytes: 12,
			},
			"tools/call look", false,
			map[string]string{
				"mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look",
				"mcp.session.id":    "abc",
				"network.transport": "tcp", "network.protocol.name": "http",
				"remit.outcome": "ok", "remit.toolset": "demo", "remit.contract.version": "1.2.0", "remit.caller": "ada",
				"remit.client": "inspector 1",
				"remit.face":   "http", "remit.result.bytes": "12",
			},
		},
		{
			"a tool that fails",
			telemetry.Call{
				Method: "tools/call", Tool: "demo/look", Outcome: "denied", Frontend: "stdio",
				Client: "x ghp_abcdefghijklmnopqrstuvwxyz0123456789", Err: "E1",
			},
			"tools/call look", true,
			map[string]string{
				"mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look",
				"network.transport": "pipe",
				"error.type":        "tool_error", "remit.outcome": "denied", "remit.toolset": "demo", "remit.face": "stdio",
				"remit.result.bytes": "0", "remit.error.code": "E1",
				"remit.client": "x ghp_***",
			},
		},
		{
			"a prompt",
			telemetry.Call{Method: "prompts/get", Tool: "plan", Outcome: "ok", Frontend: "stdio"},
			"prompts/get plan", false,
			map[string]string{
				"mcp.method.name": "prompts/get", "gen_ai.prompt.name": "plan", "network.transport": "pipe", "remit.outcome": "ok",
				"remit.face": "stdio", "remit.result.bytes": "0",
			},
		},
		{
			"a resource",
			telemetry.Call{Method: "resources/read", Outcome: "not_found", Frontend: "cli"},
			"resources/read", true,
			map[string]string{
				"mcp.method.name": "resources/read", "error.type": "not_found", "remit.outcome": "not_found", "remit.face": "cli",
				"remit.result.bytes": "0",
			},
		},
		{
			"a tool that asks",
			telemetry.Call{Method: "tools/call", Tool: "_OTHER", Outcome: "asked"},
			"tools/call _OTHER", false,
			map[string]string{
				"mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "_OTHER",
				"remit.outcome": "asked", "remit.result.bytes": "0",
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &sink{}
				tel := s.start(t, nil)
				tc.call.Started, tc.call.Took = time.Now(), 3*time.Second
				tel.End(tel.Begin(context.Background(), ""), &tc.call)
				tel.Close()
				got := s.spans()[0]
				if got.Name != tc.want || (got.Status.Code == codes.Error) != tc.fail || got.SpanKind != trace.SpanKindServer ||
					got.EndTime.Sub(got.StartTime) != 3*time.Second || !got.StartTime.Equal(tc.call.Started) {
					t.Errorf("got %+v", got)
				}
				if diff := cmp.Diff(tc.has, attrs(got.Attributes)); diff != "" {
					t.Errorf("attributes (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestLongValuesAreCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		tel := s.start(t, map[string]string{"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "4"})
		call(tel, "", func(c *telemetry.Call) { c.Client = "żółwiki"; c.Took = -1 })
		tel.Close()
		got := s.spans()[0]
		if has := attrs(got.Attributes); has["remit.client"] != "żółw" || has["remit.caller"] != "ada" ||
			got.EndTime.Before(got.StartTime) {
			t.Errorf("got %v from %s to %s", has, got.StartTime, got.EndTime)
		}
	})
}

// TestOff checks that nothing is allocated, and nothing happens, if telemetry is off.
func TestOff(t *testing.T) {
	var off *telemetry.Telemetry
	ctx := context.Background()
	if n := testing.AllocsPerRun(100, func() {
		off.End(off.Begin(ctx, parent), &telemetry.Call{Method: "tools/call", Tool: "demo/look", Outcome: "ok", Started: time.Time{}})
	}); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
	off.Watch(telemetry.Gauge{})
	off.Close()
}

func BenchmarkCalled(b *testing.B) {
	discard := &sink{fail: func(context.Context, int) error { return errDown }}
	for name, t := range map[string]*telemetry.Telemetry{"off": nil, "on": telemetry.New(discard.options(nil))} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			started := time.Now()
			for b.Loop() {
				t.End(t.Begin(context.Background(), parent), &telemetry.Call{
					Method: "tools/call", Tool: "demo/look", Outcome: "ok", Version: "1.0.0", Caller: "ada", Frontend: "stdio",
					Started: started, Took: time.Millisecond,
				})
			}
		})
		t.Close()
	}
}
