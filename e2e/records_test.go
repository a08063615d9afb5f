package e2e

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// recorded is an audit record.
type recorded struct {
	Principal, Frontend, Session, Tool, Outcome string
	Arguments                                   map[string]any
}

// records returns the audit records, newest first.
func (s *workspace) records() (list []recorded) {
	s.t.Helper()
	got := s.remit("audit", "list", "--json", "--limit", "500", "--root", s.root)
	if err := json.Unmarshal([]byte(got.out), &list); err != nil {
		s.t.Fatalf("audit list: exit %d, %v\n%s%s", got.code, err, got.out, got.errOut)
	}
	return list
}

// TestDecisionsOfPeopleAreRecorded walks through everything that gives or takes rights, and checks
// that each act is recorded with who did it, how, and from where.
func TestDecisionsOfPeopleAreRecorded(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, map[string]string{"remit.yaml": "rate_limits: off\n"})
	s.runWith(func(cmd *exec.Cmd) (string, error) { return runAtTerminal(cmd, "n") }, []string{"trust"})
	s.person("trust")
	w := s.serve()
	secret := s.token("--name", "ci", "--scopes", "tasks:read", "--user", "ada")
	s.personToken("--name", "bot", "--role", "approver")
	link := w.signInLink()
	for _, address := range []string{link, link, w.url + "/console/login?token=x.y"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
		s.check(err)
		got, err := send(&http.Client{CheckRedirect: noRedirect}, r)
		s.check(err)
		if cookie, err := http.ParseSetCookie(got.header.Get("Set-Cookie")); err == nil {
			w.submit("/console/logout", "", http.Header{"Cookie": {cookie.Name + "=" + cookie.Value}})
		}
	}
	w.get("/tools", bearer("remit_wrong"))
	w.get("/tools", http.Header{"Origin": {"https://evil.example"}})
	s.remit("token", "revoke", "ci")
	w.get("/tools", bearer(secret))
	s.remit("token", "signout", "--all")
	s.remit("trust", "--revoke")
	w.kill()
	all := s.records()
	for _, want := range []struct {
		tool, outcome, principal, frontend, arguments string
		count                                         int
	}{
		{"trust/decline", "ok", "cli:", "cli", `"entries":[{"key":"rate_limits","value":"off"}]`, 1},
		{"trust/accept", "ok", "cli:", "cli", `"entries":[{"key":"rate_limits","value":"off"}]`, 1},
		{"trust/revoke", "ok", "cli:", "cli", `"file":"remit.yaml"`, 1},
		{"token/create", "ok", "cli:", "cli", `"name":"ci"`, 1},
		{"token/create", "ok", "cli:", "cli", `"role":"approver"`, 1},
		{"token/link", "ok", "cli:", "cli", `"role":"admin"`, 1},
		{"token/revoke", "ok", "cli:", "cli", `"name":"ci"`, 1},
		{"token/signout", "ok", "cli:", "cli", `"name":"*"`, 1},
		{"console/sign_in", "ok", "console:", "console", `"address":"127.0.0.1"`, 1},
		{"console/sign_in", "denied", "", "console", `"address":"127.0.0.1"`, 2},
		{"console/sign_in", "denied", "", "console", `used already`, 1},
		{"console/sign_out", "ok", "console:", "console", `"address":"127.0.0.1"`, 1},
		{"auth/token", "denied", "", "http", `"address":"127.0.0.1"`, 2},
		{"auth/request", "denied", "", "http", `"address":"127.0.0.1"`, 1},
	} {
		n := 0
		for _, r := range all {
			args, err := json.Marshal(r.Arguments)
			s.check(err)
			if r.Tool == want.tool && r.Outcome == want.outcome && strings.HasPrefix(r.Principal, want.principal) &&
				r.Frontend == want.frontend && strings.Contains(string(args), want.arguments) {
				n++
			}
		}
		if n != want.count {
			t.Errorf("%d records like %+v", n, want)
		}
	}
	if t.Failed() {
		t.Logf("records: %+v", all)
	}
	s.verifyAudit()
}

// TestSessionsAndSecretsInRecords checks that records and log lines name the session of a call, and
// that neither contains a credential of a path, an argument, a name or an error.
func TestSessionsAndSecretsInRecords(t *testing.T) {
	t.Parallel()
	const random = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5kL7nP9r"
	s := newWorkspace(t, nil)
	w := s.serve("--log-level", "debug")
	begun := w.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+legacyVersion+
		`","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, nil)
	session := http.Header{"Mcp-Session-Id": begun.header["Mcp-Session-Id"], "Mcp-Protocol-Version": {legacyVersion}}
	secrets := []string{
		"docs/ghp_" + random[:36] + "/a.md", "postgres://app:" + random + "@db/app", "xoxb-2147483647-" + random, "AKIAIOSFODNN7EXAMPLE",
		"remit_" + random, "remit_p_" + random, "-----BEGIN PRIVATE KEY-----\n" + random, "Authorization: Bearer " + random,
	}
	for _, secret := range secrets {
		text, err := json.Marshal(secret)
		s.check(err)
		for _, call := range []string{
			`{"name":"read_file","arguments":{"path":` + string(text) + `}}`,
			`{"name":"hello","arguments":{"name":` + string(text) + `,` + string(text) + `:1}}`,
			`{"name":` + string(text) + `,"arguments":{}}`,
		} {
			w.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+call+`}`, session)
		}
		w.get("/tools/"+strings.ReplaceAll(strings.ReplaceAll(secret, "\n", "%0A"), " ", "%20"), bearer(secret[:5]+random))
	}
	s.check(w.cmd.Process.Signal(syscall.SIGTERM)) // it writes what is left
	<-w.exit
	named := 0
	for _, r := range s.records() {
		if r.Session != "" {
			named++
		}
	}
	if named < 2*len(secrets) {
		t.Errorf("%d records name a session", named)
	}
	log := w.stderr.String()
	if !regexp.MustCompile(`tool=\S+read_file .*session=\S+`).MatchString(log) {
		t.Errorf("no line names the session:\n%s", clip(log))
	}
	raw := s.remit("audit", "list", "--json", "--limit", "500", "--root", s.root).out
	for name, text := range map[string]string{"the log": log, "a record": raw} {
		for _, part := range []string{random, random[:30], "AKIAIOSFODNN7EXAMPLE"} {
			if at := strings.Index(text, part); at >= 0 {
				t.Errorf("%s contains a credential: %s", name, text[max(0, at-200):min(len(text), at+60)])
			}
		}
	}
}
