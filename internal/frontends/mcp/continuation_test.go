package mcp_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// round calls a tool with the state and answers of earlier rounds.
func (r *rig) round(tool, args, responses, state string, headers ...string) reply {
	r.t.Helper()
	params := `"name":"` + tool + `","arguments":` + args
	if responses != "" {
		params += `,"inputResponses":` + responses
	}
	if state != "" {
		params += `,"requestState":"` + state + `"`
	}
	return r.ask(modern(1, "tools/call", params, allThree), headers...)
}

func stateOf(t testing.TB, got reply) string {
	t.Helper()
	state, _ := got.at("result", "requestState").(string)
	if got.at("result", "resultType") != "input_required" || state == "" {
		t.Fatalf("no question: %s", got.body)
	}
	return state
}

const confirmed = `{"confirm":{"action":"accept","content":{"ok":true}}}`

// TestContinuation checks that a call continues when it is answered, and that later rounds have the
// earlier answers.
func TestContinuation(t *testing.T) {
	r := newRig(t, setup{})
	const twice = "test_input_required_result_multi_round"
	first := r.round(twice, `{}`, "", "")
	if first.at("result", "inputRequests", "step1", "method") != "elicitation/create" {
		t.Errorf("got %s", first.body)
	}
	second := r.round(twice, `{}`, `{"step1":{"action":"accept","content":{"name":"Alice"}}}`, stateOf(t, first))
	if second.at("result", "inputRequests", "step1") != nil || second.at("result", "inputRequests", "step2") == nil {
		t.Errorf("got %s", second.body)
	}
	if stateOf(t, second) == stateOf(t, first) {
		t.Error("the state stays the same")
	}
	if third := r.round(twice, `{}`, `{"step2":{"action":"accept","content":{"color":"blue"}}}`, stateOf(t, second)); third.text() != "Alice likes blue" {
		t.Errorf("got %s", third.body)
	}
	const all = "test_input_required_result_multiple_inputs"
	asked := r.round(all, `{}`, "", "")
	answers := `{"user_name":{"action":"accept","content":{"name":"Bo"}},"greeting":{"role":"assistant","content":{"type":"text","text":"Hi"},"model":"m"},"client_roots":{"roots":[{"uri":"file:///r"}]}}`
	if got := r.round(all, `{}`, answers, stateOf(t, asked)); got.text() != "Hi (to Bo, in file:///r)" {
		t.Errorf("got %s", got.body)
	}
	partly := r.round(all, `{}`, `{"user_name":{"action":"accept","content":{"name":"Bo"}}}`, "")
	if got := partly.at("result", "inputRequests").(map[string]any); len(got) != 2 || got["user_name"] != nil {
		t.Errorf("asked again for %v", got)
	}
}

// TestAnswersWithoutState checks that answers without a state are accepted if they decide nothing,
// and that extra answers are ignored.
func TestAnswersWithoutState(t *testing.T) {
	r := newRig(t, setup{})
	const tool = "test_input_required_result_elicitation"
	const good = `"user_name":{"action":"accept","content":{"name":"Alice"}}`
	for _, tc := range []struct {
		name, responses, want string
		code                  any
	}{
		{"answered", `{` + good + `}`, "Hello, Alice!", nil},
		{"and more", `{` + good + `,"unknown":{},"another":{"content":{"baz":123}}}`, "Hello, Alice!", nil},
		{"another key", `{"wrong":{"action":"accept","content":{"data":"wrong"}}}`, "", nil},
		{"none", `{}`, "", nil},
		{"a number", `{"user_name":12345}`, "", -32602},
		{"null", `null`, "", -32602},
		{"a list", `[]`, "", -32602},
	} {
		got := r.round(tool, `{}`, tc.responses, "")
		if tc.code != nil {
			got.want(t, tc.name, http.StatusBadRequest, tc.code)
			continue
		}
		if tc.want == "" {
			stateOf(t, got)
		} else if got.text() != tc.want {
			t.Errorf("%s: %s", tc.name, got.body)
		}
	}
}

