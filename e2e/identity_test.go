package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// token creates a token and returns its secret; args follow "remit token create".
func (s *workspace) token(args ...string) string {
	s.t.Helper()
	made := s.remit(append([]string{"token", "create", "--root", s.root}, args...)...)
	if made.code != 0 || !strings.HasPrefix(made.out, "remit_") {
		s.t.Fatalf("token create: exit %d\n%s%s", made.code, made.out, made.errOut)
	}
	return strings.TrimSpace(made.out)
}

// bearer returns the header of a caller with this token.
func bearer(token string) http.Header {
	return http.Header{"Authorization": {"Bearer " + token}}
}

// get sends a GET request to a path of the server.
func (w *httpServer) get(path string, header http.Header) httpAnswer {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+path, http.NoBody)
	w.workspace.check(err)
	for name, values := range header {
		r.Header[name] = values
	}
	got, err := send(http.DefaultClient, r)
	w.workspace.check(err)
	return got
}

// submit sends a form, like the pages of the console.
func (w *httpServer) submit(path, form string, header http.Header) httpAnswer {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), timeout)
	defer cancel()
	r, err := newPost(ctx, w.url+path, form, header)
	w.workspace.check(err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	got, err := send(&http.Client{CheckRedirect: noRedirect}, r)
	w.workspace.check(err)
	return got
}

// noRedirect keeps a client from following redirects.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// signInLink returns a link that a person at a terminal makes for the console of this server.
func (w *httpServer) signInLink() string {
	w.t.Helper()
	from := *w.workspace
	from.env = slices.Concat(from.env, w.env)
	got := from.person(append([]string{"token", "link", "--root", w.workspace.root}, w.args...)...)
	if got.code != 0 || !strings.HasPrefix(got.out, "http") {
		w.t.Fatalf("token link: exit %d\n%s%s", got.code, got.out, got.errOut)
	}
	return strings.TrimSpace(got.out)
}

// signIn signs an admin in, and returns the session cookie.
func (w *httpServer) signIn() *http.Cookie {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.signInLink(), http.NoBody)
	w.workspace.check(err)
	got, err := send(&http.Client{CheckRedirect: noRedirect}, r)
	w.workspace.check(err)
	cookie, err := http.ParseSetCookie(got.header.Get("Set-Cookie"))
	if err != nil {
		w.t.Fatalf("signing in sets no cookie: %d %s", got.status, clip(got.body))
	}
	return cookie
}

const entryArgs = `{"file":"decisions.jsonl","entry":{"timestamp":"2026-01-09T10:30:00Z","type":"stack","decision":"SQLite"}}`

