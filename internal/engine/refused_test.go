package engine_test

import (
	"fmt"
	"testing"
	"time"

	"remit/internal/engine"
)

// TestRefusedAreRecorded checks that what never becomes a call is recorded, but not without limit.
func TestRefusedAreRecorded(t *testing.T) {
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	r := newRig(t, func(o *engine.Options) { o.Now = func() time.Time { return now } })
	if _, err := r.engine.Call(t.Context(), engine.Call{Tool: "no_such_tool", Principal: "eve", Connection: "c1"}); err == nil {
		t.Fatal("an unknown tool was called")
	}
	for i := range 100 {
		r.engine.Refused(t.Context(), engine.NoCall, engine.Requester{Principal: "eve"}, fmt.Sprint("bad ", i))
	}
	now = now.Add(time.Minute)
	r.engine.Refused(t.Context(), engine.NoCall, engine.Requester{Principal: "eve"}, "again")
	if len(r.records) != 32 {
		t.Fatalf("%d records, want 1 of an unknown tool and 31 of bodies", len(r.records))
	}
	first, last := r.records[0], r.records[31]
	if first.Tool != "refused/unknown_tool" || first.Outcome != "not_found" || first.Session != "c1" || first.Principal != "eve" ||
		string(first.Arguments.Append(nil)) != `{"about":"no_such_tool"}` {
		t.Errorf("recorded %+v %s", first, first.Arguments.Append(nil))
	}
	if got := string(last.Arguments.Append(nil)); last.Tool != "refused/no_call" || got != `{"about":"again","left_out":70}` {
		t.Errorf("recorded %s %s", last.Tool, got)
	}
}