// TestForgedState checks that a state is valid once, for one call, one caller and a limited time.
func TestForgedState(t *testing.T) {
	t.Parallel()
	const tool = "test_input_required_result_tampered_state"
	for _, tc := range []struct {
		name  string
		again func(t *testing.T, r *rig, c *clock, state string) reply
	}{
		{"with a suffix", func(_ *testing.T, r *rig, _ *clock, state string) reply {
			return r.round(tool, `{}`, confirmed, state+"-TAMPERED")
		}},
		{"cut", func(_ *testing.T, r *rig, _ *clock, state string) reply {
			return r.round(tool, `{}`, confirmed, state[:len(state)-4])
		}},
		{"nothing in it", func(_ *testing.T, r *rig, _ *clock, _ string) reply {
			return r.ask(modern(1, "tools/call", `"name":"`+tool+`","arguments":{},"requestState":"","inputResponses":`+confirmed, allThree))
		}},
		{"a number", func(_ *testing.T, r *rig, _ *clock, _ string) reply {
			return r.ask(modern(1, "tools/call", `"name":"`+tool+`","arguments":{},"requestState":7,"inputResponses":`+confirmed, allThree))
		}},
		{"null", func(_ *testing.T, r *rig, _ *clock, _ string) reply {
			return r.ask(modern(1, "tools/call", `"name":"`+tool+`","arguments":{},"requestState":null,"inputResponses":`+confirmed, allThree))
		}},
		{"used before", func(_ *testing.T, r *rig, _ *clock, state string) reply {
			r.round(tool, `{}`, confirmed, state).want(r.t, "the first use", 200, nil)
			return r.round(tool, `{}`, confirmed, state)
		}},
		{"too late", func(_ *testing.T, r *rig, c *clock, state string) reply {
			c.pass(time.Hour)
			return r.round(tool, `{}`, confirmed, state)
		}},
		{"by another principal", func(_ *testing.T, r *rig, _ *clock, state string) reply {
			return r.round(tool, `{}`, confirmed, state, principalHeader, "eve")
		}},
		{"for another tool", func(_ *testing.T, r *rig, _ *clock, state string) reply {
			return r.round("test_input_required_result_request_state", `{}`, confirmed, state)
		}},
		{"for another method", func(_ *testing.T, r *rig, _ *clock, state string) reply {
			return r.ask(modern(1, "prompts/get", `"name":"`+tool+`","requestState":"`+state+`"`, allThree))
		}},
		{"for a resource", func(_ *testing.T, r *rig, _ *clock, state string) reply {
			return r.ask(modern(1, "resources/read", `"uri":"test://static-text","requestState":"`+state+`"`, allThree))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newClock()
			r := newRig(t, setup{now: c.now})
			got := tc.again(t, r, c, stateOf(t, r.round(tool, `{}`, "", "")))
			got.want(t, tc.name, http.StatusBadRequest, -32602)
			if !strings.Contains(got.body, "requestState") {
				t.Errorf("no reason: %s", got.body)
			}
		})
	}
	c := newClock()
	r := newRig(t, setup{now: c.now})
	state := stateOf(t, r.round(tool, `{}`, "", ""))
	c.pass(time.Hour - time.Millisecond)
	if got := r.round(tool, `{}`, confirmed, state); got.text() == "" {
		t.Errorf("within the hour: %s", got.body)
	}
}

// TestStateOfOtherArguments checks that a state does not fit a call with other arguments.
func TestStateOfOtherArguments(t *testing.T) {
	r := newRig(t, setup{})
	asked := r.round("test_elicitation", `{"message":"delete one"}`, "", "")
	const yes = `{"user_response":{"action":"accept","content":{}}}`
	for _, args := range []string{`{"message":"delete all"}`, `{"message":"delete one","more":1}`, `{}`, `null`, `[]`} {
		r.round("test_elicitation", args, yes, stateOf(t, asked)).want(t, args, http.StatusBadRequest, -32602)
	}
	if got := r.round("test_elicitation", `{ "message" : "delete one" }`, yes, stateOf(t, asked)); !strings.Contains(got.text(), "accept") {
		t.Errorf("the same, spelt otherwise: %s", got.body)
	}
}

// TestEveryByteOfTheState checks that no byte can be changed.
func TestEveryByteOfTheState(t *testing.T) {
	r := newRig(t, setup{})
	const tool = "test_input_required_result_tampered_state"
	state := stateOf(t, r.round(tool, `{}`, "", ""))
	for i := range state {
		for _, other := range []byte{'A', '_'} {
			if state[i] == other {
				continue
			}
			changed := state[:i] + string(other) + state[i+1:]
			if got := r.round(tool, `{}`, confirmed, changed); got.status != http.StatusBadRequest {
				t.Fatalf("byte %d may be %c: %s", i, other, got.body)
			}
		}
	}
	if got := r.round(tool, `{}`, confirmed, state); got.text() == "" {
		t.Errorf("the state itself: %s", got.body)
	}
}

