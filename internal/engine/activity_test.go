package engine_test

import (
	"fmt"
	"testing"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

// fakeRecorder stores what it receives.
type fakeRecorder struct{ saw, left []string }

func (w *fakeRecorder) Record(s engine.Activity) {
	args := s.Args.Field("text")
	w.saw = append(w.saw, fmt.Sprintf("%s %s %s %s: %s", s.Caller.Principal, s.Caller.Connection, s.Tool, args.Text, s.Answer.Append(nil)))
}

func (w *fakeRecorder) ConnectionClosed(connection string) { w.left = append(w.left, connection) }

// TestActivity checks that the recorder gets every call that succeeded, and every connection that
// ended.
func TestActivity(t *testing.T) {
	w := &fakeRecorder{}
	r := newRig(t, func(o *engine.Options) { o.Activity = w })
	call := func(text string) {
		args, err := jsontree.Parse([]byte(`{"path":"a.md","text":"` + text + `"}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.engine.Call(t.Context(), engine.Call{Tool: "note", Args: args, Principal: "ann", Connection: "c1"}); err != nil {
			t.Fatal(err)
		}
	}
	call("hi")
	call("rude")
	r.passErr = contract.Errorf(contract.Pending, "wait")
	call("ho")
	if len(w.saw) != 1 || w.saw[0] != `ann c1 demo/note hi: {"said":"hihi in a.md"}` {
		t.Errorf("recorded %q", w.saw)
	}
	r.engine.ConnectionClosed("c1")
	r.engine.ConnectionClosed("")
	if len(w.left) != 1 || w.left[0] != "c1" {
		t.Errorf("ended connections %q", w.left)
	}
	if nobody := newRig(t, nil); nobody.engine != nil {
		nobody.engine.ConnectionClosed("c1") // without a recorder nothing happens
	}
}
