package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// decidingCommand matches what would tell an agent how to approve, trust or become a person.
var decidingCommand = regexp.MustCompile(`(?i)remit (approvals|trust|init)\b|approvals (approve|deny)|token link|--role|remit_trust|--approve[ =](auto|ask)|token create --elicit`)

// TestTextsForAgentsNameNoDecision collects what agents read (instructions, tools, resources,
// errors of MCP and HTTP, documents, notices and the webhook) and checks that nothing there names a
// command that approves, trusts or makes people.
func TestTextsForAgentsNameNoDecision(t *testing.T) {
	t.Parallel()
	sent := make(chan string, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent <- string(body)
	}))
	defer hook.Close()
	s := newWorkspace(t, map[string]string{"remit.yaml": "rate_limits: off\napprove: auto\n", ".env": "X=1\n"})
	w := s.serveWith([]string{"REMIT_WEBHOOK_SECRET=a secret that is long enough"}, "--webhook", hook.URL)
	texts := map[string]string{}
	add := func(name string, got httpAnswer) {
		t.Helper()
		text := string(got.body)
		for key, values := range got.header {
			text += "\n" + key + ": " + strings.Join(values, " ")
		}
		if len(got.body) == 0 {
			t.Errorf("%s: nothing to read, status %d", name, got.status)
		}
		texts[name] = text
	}
	for name, args := range map[string]string{
		"write_memory_entry": entryArgs, "hello": `{"nam":1}`, "read_file": `{"path":".env"}`, "update_task": `{"user_id":"x","task_id":9}`, "unknown": `{}`,
	} {
		add("POST /tools/"+name, w.post("/tools/"+name, args, nil))
	}
	texts["the webhook"] = <-sent
	for _, path := range []string{
		"/tools", "/tools/write_memory_entry", "/tools/unknown", "/health", "/approvals", "/approvals/abcdefghij", "/", "/console/approvals", "/nothing", "/llms.txt",
		"/openapi.json", "/mcp", "/mcp/nothing", "/.well-known/oauth-protected-resource", "/console/login?token=a.b", "/cdn/books/x", "/upload/x", "/archives/x",
	} {
		add("GET "+path, w.get(path, nil))
	}
	add("POST /approvals", w.post("/approvals/abcdefghij/approve", `{}`, nil))
	add("another origin", w.get("/tools", http.Header{"Origin": {"https://evil.example"}}))
	add("an unknown token", w.get("/tools", bearer("remit_unknown")))
	cmd := exec.Command(remitBin, "stdio")
	cmd.Dir, cmd.Env = s.root, environment(s.env...)
	cmd.Stdin = strings.NewReader(strings.Join([]string{
		requestLine("1", "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`),
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		requestLine("2", "tools/list", "{}"), requestLine("3", "resources/list", "{}"), requestLine("4", "resources/templates/list", "{}"),
		requestLine("5", "tools/call", `{"name":"write_memory_entry","arguments":`+entryArgs+`}`), requestLine("6", "nothing", "{}"),
		requestLine("7", "resources/read", `{"uri":"file:///etc/passwd"}`), requestLine("8", "tools/call", `{"name":"nothing"}`), "",
	}, "\n"))
	out, err := cmd.Output()
	s.check(err)
	texts["stdio"] = string(out)
	for _, want := range []string{"not in force", `"instructions"`, "waits for a person", `"id":8`} {
		if !strings.Contains(texts["stdio"], want) {
			t.Errorf("stdio has no %s:\n%s", want, clip(out))
		}
	}
	agent := s.token("--name", "agent", "--scopes", "tasks:read", "--user", "ada")
	add("without a token", w.get("/tools", nil))
	add("without the scope", w.post("/tools/add_task", `{"user_id":"ada","title":"x"}`, bearer(agent)))
	add("an agent that approves", w.post("/approvals/abcdefghij/approve", `{}`, bearer(agent)))
	s.remit("token", "revoke", "agent")
	add("a revoked token", w.get("/tools", bearer(agent)))
	for _, format := range []string{"mcp", "openai", "responses", "anthropic", "gemini", "openapi", "markdown"} {
		texts["export "+format] = s.remit("export", "--format", format, "--root", s.root).out
	}
	texts["remit call"] = s.remit("call", "write_memory_entry", "file=decisions.jsonl", `entry={"timestamp":"2026-01-01T00:00:00Z","type":"x"}`).out
	for name, text := range texts {
		if text == "" {
			t.Errorf("%s: nothing to read", name)
		}
		if at := decidingCommand.FindStringIndex(text); at != nil {
			t.Errorf("%s tells an agent how to decide: %q", name, text[max(0, at[0]-80):min(len(text), at[1]+40)])
		}
	}
	w.kill()
}