// TestStateIsSpentOnce checks that only one of many concurrent uses succeeds.
func TestStateIsSpentOnce(t *testing.T) {
	r := newRig(t, setup{})
	const tool = "test_input_required_result_tampered_state"
	state := stateOf(t, r.round(tool, `{}`, "", ""))
	var all sync.WaitGroup
	var mu sync.Mutex
	through := 0
	for range 16 {
		all.Go(func() {
			if got := r.round(tool, `{}`, confirmed, state); got.text() != "" {
				mu.Lock()
				defer mu.Unlock()
				through++
			}
		})
	}
	all.Wait()
	if through != 1 {
		t.Errorf("%d got through", through)
	}
}

// TestStateTooLarge checks the size limit of a state.
func TestStateTooLarge(t *testing.T) {
	r := newRig(t, setup{})
	big := `{"padding":{"x":"` + strings.Repeat("x", 70_000) + `"}}`
	r.round("test_input_required_result_tampered_state", `{}`, big, "").want(t, "too large", http.StatusBadRequest, -32602)
}

const entry = `{"file":"decisions.jsonl","entry":{"timestamp":"2026-01-09T10:30:00Z","type":"x"}}`

// approvalKey returns the key of the one approval question.
func approvalKey(t testing.TB, got reply) string {
	t.Helper()
	questions, _ := got.at("result", "inputRequests").(map[string]any)
	for key := range questions {
		if strings.HasPrefix(key, "approval-") && len(questions) == 1 {
			return key
		}
	}
	t.Fatalf("no approval question: %s", got.body)
	return ""
}

// TestApprovalByContinuation checks that a write runs only if a person approved exactly this write.
func TestApprovalByContinuation(t *testing.T) {
	t.Parallel()
	const tool = "write_memory_entry"
	answer := func(key, action string) string {
		return fmt.Sprintf(`{%q:{"action":%q,"content":{}}}`, key, action)
	}
	for _, tc := range []struct {
		name    string
		then    func(t *testing.T, r *rig, key, state string) reply
		want    string // empty: it asks again
		written bool
	}{
		{"accepted before anyone saw it", func(_ *testing.T, r *rig, key, state string) reply {
			return r.round(tool, entry, answer(key, "accept"), state)
		}, `"status":"pending"`, false},
		{"accepted", func(_ *testing.T, r *rig, key, state string) reply {
			time.Sleep(350 * time.Millisecond)
			return r.round(tool, entry, answer(key, "accept"), state)
		}, `line_number`, true},
		{"declined", func(_ *testing.T, r *rig, key, state string) reply {
			time.Sleep(350 * time.Millisecond)
			return r.round(tool, entry, answer(key, "decline"), state)
		}, "A person denied this call", false},
		{"declined before anyone saw it", func(_ *testing.T, r *rig, key, state string) reply {
			return r.round(tool, entry, answer(key, "decline"), state)
		}, `"status":"pending"`, false},
		{"closed", func(_ *testing.T, r *rig, key, state string) reply {
			return r.round(tool, entry, answer(key, "cancel"), state)
		}, `"status":"pending"`, false},
		{"without the state", func(_ *testing.T, r *rig, key, _ string) reply {
			return r.round(tool, entry, answer(key, "accept"), "")
		}, "", false},
		{"without the state, which is then given without an answer", func(t *testing.T, r *rig, key, _ string) reply {
			early := r.round(tool, entry, answer(key, "accept"), "")
			return r.round(tool, entry, "", stateOf(t, early))
		}, "", false},
		{"without an answer", func(_ *testing.T, r *rig, _, state string) reply {
			return r.round(tool, entry, "", state)
		}, "", false},
		{"for another key", func(_ *testing.T, r *rig, key, state string) reply {
			return r.round(tool, entry, answer(key+"x", "accept"), state)
		}, "", false},
		{"with the state of another write", func(t *testing.T, r *rig, _, _ string) reply {
			other := strings.Replace(entry, `"x"`, `"y"`, 1)
			asked := r.round(tool, other, "", "")
			return r.round(tool, entry, answer(approvalKey(t, asked), "accept"), stateOf(t, asked))
		}, "belongs to another call", false},
	} {
		inBubble(t, tc.name, func(t *testing.T) {
			r := newRig(t, setup{toolsets: []string{"learning-os"}, memNetwork: true})
			asked := r.round(tool, entry, "", "")
			got := tc.then(t, r, approvalKey(t, asked), stateOf(t, asked))
			if tc.want == "" {
				approvalKey(t, got)
			} else if !strings.Contains(got.text()+got.body, tc.want) {
				t.Errorf("got %s, want %s", got.body, tc.want)
			}
			if _, err := os.Stat(filepath.Join(r.root, ".claude/memory/decisions.jsonl")); (err == nil) != tc.written {
				t.Errorf("written = %v, want %v", err == nil, tc.written)
			}
		})
	}
}

