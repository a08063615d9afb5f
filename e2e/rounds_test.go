package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// speaker is a server that is spoken to in raw messages of the modern era.
type speaker interface {
	modern(method, members, capabilities string) message
	kill()
}

var (
	_ speaker = (*server)(nil)
	_ speaker = (*web)(nil)
)

// speakers are the ways to start one.
var speakers = map[string]func(s *space, args ...string) speaker{
	"stdio": func(s *space, args ...string) speaker { return s.stdio(args...) },
	"http":  func(s *space, args ...string) speaker { return s.serve(args...) },
}

func onEachSpeaker(t *testing.T, test func(t *testing.T, start func(s *space, args ...string) speaker)) {
	t.Helper()
	for name, start := range speakers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, start)
		})
	}
}

// round is a result that asks for answers.
type round struct {
	ResultType string `json:"resultType"`
	Requests   map[string]struct {
		Method string
		Params struct{ Message string }
	} `json:"inputRequests"`
	State string `json:"requestState"`
}

const canAsk = `{"elicitation":{"form":{}}}`

// call is a call of a tool in one of its rounds.
type call struct {
	tool, args string
	answers    string // JSON by key; empty in the first round
	state      string
}

func (c call) members() string {
	members := fmt.Sprintf(`"name":%q,"arguments":%s`, c.tool, c.args)
	if c.answers != "" {
		members += `,"inputResponses":` + c.answers
	}
	if c.state != "" {
		members += `,"requestState":` + quoted(c.state)
	}
	return members
}

func (c call) by(s speaker) message { return s.modern("tools/call", c.members(), canAsk) }

// asks makes a round of a call that must end in one question, and gives the call as
// it goes on once that is answered.
func (c call) asks(t *testing.T, s speaker, answer string) call {
	t.Helper()
	m := c.by(s)
	var r round
	if err := json.Unmarshal(m.Result, &r); err != nil || r.ResultType != "input_required" || len(r.Requests) != 1 || r.State == "" {
		t.Fatalf("it does not ask one thing (%v): %s", err, clip(m.raw))
	}
	for key, q := range r.Requests {
		if q.Method != "elicitation/create" || q.Params.Message == "" {
			t.Errorf("it asks by %s: %q", q.Method, q.Params.Message)
		}
		c.answers = fmt.Sprintf(`{%q:%s}`, key, answer)
	}
	c.state = r.State
	return c
}

// refused makes a round that must not be taken.
func (c call) refused(t *testing.T, s speaker, why string) {
	t.Helper()
	m := c.by(s)
	if m.Error == nil || m.Error.Code != -32602 || !strings.Contains(m.Error.Message, "requestState") {
		t.Errorf("%s is not refused: %s", why, clip(m.raw))
	}
}

// completes makes a round that must be the last, and gives its text.
func (c call) completes(t *testing.T, s speaker) string {
	t.Helper()
	m := c.by(s)
	var r struct {
		ResultType string `json:"resultType"`
		Content    []struct{ Text string }
		IsError    bool
	}
	if err := json.Unmarshal(m.Result, &r); err != nil || r.ResultType != "complete" || len(r.Content) != 1 {
		t.Fatalf("it does not complete (%v): %s", err, clip(m.raw))
	}
	return r.Content[0].Text
}

const accepted = `{"action":"accept"}`

// altered changes one character of a state, wherever it is.
func altered(state string, at int) string {
	changed := byte('A')
	if state[at] == changed {
		changed = 'B'
	}
	return state[:at] + string(changed) + state[at+1:]
}

