package e2e

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// readResource returns the text of a resource.
func (r *stdioServer) readResource(uri string) string {
	r.t.Helper()
	m := r.ask("resources/read", fmt.Sprintf(`{"uri":%q}`, uri))
	var got struct {
		Contents []struct{ URI, MimeType, Text string }
	}
	r.decode(m.Result, &got)
	if len(got.Contents) != 1 || got.Contents[0].URI != uri || got.Contents[0].MimeType != "text/markdown" {
		r.t.Fatalf("%s contains %s", uri, clip(m.raw))
	}
	return got.Contents[0].Text
}

// TestSessions checks that a client's activity can be read during its session, that other clients
// can read and search it later, and that it contains no content of files or tasks.
func TestSessions(t *testing.T) {
	t.Parallel()
	s := sampleProject(t)
	one := s.stdio("--toolsets", "context,tasks", "--rate-limits", "off")
	if text := one.readResource("context://session/current"); !strings.Contains(text, "Nothing was read") {
		t.Errorf("the new session contains %s", text)
	}
	one.call("read_file", `{"path":"src/server/billing/invoice.ts"}`)
	early := one.search(billingQuery) // the session has just started
	one.call("grep_codebase", `{"pattern":"overflow"}`)
	one.call("context_search", query("where do cookies come from"))
	one.call("add_task", `{"user_id":"ann","title":"a very private errand"}`)
	text := one.readResource("context://session/current")
	for _, want := range []string{"src/server/billing/invoice.ts", "overflow", "where do cookies come from", "Tasks touched:\n\n- 1\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the session does not contain %s:\n%s", want, text)
		}
	}
	id := regexp.MustCompile(`Session ([0-9a-f-]{36})`).FindStringSubmatch(text)
	if id == nil || strings.Contains(text, "errand") {
		t.Fatalf("the session is\n%s", text)
	}
	for _, found := range []searchAnswer{early, one.search(billingQuery)} {
		if len(found.Results) == 0 || found.hasSession(id[1]) {
			t.Errorf("a client found its own session, or nothing: %+v", found)
		}
	}
	one.end()
	two := s.stdio("--toolsets", "context", "--rate-limits", "off")
	if text := two.readResource("context://sessions/recent"); !strings.Contains(text, id[1]) || !strings.Contains(text, "invoice.ts") {
		t.Errorf("the next client got\n%s", text)
	}
	if text := two.readResource("context://session/current"); strings.Contains(text, id[1]) {
		t.Errorf("the next client got the session of the previous one:\n%s", text)
	}
	for deadline := time.Now().Add(timeout); !two.search(billingQuery).hasSession(id[1]); time.Sleep(50 * time.Millisecond) {
		// A search does not wait for sessions that are still being indexed.
		if time.Now().After(deadline) {
			t.Fatal("a search does not find the session")
		}
	}
}

// billingQuery is a question that matches the session which read the invoice.
const billingQuery = `{"query":"session that read billing invoice.ts","limit":20}`

// hasSession reports whether a session is among the results.
func (k searchAnswer) hasSession(id string) bool {
	for _, r := range k.Results {
		if r.Source == "session" && r.Session != nil && *r.Session == id {
			return true
		}
	}
	return false
}

// TestKnowledgeResources checks that the overview lists the modules, and that a module's page lists
// its knowledge.
func TestKnowledgeResources(t *testing.T) {
	t.Parallel()
	server := sampleProject(t).stdio("--toolsets", "context", "--rate-limits", "off")
	overview := server.readResource("context://project/overview")
	for _, want := range []string{"auth", "billing", "context://module/auth", "PostgreSQL chosen", "decision"} {
		if !strings.Contains(overview, want) {
			t.Errorf("the overview does not contain %s:\n%s", want, overview)
		}
	}
	module := server.readResource("context://module/auth")
	for _, want := range []string{"mutex lock", "names are trimmed", "src/server/auth/AuthService.ts"} {
		if !strings.Contains(module, want) {
			t.Errorf("the module does not contain %s:\n%s", want, module)
		}
	}
	if strings.Contains(module, "Invoices were rounded") {
		t.Errorf("the module contains knowledge of another module:\n%s", module)
	}
	for _, uri := range []string{"context://module/nowhere", "context://module/", "context://module/a/b", "context://module/%zz", "context://else"} {
		if m := server.ask("resources/read", fmt.Sprintf(`{"uri":%q}`, uri)); m.Error == nil {
			t.Errorf("%s contains %s", uri, clip(m.raw))
		}
	}
	m := server.ask("completion/complete", `{"ref":{"type":"ref/resource","uri":"context://module/{name}"},"argument":{"name":"name","value":"AU"}}`)
	if !strings.Contains(string(m.raw), `["auth"]`) {
		t.Errorf("AU is completed to %s", clip(m.raw))
	}
}

// TestKnowledgePrompts checks that prompts contain what the search finds.
func TestKnowledgePrompts(t *testing.T) {
	t.Parallel()
	server := sampleProject(t).stdio("--toolsets", "context", "--rate-limits", "off")
	prompt := func(name string, args map[string]string) message {
		params, _ := json.Marshal(map[string]any{"name": name, "arguments": args})
		return server.ask("prompts/get", string(params))
	}
	if m := prompt("what_do_we_know", map[string]string{"topic": "database choice"}); !strings.Contains(string(m.raw), "PostgreSQL chosen") || !strings.Contains(string(m.raw), "What do we know about this: database choice?") {
		t.Errorf("what_do_we_know: %s", clip(m.raw))
	}
	if m := prompt("onboard_me", map[string]string{"module": "auth"}); !strings.Contains(string(m.raw), "mutex lock") || !strings.Contains(string(m.raw), "Onboard me to the module auth.") {
		t.Errorf("onboard_me: %s", clip(m.raw))
	}
	for _, bad := range []message{prompt("what_do_we_know", map[string]string{"topic": "a"}), prompt("what_do_we_know", nil), prompt("onboard_me", map[string]string{"module": "autth"})} {
		if bad.Error == nil {
			t.Errorf("no error: %s", clip(bad.raw))
		}
	}
	if m := prompt("onboard_me", map[string]string{"module": "autth"}); !strings.Contains(string(m.raw), `did you mean \"auth\"?`) {
		t.Errorf("a misspelt module: %s", clip(m.raw))
	}
}
