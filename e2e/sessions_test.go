package e2e

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// page reads a resource.
func (r *server) page(uri string) string {
	r.t.Helper()
	m := r.ask("resources/read", fmt.Sprintf(`{"uri":%q}`, uri))
	var got struct {
		Contents []struct{ URI, MimeType, Text string }
	}
	r.decode(m.Result, &got)
	if len(got.Contents) != 1 || got.Contents[0].URI != uri || got.Contents[0].MimeType != "text/markdown" {
		r.t.Fatalf("%s holds %s", uri, clip(m.raw))
	}
	return got.Contents[0].Text
}

// TestSessions: what a client did can be read while it is at it, by others afterwards, and is known
// to a search, but never what stood in files or tasks.
func TestSessions(t *testing.T) {
	t.Parallel()
	s := sample(t)
	one := s.stdio("--toolsets", "context,tasks", "--rate-limits", "off")
	if text := one.page("context://session/current"); !strings.Contains(text, "Nothing was read") {
		t.Errorf("at first the session is %s", text)
	}
	one.call("read_file", `{"path":"src/server/billing/invoice.ts"}`)
	atOnce := one.search(billing) // the session has just begun
	one.call("grep_codebase", `{"pattern":"overflow"}`)
	one.call("context_search", query("where do cookies come from"))
	one.call("add_task", `{"user_id":"ann","title":"a very private errand"}`)
	text := one.page("context://session/current")
	for _, want := range []string{"src/server/billing/invoice.ts", "overflow", "where do cookies come from", "Tasks touched:\n\n- 1\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the session does not tell of %s:\n%s", want, text)
		}
	}
	id := regexp.MustCompile(`Session ([0-9a-f-]{36})`).FindStringSubmatch(text)
	if id == nil || strings.Contains(text, "errand") {
		t.Fatalf("the session is\n%s", text)
	}
	for _, found := range []known{atOnce, one.search(billing)} {
		if len(found.Results) == 0 || found.names(id[1]) {
			t.Errorf("a client finds its own session, or nothing: %+v", found)
		}
	}
	one.end()
	two := s.stdio("--toolsets", "context", "--rate-limits", "off")
	if text := two.page("context://sessions/recent"); !strings.Contains(text, id[1]) || !strings.Contains(text, "invoice.ts") {
		t.Errorf("the next client reads\n%s", text)
	}
	if text := two.page("context://session/current"); strings.Contains(text, id[1]) {
		t.Errorf("the next client is in the session of the one before:\n%s", text)
	}
	for deadline := time.Now().Add(patience); !two.search(billing).names(id[1]); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) { // a search that would have to wait for sessions does without
			t.Fatal("the session is not known to a search")
		}
	}
}

// billing is a question that the session of whoever read the invoice answers.
const billing = `{"query":"session that read billing invoice.ts","limit":20}`

// names tells whether a session is among what was found.
func (k known) names(id string) bool {
	for _, r := range k.Results {
		if r.Source == "session" && r.Session != nil && *r.Session == id {
			return true
		}
	}
	return false
}

// TestPages: an overview leads to the modules, and a module to what is known of it.
func TestPages(t *testing.T) {
	t.Parallel()
	server := sample(t).stdio("--toolsets", "context", "--rate-limits", "off")
	overview := server.page("context://project/overview")
	for _, want := range []string{"auth", "billing", "context://module/auth", "PostgreSQL chosen", "decision"} {
		if !strings.Contains(overview, want) {
			t.Errorf("the overview does not tell of %s:\n%s", want, overview)
		}
	}
	module := server.page("context://module/auth")
	for _, want := range []string{"mutex lock", "names are trimmed", "src/server/auth/AuthService.ts"} {
		if !strings.Contains(module, want) {
			t.Errorf("the module does not tell of %s:\n%s", want, module)
		}
	}
	if strings.Contains(module, "Invoices were rounded") {
		t.Errorf("the module tells of others:\n%s", module)
	}
	for _, uri := range []string{"context://module/nowhere", "context://module/", "context://module/a/b", "context://module/%zz", "context://else"} {
		if m := server.ask("resources/read", fmt.Sprintf(`{"uri":%q}`, uri)); m.Error == nil {
			t.Errorf("%s holds %s", uri, clip(m.raw))
		}
	}
	m := server.ask("completion/complete", `{"ref":{"type":"ref/resource","uri":"context://module/{name}"},"argument":{"name":"name","value":"AU"}}`)
	if !strings.Contains(string(m.raw), `["auth"]`) {
		t.Errorf("AU is completed to %s", clip(m.raw))
	}
}

// TestKnowledgePrompts: prompts begin with what is known.
func TestKnowledgePrompts(t *testing.T) {
	t.Parallel()
	server := sample(t).stdio("--toolsets", "context", "--rate-limits", "off")
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
			t.Errorf("it is answered: %s", clip(bad.raw))
		}
	}
	if m := prompt("onboard_me", map[string]string{"module": "autth"}); !strings.Contains(string(m.raw), `did you mean \"auth\"?`) {
		t.Errorf("a misspelt module: %s", clip(m.raw))
	}
}