// TestAgentWithEveryScope checks that a token with all scopes for one user cannot approve, read the
// configuration, or access data of another user.
func TestAgentWithEveryScope(t *testing.T) {
	s := newWorkspace(t, map[string]string{"docs/a.md": "A\n", "remit.yaml": "log_level: warn\n"})
	ada := s.token("--name", "full", "--scopes", "*", "--user", "ada")
	bob := s.token("--name", "bob", "--scopes", "tasks:read,tasks:write", "--user", "bob")
	w := s.serve()
	if got := w.post("/tools/add_task", `{"user_id":"bob","title":"Mine"}`, bearer(bob)); got.status != 200 {
		t.Fatalf("bob cannot add a task: %d %s", got.status, got.body)
	}
	t.Run("own data", func(t *testing.T) {
		for tool, args := range map[string]string{
			"add_task": `{"user_id":"ada","title":"Hers"}`, "list_tasks": `{}`, "read_repo_file": `{"path":"docs/a.md"}`, "grep_codebase": `{"pattern":"A"}`,
		} {
			if got := w.post("/tools/"+tool, args, bearer(ada)); got.status != 200 {
				t.Errorf("%s: %d %s", tool, got.status, got.body)
			}
		}
	})
	t.Run("another user's tasks", func(t *testing.T) {
		for tool, args := range map[string]string{
			"list_tasks": `{"user_id":"bob"}`, "add_task": `{"user_id":"bob","title":"x"}`, "complete_task": `{"user_id":"bob","task_id":"1"}`,
			"delete_task": `{"user_id":"bob","task_id":"1"}`, "update_task": `{"user_id":"bob","task_id":"1","title":"x"}`,
		} {
			if got := w.post("/tools/"+tool, args, bearer(ada)); got.status != http.StatusForbidden || strings.Contains(string(got.body), "Mine") {
				t.Errorf("%s: %d %s", tool, got.status, got.body)
			}
		}
		for _, uri := range []string{"tasks://bob", "task://bob/1", "tasks://%62ob"} {
			params := modernParams(`"uri":`+quoted(uri), `{}`)
			header := modernHeaders("resources/read", uri)
			header.Set("Authorization", "Bearer "+ada)
			if got := w.post("/mcp", requestLine("1", "resources/read", params), header); !strings.Contains(string(got.body), `"error"`) || strings.Contains(string(got.body), "Mine") {
				t.Errorf("%s: %d %s", uri, got.status, got.body)
			}
		}
		if got := w.post("/tools/list_tasks", `{"user_id":"bob"}`, bearer(bob)); !strings.Contains(string(got.body), `"completed":false`) {
			t.Errorf("bob's task was changed: %s", got.body)
		}
	})
	t.Run("approvals", func(t *testing.T) {
		asked := w.post("/tools/write_memory_entry", entryArgs, bearer(ada))
		id := regexp.MustCompile(`/console/approvals/([0-9a-z]{10})`).FindSubmatch(asked.body)
		if asked.status != http.StatusAccepted && asked.status != http.StatusForbidden || id == nil {
			t.Fatalf("the write is not pending: %d %s", asked.status, asked.body)
		}
		decide, cookie := "/console/approvals/"+string(id[1])+"/decide", w.signIn()
		token := cookie.Name + "=" + ada
		for _, header := range []http.Header{bearer(ada), {"Cookie": {token}}, {"Authorization": {"Bearer " + ada}, "Cookie": {token}}} {
			if got := w.submit(decide, "verdict=approve", header); got.status != http.StatusUnauthorized {
				t.Errorf("POST %s with %v: %d %s", decide, header, got.status, clip(got.body))
			}
			for _, path := range []string{"/approvals/" + string(id[1]), "/tools/approve"} {
				if got := w.post(path, `{"verdict":"approve"}`, header); got.status < 400 {
					t.Errorf("POST %s with %v: %d", path, header, got.status)
				}
			}
		}
		if got := w.submit("/console/login", "token="+ada, nil); got.status < 400 {
			t.Errorf("an agent's token can sign in: %d", got.status)
		}
		if got := w.submit(decide, "verdict=deny", http.Header{"Cookie": {cookie.Name + "=" + cookie.Value}}); got.status >= 400 {
			t.Errorf("a person cannot decide: %d %s", got.status, clip(got.body))
		}
		if got := w.post("/tools/write_memory_entry", entryArgs, bearer(ada)); got.status == 200 || s.read(".claude/memory/decisions.jsonl") != "" {
			t.Errorf("the entry was written: %d %s", got.status, got.body)
		}
	})
	t.Run("elicitation", func(t *testing.T) { checkElicitationWithToken(t, w, s, ada) })
	t.Run("configuration", func(t *testing.T) {
		for _, path := range []string{"/", "/console/settings", "/console/approvals", "/console/calls", "/config", "/console/events"} {
			if got := w.get(path, bearer(ada)); got.status != http.StatusUnauthorized && got.status != http.StatusNotFound || strings.Contains(string(got.body), "log_level") {
				t.Errorf("GET %s: %d %s", path, got.status, clip(got.body))
			}
		}
		for _, tool := range []string{`read_repo_file {"path":"remit.yaml"}`, `read_file {"path":"remit.yaml"}`, `read_file {"path":".remit/remit.db"}`} {
			name, args, _ := strings.Cut(tool, " ")
			if got := w.post("/tools/"+name, args, bearer(ada)); got.status == 200 {
				t.Errorf("%s: %s", tool, got.body)
			}
		}
	})
	w.end()
	s.verifyAudit()
}