// TestApprovalHoldsForNextRound checks that an approval holds for the next round, and that another
// question does not count as an approval.
func TestApprovalHoldsForNextRound(t *testing.T) {
	r := newRig(t, setup{})
	const tool = "test_guarded_elicitation"
	first := r.round(tool, `{}`, `{"reason":{"action":"accept","content":{"reason":"early"}}}`, "")
	key := approvalKey(t, first)
	think()
	second := r.round(tool, `{}`, `{"`+key+`":{"action":"accept","content":{}}}`, stateOf(t, first))
	if got := second.text(); got != "Done, because early" {
		t.Errorf("got %s", second.body)
	}
	first = r.round(tool, `{}`, "", "")
	think()
	second = r.round(tool, `{}`, `{"`+approvalKey(t, first)+`":{"action":"accept","content":{}}}`, stateOf(t, first))
	if second.at("result", "inputRequests", "reason") == nil {
		t.Fatalf("got %s", second.body)
	}
	third := r.round(tool, `{}`, `{"reason":{"action":"accept","content":{"reason":"asked"}}}`, stateOf(t, second))
	if third.text() != "Done, because asked" {
		t.Errorf("got %s", third.body)
	}
	again := r.round(tool, `{}`, `{"reason":{"action":"accept","content":{"reason":"asked"}}}`, "")
	approvalKey(t, again) // the approval is spent
}

// TestPromptContinuation checks that prompts can ask too.
func TestPromptContinuation(t *testing.T) {
	r := newRig(t, setup{})
	const name = `"name":"test_input_required_result_prompt"`
	asked := r.ask(modern(1, "prompts/get", name, allThree))
	state := stateOf(t, asked)
	got := r.ask(modern(1, "prompts/get", name+`,"requestState":"`+state+`","inputResponses":{"user_context":{"action":"accept","content":{"context":"c"}}}`, allThree))
	if !strings.Contains(got.body, "Use this context: c") {
		t.Errorf("got %s", got.body)
	}
	r.ask(modern(1, "prompts/get", name, `{}`)).want(t, "a client without forms", http.StatusBadRequest, -32021)
}

// TestLinks checks that clients that can open URLs are sent to a page, in both eras.
func TestLinks(t *testing.T) {
	r := newRig(t, setup{})
	const tool, opens = "test_url_elicitation", `{"elicitation":{"url":{}}}`
	asked := r.ask(modern(1, "tools/call", `"name":"`+tool+`"`, opens))
	if asked.at("result", "inputRequests", "page", "params", "mode") != "url" || asked.at("result", "inputRequests", "page", "params", "url") == nil {
		t.Fatalf("modern: %s", asked.body)
	}
	answered := r.ask(modern(2, "tools/call", `"name":"`+tool+`","inputResponses":{"page":{"action":"accept"}},"requestState":"`+stateOf(t, asked)+`"`, opens))
	if answered.text() != "Link answered: action=accept" {
		t.Errorf("modern: %s", answered.body)
	}
	formsOnly := r.ask(modern(3, "tools/call", `"name":"`+tool+`"`, `{"elicitation":{}}`))
	formsOnly.want(t, "a client that opens no pages", http.StatusBadRequest, -32021)
	if formsOnly.at("error", "data", "requiredCapabilities", "elicitation", "url") == nil {
		t.Errorf("modern: %s", formsOnly.body)
	}

	s := r.initialize("2025-11-25", opens)
	stream := s.start(call(4, tool, `{}`))
	question := stream.next()
	for question.data == "" { // skip the priming event
		question = stream.next()
	}
	if at(question.data, "method") != "elicitation/create" || at(question.data, "params", "mode") != "url" || at(question.data, "params", "elicitationId") == nil {
		t.Fatalf("legacy: %s", question.data)
	}
	id, _ := at(question.data, "id").(string)
	s.post(`{"jsonrpc":"2.0","id":"` + id + `","result":{"action":"decline"}}`)
	if got := stream.next(); !strings.Contains(got.data, "Link answered: action=decline") {
		t.Errorf("legacy: %s", got.data)
	}
}
