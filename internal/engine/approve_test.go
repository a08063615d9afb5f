package engine_test

import (
	"testing"

	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/approval"
)

// TestSubject checks what a person is told about a call: what it does, in the words of the
// contract, and who asks.
func TestSubject(t *testing.T) {
	r := newRig(t, nil)
	args, err := jsontree.Parse([]byte(`{"path":"a.md","text":"hi (rude)"}`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.engine.Call(t.Context(), engine.Call{
		Tool: "note", Args: args, Principal: "ann", Frontend: "test", Client: "agent 1", Connection: "c1", Reason: "to say hi",
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.asked.Summary, "Note “hi (rude)” in a.md, 2 times"; got != want {
		t.Errorf("summary %q, want %q", got, want)
	}
	want := approval.Origin{Frontend: "test", Client: "agent 1", Session: "c1", CallerReason: "to say hi"}
	if r.asked.Origin != want || r.asked.Target != "a.md" {
		t.Errorf("origin %+v and target %q, want %+v and a.md", r.asked.Origin, r.asked.Target, want)
	}
}