// checkElicitationWithToken checks that a client with a token cannot approve its own call by
// accepting the elicitation.
func checkElicitationWithToken(t *testing.T, w *httpServer, s *workspace, token string) {
	t.Helper()
	header := http.Header{}
	if token != "" {
		header = bearer(token)
	}
	begun := w.post("/mcp", requestLine("1", "initialize", `{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"liar","version":"1"}}`), header)
	header.Set("Mcp-Session-Id", begun.header.Get("Mcp-Session-Id"))
	args := strings.Replace(entryArgs, "SQLite", "forged", 1)
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	r, err := newPost(ctx, w.url+"/mcp", requestLine("2", "tools/call", `{"name":"write_memory_entry","arguments":`+args+`}`), header)
	s.check(err)
	response, err := http.DefaultClient.Do(r)
	s.check(err)
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		var m message
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); !ok || json.Unmarshal([]byte(data), &m) != nil || m.Method == "" {
			continue
		}
		time.Sleep(readingTime)
		if got := w.post("/mcp", `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"action":"accept","content":{}}}`, header); got.status >= 400 {
			t.Errorf("the answer was rejected: %d", got.status)
		}
	}
	if text := s.read(".claude/memory/decisions.jsonl"); strings.Contains(text, "forged") {
		t.Errorf("an agent approved its own call: %s", text)
	}
}

// TestScopes checks that a token can call the tools of its scopes, and that an error names the
// missing scope, over plain HTTP and in both eras of MCP. Lists contain only the allowed tools.
func TestScopes(t *testing.T) {
	s := newWorkspace(t, map[string]string{"docs/a.md": "A\n"})
	reader := s.token("--name", "reader", "--scopes", "tasks:read", "--user", "ada")
	w := s.serve()
	for tool, want := range map[string]int{"list_tasks": 200, "add_task": 403, "read_file": 403, "read_repo_file": 403, "list_books": 403, "hello": 200} {
		got := w.post("/tools/"+tool, `{"name":"Ada"}`, bearer(reader))
		if tool == "list_tasks" {
			got = w.post("/tools/"+tool, `{}`, bearer(reader))
		}
		if got.status != want {
			t.Errorf("%s: %d %s, want %d", tool, got.status, got.body, want)
		}
		if challenge := got.header.Get("WWW-Authenticate"); want == 403 && (!strings.Contains(challenge, `error="insufficient_scope"`) || !strings.Contains(challenge, "scope=")) {
			t.Errorf("%s: WWW-Authenticate %q", tool, challenge)
		}
	}
	listed := w.get("/tools", bearer(reader))
	if !strings.Contains(string(listed.body), `"list_tasks"`) || strings.Contains(string(listed.body), `"add_task"`) {
		t.Errorf("GET /tools: %s", clip(listed.body))
	}
	header := modernHeaders("tools/list", "")
	header.Set("Authorization", "Bearer "+reader)
	list := w.post("/mcp", requestLine("1", "tools/list", modernParams("", `{}`)), header)
	if !strings.Contains(string(list.body), `"list_tasks"`) || strings.Contains(string(list.body), `"add_task"`) || !strings.Contains(string(list.body), `"cacheScope":"private"`) {
		t.Errorf("tools/list: %s", clip(list.body))
	}
	header = modernHeaders("tools/call", "add_task")
	header.Set("Authorization", "Bearer "+reader)
	called := w.post("/mcp", requestLine("2", "tools/call", modernParams(`"name":"add_task","arguments":{"title":"x"}`, `{}`)), header)
	if called.status != 403 || !strings.Contains(called.header.Get("WWW-Authenticate"), `scope="tasks:write"`) {
		t.Errorf("tools/call: %d %v %s", called.status, called.header["Www-Authenticate"], called.body)
	}
	w.end()
}

