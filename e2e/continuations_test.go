package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// modernServer is a server that gets raw messages of the modern era.
type modernServer interface {
	modern(method, members, capabilities string) message
	kill()
}

var (
	_ modernServer = (*stdioServer)(nil)
	_ modernServer = (*httpServer)(nil)
)

// modernServers are the ways to start a server.
var modernServers = map[string]func(s *workspace, args ...string) modernServer{
	"stdio": func(s *workspace, args ...string) modernServer { return s.stdio(args...) },
	"http": func(s *workspace, args ...string) modernServer {
		w := s.serve(args...)
		w.token = s.dialogToken()
		return w
	},
}

func onEachModernServer(t *testing.T, test func(t *testing.T, start func(s *workspace, args ...string) modernServer)) {
	t.Helper()
	for name, start := range modernServers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, start)
		})
	}
}

// inputRequired is a result that contains questions for the client.
type inputRequired struct {
	ResultType string `json:"resultType"`
	Requests   map[string]struct {
		Method string
		Params struct{ Message string }
	} `json:"inputRequests"`
	State string `json:"requestState"`
}

const elicitationCapability = `{"elicitation":{"form":{}}}`

// call is one attempt of a tool call. An attempt after a question contains its answer.
type call struct {
	tool, args string
	answers    string // JSON by key; empty in the first attempt
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

func (c call) sendTo(s modernServer) message {
	return s.modern("tools/call", c.members(), elicitationCapability)
}

// mustAsk makes an attempt that must return one question, and returns the next attempt, with the
// answer.
func (c call) mustAsk(t *testing.T, s modernServer, answer string) call {
	t.Helper()
	m := c.sendTo(s)
	var r inputRequired
	if err := json.Unmarshal(m.Result, &r); err != nil || r.ResultType != "input_required" || len(r.Requests) != 1 || r.State == "" {
		t.Fatalf("the result does not contain exactly one question (%v): %s", err, clip(m.raw))
	}
	for key, q := range r.Requests {
		if q.Method != "elicitation/create" || q.Params.Message == "" {
			t.Errorf("the question has the method %s and the message %q", q.Method, q.Params.Message)
		}
		c.answers = fmt.Sprintf(`{%q:%s}`, key, answer)
	}
	c.state = r.State
	time.Sleep(readingTime)
	return c
}

// mustReject makes an attempt that must be rejected because of its state.
func (c call) mustReject(t *testing.T, s modernServer, why string) {
	t.Helper()
	m := c.sendTo(s)
	if m.Error == nil || m.Error.Code != -32602 || !strings.Contains(m.Error.Message, "requestState") {
		t.Errorf("%s is not rejected: %s", why, clip(m.raw))
	}
}

// mustComplete makes an attempt that must be the last, and returns its text.
func (c call) mustComplete(t *testing.T, s modernServer) string {
	t.Helper()
	m := c.sendTo(s)
	var r struct {
		ResultType string `json:"resultType"`
		Content    []struct{ Text string }
		IsError    bool
	}
	if err := json.Unmarshal(m.Result, &r); err != nil || r.ResultType != "complete" || len(r.Content) != 1 {
		t.Fatalf("the call is not complete (%v): %s", err, clip(m.raw))
	}
	return r.Content[0].Text
}

const accepted = `{"action":"accept"}`

// altered changes the character of a state at an index.
func altered(state string, at int) string {
	changed := byte('A')
	if state[at] == changed {
		changed = 'B'
	}
	return state[:at] + string(changed) + state[at+1:]
}

// TestAnswerAfterARestart checks that another process can execute a call with the answer to a
// question that the first process asked: once, and only with the same arguments.
func TestAnswerAfterARestart(t *testing.T) {
	t.Parallel()
	onEachModernServer(t, func(t *testing.T, start func(*workspace, ...string) modernServer) {
		s := newWorkspace(t, nil)
		asked := call{tool: "write_memory_entry", args: fmt.Sprintf(entry001, 1)}
		one := start(s, "--toolsets", "learning-os")
		answered := asked.mustAsk(t, one, accepted)
		one.kill()

		two := start(s, "--toolsets", "learning-os")
		for _, at := range []int{0, len(answered.state) / 2, len(answered.state) - 2} {
			forged := answered
			forged.state = altered(answered.state, at)
			forged.mustReject(t, two, fmt.Sprintf("a state altered at %d", at))
		}
		other := answered
		other.args = fmt.Sprintf(entry001, 2)
		other.mustReject(t, two, "another argument")
		other = answered
		other.tool, other.args = "hello", `{"name":"Ada"}`
		other.mustReject(t, two, "another tool")
		if got := s.memory("decisions.jsonl"); got != nil {
			t.Fatalf("a forged state caused a write: %q", got)
		}
		if got := answered.mustComplete(t, two); got != `{"success":true,"line_number":1}` {
			t.Errorf("the call was not executed: %s", got)
		}
		answered.mustReject(t, two, "the same state again")
		two.kill()

		answered.mustReject(t, start(s, "--toolsets", "learning-os"), "the same state in a third process")
		if got := s.memory("decisions.jsonl"); len(got) != 1 {
			t.Errorf("%d lines, want 1: %q", len(got), got)
		}
		s.verifyAudit()
	})
}

// TestRefusalAfterARestart checks that a refusal holds in another process too.
func TestRefusalAfterARestart(t *testing.T) {
	t.Parallel()
	onEachModernServer(t, func(t *testing.T, start func(*workspace, ...string) modernServer) {
		s := newWorkspace(t, nil)
		asked := call{tool: "write_memory_entry", args: fmt.Sprintf(entry001, 1)}
		one := start(s, "--toolsets", "learning-os")
		answered := asked.mustAsk(t, one, `{"action":"decline"}`)
		one.kill()
		// The server assumes that nobody was asked if the answer comes sooner.
		time.Sleep(400 * time.Millisecond)
		two := start(s, "--toolsets", "learning-os")
		if got := answered.mustComplete(t, two); !strings.Contains(got, `"status":"denied"`) {
			t.Errorf("the call is not denied: %s", got)
		}
		answered.answers = strings.Replace(answered.answers, "decline", "accept", 1)
		answered.mustReject(t, two, "second thoughts")
		if got := s.memory("decisions.jsonl"); got != nil {
			t.Errorf("a denied call was executed: %q", got)
		}
	})
}

// TestTwoQuestionsAcrossRestarts checks a call with two questions and a restart before each answer.
// No answer can be left out, and the approval does not apply to another call.
func TestTwoQuestionsAcrossRestarts(t *testing.T) {
	t.Parallel()
	onEachModernServer(t, func(t *testing.T, start func(*workspace, ...string) modernServer) {
		s := newWorkspace(t, nil)
		first := call{tool: "test_guarded_elicitation", args: `{}`}
		one := start(s, "--toolsets", "conformance")
		second := first.mustAsk(t, one, accepted)
		one.kill()
		two := start(s, "--toolsets", "conformance")
		third := second.mustAsk(t, two, `{"action":"accept","content":{"reason":"it is time"}}`)
		if third.state == second.state {
			t.Error("the state did not change after the second question")
		}
		second.mustReject(t, two, "the first state again")
		two.kill()
		three := start(s, "--toolsets", "conformance")
		if got := third.mustComplete(t, three); got != "Done, because it is time" {
			t.Errorf("the call returned %q", got)
		}
		third.mustReject(t, three, "the second state again")
		first.mustAsk(t, three, accepted) // a new call needs a new approval
		unasked := call{tool: first.tool, args: first.args, answers: third.answers}
		unasked.mustAsk(t, three, accepted)
	})
}

// TestStateStaysInItsWorkspace checks that an approval in one workspace is not valid in another one
// of the same user.
func TestStateStaysInItsWorkspace(t *testing.T) {
	t.Parallel()
	onEachModernServer(t, func(t *testing.T, start func(*workspace, ...string) modernServer) {
		here, there := start(newWorkspace(t, nil), "--toolsets", "conformance"), start(newWorkspace(t, nil), "--toolsets", "conformance")
		second := call{tool: "test_guarded_elicitation", args: `{}`}.mustAsk(t, here, accepted)
		second.mustReject(t, there, "a question of another workspace")
		third := second.mustAsk(t, here, `{"action":"accept","content":{"reason":"it is time"}}`)
		third.mustReject(t, there, "an approval of another workspace")
		if got := third.mustComplete(t, here); got != "Done, because it is time" {
			t.Errorf("the call returned %q", got)
		}
	})
}
