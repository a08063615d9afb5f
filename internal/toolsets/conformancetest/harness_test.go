package conformancetest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/approval"
	"remit/internal/engine/enginetest"
	"remit/internal/toolsets/conformancetest"
)

// contracts are loaded once, because loading is slow.
var contracts = sync.OnceValues(func() (*contract.Set, error) { return contract.Load(os.DirFS("contracts"), ".") })

// harness is an engine that serves the tools, without stores.
type harness struct {
	*engine.Engine
	set *contract.Set
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	set, err := contracts()
	if err != nil {
		t.Fatal(err)
	}
	sets := []*contract.Set{set}
	handlers := engine.Handlers{Catalog: sets, Toolsets: []engine.Toolset{conformancetest.Toolset()}}
	return &harness{enginetest.Serve(t, sets, handlers, engine.Options{Approvals: asker{}}), set}
}

// asker approves a call if the person at the client does.
type asker struct{}

func (asker) Pass(ctx context.Context, s approval.Subject, ask approval.Asker) (approval.Passed, error) {
	if ask == nil {
		return approval.Passed{}, nil
	}
	answer, err := ask(ctx, approval.Request{ID: "1", Tool: s.Tool, ExpiresAt: time.Now().Add(time.Hour)}, approval.Shown{})
	if err == nil && answer != approval.Accepted {
		err = contract.Errorf(contract.Denied, "not approved")
	}
	return approval.Passed{}, err
}

// client answers questions between attempts, and records every notification.
type client struct {
	can      []engine.Capability
	replies  map[string]string // by the key of the question
	received []string
}

func (c *client) note(format string, args ...any) {
	c.received = append(c.received, fmt.Sprintf(format, args...))
}

func (c *client) Progress(done, total float64, _ string) { c.note("progress %g/%g", done, total) }

func (c *client) Log(level engine.Level, _ string, data jsontree.Value) {
	c.note("%s %s", level, data.Text)
}

func (c *client) Release() { c.note("released") }

func (c *client) Ask(context.Context, []engine.Question) (map[string]jsontree.Value, error) {
	return nil, errors.New("this client is asked only between attempts")
}

func (c *client) Can(what engine.Capability) bool {
	for _, able := range c.can {
		if able == what {
			return true
		}
	}
	return false
}

func (*client) Background() error { return nil }

// call repeats a call until the tool has all answers, and returns how it ended.
func (r *harness) call(t *testing.T, c *client, tool, args string) string {
	t.Helper()
	peer := &engine.DeferredPeer{
		Live: c, Client: c.Can, Detach: c.Can(engine.Tasks),
		Answers: map[string]jsontree.Value{}, Asked: func(string) bool { return true },
	}
	call := engine.Call{Tool: tool, Args: parse(t, args), Peer: peer, Dialogue: true}
	for range 5 {
		result, err := r.Call(t.Context(), call)
		if err != nil {
			t.Fatal(err)
		}
		if result.Suspended == nil {
			return ending(&result)
		}
		if len(result.Suspended.Questions) == 0 {
			c.note("task")
			peer.Detach = false
		}
		for _, q := range result.Suspended.Questions {
			reply, ok := c.replies[q.Key]
			if !ok {
				t.Fatalf("%s asks for %s: %s", tool, q.Key, q.Params.Append(nil))
			}
			c.note("%s %s", q.Key, q.Needs)
			peer.Answers[q.Key] = parse(t, reply)
		}
		call.Continuation = result.Suspended.Next
	}
	t.Fatalf("%s does not stop asking: %s", tool, c.received)
	return ""
}

// ending returns the text of a successful answer, or the error.
func ending(result *engine.Result) string {
	var fault *engine.ProtocolError
	switch {
	case result.Err == nil:
		body, _ := jsontree.Parse(result.Body)
		content := body.Field("content")
		return content.Members[0].Value.Field("text").Text
	case errors.As(result.Err, &fault):
		return fmt.Sprintf("fault %d: %s", fault.Code, fault.Message)
	default:
		return string(result.Err.Kind) + ": " + result.Err.Message
	}
}

func parse(t *testing.T, text string) jsontree.Value {
	t.Helper()
	v, err := jsontree.Parse([]byte(text))
	if err != nil {
		t.Fatalf("parse %s: %v", text, err)
	}
	return v
}

func joined(lines []string) string { return strings.Join(lines, "; ") }