// The question and its answer need not meet the same process: what the first one
// asked, the second one carries out, once, and only as it was asked.
func TestAnswerAfterARestart(t *testing.T) {
	t.Parallel()
	onEachSpeaker(t, func(t *testing.T, start func(*space, ...string) speaker) {
		s := newSpace(t, nil)
		asked := call{tool: "write_memory_entry", args: fmt.Sprintf(entry001, 1)}
		one := start(s, "--toolsets", "learning-os")
		answered := asked.asks(t, one, accepted)
		one.kill()

		two := start(s, "--toolsets", "learning-os")
		for _, at := range []int{0, len(answered.state) / 2, len(answered.state) - 2} {
			forged := answered
			forged.state = altered(answered.state, at)
			forged.refused(t, two, fmt.Sprintf("a state that is altered at %d", at))
		}
		other := answered
		other.args = fmt.Sprintf(entry001, 2)
		other.refused(t, two, "another argument")
		other = answered
		other.tool, other.args = "hello", `{"name":"Ada"}`
		other.refused(t, two, "another tool")
		if got := s.memory("decisions.jsonl"); got != nil {
			t.Fatalf("written by a forgery: %q", got)
		}
		if got := answered.completes(t, two); got != `{"success":true,"line_number":1}` {
			t.Errorf("the answer is not carried out: %s", got)
		}
		answered.refused(t, two, "the same state again")
		two.kill()

		answered.refused(t, start(s, "--toolsets", "learning-os"), "the same state in a third process")
		if got := s.memory("decisions.jsonl"); len(got) != 1 {
			t.Errorf("%d lines, want 1: %q", len(got), got)
		}
		s.auditHolds()
	})
}

// A person who takes the time to say no has said no, also to another process.
func TestRefusalAfterARestart(t *testing.T) {
	t.Parallel()
	onEachSpeaker(t, func(t *testing.T, start func(*space, ...string) speaker) {
		s := newSpace(t, nil)
		asked := call{tool: "write_memory_entry", args: fmt.Sprintf(entry001, 1)}
		one := start(s, "--toolsets", "learning-os")
		answered := asked.asks(t, one, `{"action":"decline"}`)
		one.kill()
		time.Sleep(400 * time.Millisecond) // sooner nobody can have decided
		two := start(s, "--toolsets", "learning-os")
		if got := answered.completes(t, two); !strings.Contains(got, `"status":"denied"`) {
			t.Errorf("it is not denied: %s", got)
		}
		answered.answers = strings.Replace(answered.answers, "decline", "accept", 1)
		answered.refused(t, two, "second thoughts")
		if got := s.memory("decisions.jsonl"); got != nil {
			t.Errorf("written all the same: %q", got)
		}
	})
}

// Two rounds in one call, with a restart before each answer. Neither answer can be
// left out, and the approval does not carry over to another call.
func TestTwoRoundsOverRestarts(t *testing.T) {
	t.Parallel()
	onEachSpeaker(t, func(t *testing.T, start func(*space, ...string) speaker) {
		s := newSpace(t, nil)
		first := call{tool: "test_guarded_elicitation", args: `{}`}
		one := start(s, "--toolsets", "conformance")
		second := first.asks(t, one, accepted)
		one.kill()
		two := start(s, "--toolsets", "conformance")
		third := second.asks(t, two, `{"action":"accept","content":{"reason":"it is time"}}`)
		if third.state == second.state {
			t.Error("the state is the same after a round")
		}
		second.refused(t, two, "the first state again")
		two.kill()
		three := start(s, "--toolsets", "conformance")
		if got := third.completes(t, three); got != "Done, because it is time" {
			t.Errorf("it ends with %q", got)
		}
		third.refused(t, three, "the second state again")
		first.asks(t, three, accepted) // it takes a new approval
		unasked := call{tool: first.tool, args: first.args, answers: third.answers}
		unasked.asks(t, three, accepted)
	})
}

// What a person approved in one workspace is not approved in another, though the
// same user runs both.
func TestStateStaysInItsWorkspace(t *testing.T) {
	t.Parallel()
	onEachSpeaker(t, func(t *testing.T, start func(*space, ...string) speaker) {
		here, there := start(newSpace(t, nil), "--toolsets", "conformance"), start(newSpace(t, nil), "--toolsets", "conformance")
		second := call{tool: "test_guarded_elicitation", args: `{}`}.asks(t, here, accepted)
		second.refused(t, there, "a question of another workspace")
		third := second.asks(t, here, `{"action":"accept","content":{"reason":"it is time"}}`)
		third.refused(t, there, "an approval of another workspace")
		if got := third.completes(t, here); got != "Done, because it is time" {
			t.Errorf("it ends with %q", got)
		}
	})
}
