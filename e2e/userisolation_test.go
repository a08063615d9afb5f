package e2e

import (
	"net/http"
	"os"
	"strings"
	"testing"
)

// TestUserIsolation checks that a token of one user does not see what the agents of other users
// searched, read or changed.
func TestUserIsolation(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, map[string]string{"docs/pay.md": "# Pay\n\nHow pay is computed.\n"})
	ada := s.token("--name", "ada-agent", "--scopes", "*:read,*:write", "--user", "ada")
	bob := s.token("--name", "bob-agent", "--scopes", "*:read,*:write", "--user", "bob")
	all := s.token("--name", "watcher", "--scopes", "*:read", "--user", "*")
	w := s.serve("--rate-limits", "off")
	const secret = "private question about zebrafish"
	for tool, args := range map[string]string{"context_search": `{"query":"` + secret + `"}`, "read_file": `{"path":"docs/pay.md"}`, "add_task": `{"title":"zebrafish"}`} {
		if got := w.post("/tools/"+tool, args, bearer(bob)); got.status != http.StatusOK {
			t.Fatalf("%s: %d %s", tool, got.status, got.body)
		}
	}
	recent := func(token string) string {
		header := modernHeaders("resources/read", "context://sessions/recent")
		header.Set("Authorization", "Bearer "+token)
		return string(w.post("/mcp", requestLine("1", "resources/read", modernParams(`"uri":"context://sessions/recent"`, `{}`)), header).body)
	}
	for name, one := range map[string]struct {
		token string
		sees  bool
	}{"bob": {bob, true}, "ada": {ada, false}, "a token for all users": {all, true}} {
		if text := recent(one.token); strings.Contains(text, "zebrafish") != one.sees || !strings.Contains(text, "Recent sessions") {
			t.Errorf("%s got these sessions:\n%s", name, text)
		}
	}
	if got := w.post("/tools/context_search", `{"query":"zebrafish","limit":20}`, bearer(ada)); strings.Contains(strings.ReplaceAll(string(got.body), `"query":"zebrafish"`, ""), "zebrafish") {
		t.Errorf("ada found %s", got.body)
	}
	header := modernHeaders("completion/complete", "")
	header.Set("Authorization", "Bearer "+ada)
	params := modernParams(`"ref":{"type":"ref/resource","uri":"tasks://{user_id}"},"argument":{"name":"user_id","value":""}`, `{}`)
	if got := w.post("/mcp", requestLine("2", "completion/complete", params), header); strings.Contains(string(got.body), "bob") || !strings.Contains(string(got.body), `"values"`) {
		t.Errorf("the completion for ada is %s", got.body)
	}
	w.end()
}

// TestPrivateKeyIsHidden checks that no tool reads the TLS key, even if it is in the workspace.
func TestPrivateKeyIsHidden(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, map[string]string{"tls-secret": "PRIVATE", "cert": "PUBLIC"})
	call := func(tool, argument string) string {
		return s.remit("call", tool, argument, "--root", s.root, "--tls-cert", s.path("cert"), "--tls-key", s.path("tls-secret")).out
	}
	if got := call("read_file", "path=tls-secret"); !strings.Contains(got, "Permission denied") {
		t.Errorf("read: %s", got)
	}
	if got := call("grep_codebase", "pattern=PRIV[A]TE"); strings.Contains(got, "tls-secret") || !strings.Contains(got, `"matches"`) {
		t.Errorf("found: %s", got)
	}
}

// TestLoginLinkUsesServerAddress checks that a login link has the address of the server that serves
// this workspace, and the default address if no server runs.
func TestLoginLinkUsesServerAddress(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	link := func() string { return s.person("token", "link", "--root", s.root).out }
	if got := link(); !strings.HasPrefix(got, "http://127.0.0.1:8722/") {
		t.Errorf("before the server started: %s", got)
	}
	w := s.serve()
	if got := link(); !strings.HasPrefix(got, w.url+"/console/login?token=") {
		t.Errorf("the link is %s, but the server's address is %s", got, w.url)
	}
	w.end()
	if got := link(); !strings.HasPrefix(got, "http://127.0.0.1:8722/") {
		t.Errorf("after the server ended: %s", got)
	}
	if _, err := os.Stat(s.path("served")); err == nil {
		t.Error("the file with the server's address is still in the workspace")
	}
}
