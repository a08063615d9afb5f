package approval_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/approval"
)

// showing returns a subject whose effect depends on a state that tests change.
func showing(state *string) approval.Subject {
	s := subject()
	s.Show = func(context.Context, string) (approval.Shown, error) {
		return approval.Shown{State: *state, Title: "Replace a.md", Before: "old " + *state + "\n", After: "new\n"}, nil
	}
	return s
}

func TestApprovalIsForWhatWasShown(t *testing.T) {
	store, state := &fake{}, "v1"
	g, s := &approval.Gate{Store: store}, showing(&state)
	first := pendingID(t, errorOf(g.Pass(t.Context(), s, nil)))
	decide(t, store, first, approval.Verdict{Approve: true, By: "grace", Shown: "v1"})
	state = "v2"
	err := errorOf(g.Pass(t.Context(), s, nil))
	second := pendingID(t, err)
	asked, _ := contract.AsError(err).Details["approval"].(map[string]any)
	if second == first || asked["reason"] != "changed since it was approved" {
		t.Errorf("the approval of another effect leads to %v, want a new request that says why", asked)
	}
	if r, _ := store.Get(t.Context(), first); r.State != approval.Changed {
		t.Errorf("the approval is %s, want changed", r.State)
	}
	state = "v1" // what was used up stays used up
	if again := pendingID(t, errorOf(g.Pass(t.Context(), s, nil))); again != second {
		t.Errorf("waits for %s, want %s", again, second)
	}
	decide(t, store, second, approval.Verdict{Approve: true, By: "grace", Shown: "v1"})
	if passed, err := g.Pass(t.Context(), s, nil); err != nil || passed != (approval.Passed{By: second, Seen: "v1"}) {
		t.Errorf("passes with %q, error %v, want v1", passed.Seen, err)
	}
}

func TestDenialHoldsWhateverChanges(t *testing.T) {
	store, state := &fake{}, "v1"
	g, s := &approval.Gate{Store: store}, showing(&state)
	id := pendingID(t, errorOf(g.Pass(t.Context(), s, nil)))
	decide(t, store, id, approval.Verdict{By: "grace", Shown: "v1"})
	state = "v2"
	if err := errorOf(g.Pass(t.Context(), s, nil)); kindOf(err) != contract.Denied {
		t.Errorf("got %v, want a denial", err)
	}
}

func TestSeenStateReachesTheHook(t *testing.T) {
	store, asked := &fake{}, []string{}
	s := subject()
	s.Show = func(_ context.Context, seen string) (approval.Shown, error) {
		asked = append(asked, seen)
		return approval.Shown{State: "v1"}, nil
	}
	g := &approval.Gate{Store: store}
	id := pendingID(t, errorOf(g.Pass(t.Context(), s, nil)))
	decide(t, store, id, approval.Verdict{Approve: true, Shown: "v1"})
	if _, err := g.Pass(t.Context(), s, nil); err != nil || strings.Join(asked, ",") != ",v1" {
		t.Errorf("the hook saw %q, error %v", asked, err)
	}
}

func TestHookFails(t *testing.T) {
	s := subject()
	gone := contract.Errorf(contract.NotFound, "Task not found")
	s.Show = func(context.Context, string) (approval.Shown, error) { return approval.Shown{}, gone }
	store := &fake{}
	if _, err := (&approval.Gate{Store: store}).Pass(t.Context(), s, nil); !errors.Is(err, gone) || len(store.requests) > 0 {
		t.Errorf("%d people were asked about a call that cannot work: %v", len(store.requests), err)
	}
}

func TestChangeWhileThePersonDecides(t *testing.T) {
	for name, c := range map[string]struct {
		changes, asked int
		want           contract.Kind
	}{
		"once":     {1, 2, ""},
		"twice":    {2, 3, ""},
		"for ever": {9, 3, contract.Pending},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				state, asked := "v0", 0
				g, s := &approval.Gate{Store: &fake{}}, showing(&state)
				var seen []string
				_, err := g.Pass(t.Context(), s, func(_ context.Context, _ approval.Request, shown approval.Shown) (approval.Answer, error) {
					seen = append(seen, shown.State)
					if asked++; asked <= c.changes {
						state += "+"
					}
					time.Sleep(time.Minute)
					return approval.Accepted, nil
				})
				if kindOf(err) != c.want || asked != c.asked {
					t.Errorf("asked %d times (%v), error %v", asked, seen, err)
				}
			})
		})
	}
}

func TestPageMark(t *testing.T) {
	r := approval.Request{ID: "7kq2m", Key: "k", Tool: "books/write_content", Digest: "sha256:abc"}
	for _, state := range []string{"", "v1", "a:b"} {
		if got, ok := r.StateOf(r.PageMark(state)); !ok || got != state {
			t.Errorf("the mark of %q means %q, %v", state, got, ok)
		}
	}
	other := r
	other.ID = "8kq2m"
	for _, mark := range []string{"", ":", "v1", other.PageMark("v1"), r.PageMark("v1") + "x", "0" + r.PageMark("v1")[1:] + "0"} {
		if state, ok := r.StateOf(mark); ok {
			t.Errorf("%q counts as the mark of %q", mark, state)
		}
	}
}

func TestShownText(t *testing.T) {
	long := strings.Repeat("line\n", 100)
	for name, c := range map[string]struct {
		shown approval.Shown
		want  []string
		not   string
	}{
		"a change": {
			approval.Shown{Title: "Update task 5", Before: "title: Milk\ndone: no\n", After: "title: Milk\ndone: yes\n"},
			[]string{"Update task 5\n", "  title: Milk\n", "- done: no\n", "+ done: yes\n"},
			"",
		},
		"escapes": {approval.Shown{Title: "a\x1b[2Jb\u202e", After: "c\rd\n"}, []string{`a\x1b[2Jb\u202e`, `+ c\rd`}, "\x1b"},
		"long":    {approval.Shown{After: long}, []string{"(60 more lines)"}, ""},
		"wide":    {approval.Shown{After: strings.Repeat("x", 5000)}, []string{"x… (5000 characters)"}, strings.Repeat("x", 201)},
		"nothing": {approval.Shown{Before: "same", After: "same"}, []string{""}, "same"},
	} {
		text := c.shown.Text()
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in\n%s", name, want, text)
			}
		}
		if c.not != "" && strings.Contains(text, c.not) {
			t.Errorf("%s: %q is in\n%s", name, c.not, text)
		}
	}
}