// TestAnonymousCallers checks that with identity on, only hello answers callers without a token,
// and that an invalid token is rejected even there.
func TestAnonymousCallers(t *testing.T) {
	s := newWorkspace(t, map[string]string{"docs/a.md": "A\n"})
	w := s.serve("--identity", "on")
	for _, tc := range []struct {
		method, path, body string
		want               int
	}{
		{"POST", "/tools/hello", `{"name":"Ada"}`, 200},
		{"POST", "/tools/list_tasks", `{"user_id":"ada"}`, 401},
		{"POST", "/tools/read_repo_file", `{"path":"docs/a.md"}`, 401},
		{"GET", "/tools", "", 401},
		{"GET", "/tools/hello", "", 401},
		{"GET", "/metrics", "", 401},
		{"GET", "/health", "", 200},
		{"GET", "/cdn/books/x/assets/y.png", "", 401},
		{"GET", "/", "", 401},
		{"POST", "/mcp", requestLine("1", "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}`), 401},
		{"GET", "/.well-known/oauth-protected-resource", "", 200},
		{"GET", "/.well-known/oauth-protected-resource/mcp", "", 200},
	} {
		var got httpAnswer
		if tc.method == "GET" {
			got = w.get(tc.path, nil)
		} else {
			got = w.post(tc.path, tc.body, nil)
		}
		if got.status != tc.want {
			t.Errorf("%s %s: %d %s, want %d", tc.method, tc.path, got.status, clip(got.body), tc.want)
		}
		if challenge := got.header.Get("WWW-Authenticate"); tc.want == 401 && tc.path != "/" && !strings.Contains(challenge, "resource_metadata=") {
			t.Errorf("%s %s: WWW-Authenticate %q", tc.method, tc.path, challenge)
		}
	}
	for method, want := range map[string]int{"tools/list": 401, "server/discover": 401} {
		if got := w.post("/mcp", requestLine("1", method, modernParams("", `{}`)), modernHeaders(method, "")); got.status != want {
			t.Errorf("%s: %d %s, want %d", method, got.status, clip(got.body), want)
		}
	}
	greeted := w.post("/mcp", requestLine("1", "tools/call", modernParams(`"name":"hello","arguments":{"name":"Ada"}`, `{}`)), modernHeaders("tools/call", "hello"))
	if greeted.status != 200 || !strings.Contains(string(greeted.body), "Hello, Ada!") {
		t.Errorf("hello over MCP: %d %s", greeted.status, greeted.body)
	}
	for _, token := range []string{"nonsense", "remit_x", "remit_" + strings.Repeat("a", 49)} {
		if got := w.post("/tools/hello", `{"name":"Ada"}`, bearer(token)); got.status != 401 || !strings.Contains(got.header.Get("WWW-Authenticate"), `error="invalid_token"`) || strings.Contains(string(got.body), token) {
			t.Errorf("token %s: %d %s", token, got.status, got.body)
		}
	}
	w.end()
}

// TestGuessesDoNotLockOutOthers checks that callers who guess tokens are rate limited, and that a
// valid token from the same address still works, even on its first use.
func TestGuessesDoNotLockOutOthers(t *testing.T) {
	s := newWorkspace(t, nil)
	secret := s.token("--name", "late", "--scopes", "tasks:read", "--user", "ada")
	w := s.serve()
	slowed := 0
	for i := range 60 {
		if got := w.post("/tools/list_tasks", `{}`, bearer(fmt.Sprintf("remit_%049d", i))); got.status == http.StatusTooManyRequests && got.header.Get("Retry-After") != "" {
			slowed++
		} else if got.status != http.StatusUnauthorized {
			t.Fatalf("a guess: %d %s", got.status, got.body)
		}
	}
	if slowed == 0 {
		t.Error("guesses are not rate limited")
	}
	if got := w.post("/tools/list_tasks", `{}`, bearer(secret)); got.status != 200 {
		t.Errorf("a valid token: %d %s", got.status, got.body)
	}
	w.end()
	s.verifyAudit()
}

// TestFirstTokenEnablesIdentity checks that a running server requires tokens once the first one
// exists, and that a revoked token is rejected.
func TestFirstTokenEnablesIdentity(t *testing.T) {
	s := newWorkspace(t, nil)
	w := s.serve("--log-level", "error")
	if got := w.post("/tools/list_tasks", `{"user_id":"ada"}`, nil); got.status != 200 {
		t.Fatalf("without a token: %d %s", got.status, got.body)
	}
	secret := s.token("--name", "first", "--scopes", "tasks:read", "--user", "ada")
	for deadline := time.Now().Add(timeout); ; time.Sleep(50 * time.Millisecond) {
		if got := w.post("/tools/list_tasks", `{"user_id":"ada"}`, nil); got.status == 401 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("callers without a token are still accepted")
		}
	}
	if got := w.post("/tools/list_tasks", `{}`, bearer(secret)); got.status != 200 {
		t.Errorf("with the token: %d %s", got.status, got.body)
	}
	if got := s.remit("token", "revoke", "first", "--root", s.root); got.code != 0 {
		t.Fatalf("revoke: %+v", got)
	}
	if got := w.post("/tools/list_tasks", `{}`, bearer(secret)); got.status != 401 {
		t.Errorf("with the revoked token: %d %s", got.status, got.body)
	}
	w.end()
}

// TestCapturedServeHasNoLink checks that serve prints a sign-in link at a terminal, and none where
// its output is captured.
func TestCapturedServeHasNoLink(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	w := s.serve()
	if shown := w.stderr.String(); strings.Contains(shown, "token=") || !strings.Contains(shown, `remit token link" at a terminal`) {
		t.Errorf("captured output:\n%s", shown)
	}
	w.end()
	master, slave, err := pty.Open()
	s.check(err)
	defer func() { _ = master.Close() }()
	cmd := exec.Command(remitBin, "serve", "--addr", "127.0.0.1:0")
	cmd.Dir, cmd.Env, cmd.Stderr = s.root, environment(s.env...), slave
	s.check(errors.Join(cmd.Start(), slave.Close()))
	screen := bufio.NewScanner(master)
	for screen.Scan() && !strings.HasPrefix(screen.Text(), "Console: ") {
		continue
	}
	link := regexp.MustCompile(`^Console: http://\S+/console/login\?token=\S+ \(valid once`)
	if !link.MatchString(screen.Text()) {
		t.Errorf("at a terminal: %q, error %v", screen.Text(), screen.Err())
	}
	s.check(cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
}

// TestConsoleLink checks that a link works for one sign-in only.
func TestConsoleLink(t *testing.T) {
	s := newWorkspace(t, nil)
	w := s.serve()
	link := w.signInLink()
	jar, err := cookiejar.New(nil)
	s.check(err)
	person := &http.Client{Jar: jar}
	for i, want := range []int{200, 403} {
		client := person
		if i > 0 {
			client = &http.Client{}
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, http.NoBody)
		s.check(err)
		r.Header.Set("Accept", "text/html")
		got, err := send(client, r)
		if s.check(err); got.status != want && (want != 403 || got.status != 401) {
			t.Errorf("use %d of the link: %d %s", i+1, got.status, clip(got.body))
		}
	}
	for path, want := range map[string]int{"/": 200, "/console/settings": 200, "/console/approvals": 200} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+path, http.NoBody)
		s.check(err)
		if got, err := send(person, r); err != nil || got.status != want {
			t.Errorf("%s: %d %v", path, got.status, err)
		}
	}
	w.end()
}
