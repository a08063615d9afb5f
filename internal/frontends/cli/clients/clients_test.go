package clients

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func unset(string) (string, bool) { return "", false }

func TestPlaces(t *testing.T) {
	linux := System{OS: "linux", Home: "/home/ada", Env: unset}
	moved := System{OS: "linux", Home: "/home/ada", Env: func(name string) (string, bool) { return "/moved/" + name, true }}
	mac := System{OS: "darwin", Home: "/Users/ada", Env: unset}
	windows := System{OS: "windows", Home: `C:\Users\ada`, Env: unset}
	for name, want := range map[string][4]string{
		"claude-code":    {"/home/ada/.claude.json", "/moved/CLAUDE_CONFIG_DIR/.claude.json", "/Users/ada/.claude.json", `C:\Users\ada\.claude.json`},
		"claude-desktop": {"/home/ada/.config/Claude/claude_desktop_config.json", "/moved/XDG_CONFIG_HOME/Claude/claude_desktop_config.json", "/Users/ada/Library/Application Support/Claude/claude_desktop_config.json", `C:\Users\ada\AppData\Roaming\Claude\claude_desktop_config.json`},
		"cursor":         {"/home/ada/.cursor/mcp.json", "/home/ada/.cursor/mcp.json", "/Users/ada/.cursor/mcp.json", `C:\Users\ada\.cursor\mcp.json`},
		"vscode":         {"/home/ada/.config/Code/User/mcp.json", "/moved/XDG_CONFIG_HOME/Code/User/mcp.json", "/Users/ada/Library/Application Support/Code/User/mcp.json", `C:\Users\ada\AppData\Roaming\Code\User\mcp.json`},
		"windsurf":       {"/home/ada/.codeium/windsurf/mcp_config.json", "/home/ada/.codeium/windsurf/mcp_config.json", "/Users/ada/.codeium/windsurf/mcp_config.json", `C:\Users\ada\.codeium\windsurf\mcp_config.json`},
		"codex":          {"/home/ada/.codex/config.toml", "/moved/CODEX_HOME/config.toml", "/Users/ada/.codex/config.toml", `C:\Users\ada\.codex\config.toml`},
		"gemini":         {"/home/ada/.gemini/settings.json", "/home/ada/.gemini/settings.json", "/Users/ada/.gemini/settings.json", `C:\Users\ada\.gemini\settings.json`},
		"zed":            {"/home/ada/.config/zed/settings.json", "/moved/XDG_CONFIG_HOME/zed/settings.json", "/Users/ada/.config/zed/settings.json", `C:\Users\ada\AppData\Roaming\Zed\settings.json`},
	} {
		c := Find(name)
		if got := [4]string{c.File(linux), c.File(moved), c.File(mac), c.File(windows)}; got != want {
			t.Errorf("%s: -want +got\n%s", name, cmp.Diff(want, got))
		}
	}
	if len(Names()) != 8 || Find("emacs") != nil {
		t.Errorf("the clients are %v", Names())
	}
}

func TestSystemOf(t *testing.T) {
	if _, err := NewSystem("linux", unset); err == nil || !strings.Contains(err.Error(), "HOME is not set") {
		t.Errorf("no home is %v", err)
	}
	if s, err := NewSystem("linux", func(string) (string, bool) { return "/home/ada", true }); err != nil || s.Home != "/home/ada" {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestTokens checks that the token itself is written only to files of clients that need it there,
// and never to a link or a command.
func TestTokens(t *testing.T) {
	s := Server{Name: "remit", URL: "https://remit.example/mcp", TokenEnv: "REMIT_TOKEN", Token: "s3cret"}
	for _, c := range All() {
		snippet, err := c.Snippet(s)
		if c.Name == "claude-desktop" {
			if err == nil || c.Command(s) != "" || len(c.Links(s)) > 0 {
				t.Errorf("%s accepts a URL: %s", c.Name, snippet)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
		if strings.Contains(snippet, "s3cret") != c.NeedsToken(s) || !c.NeedsToken(s) && !strings.Contains(snippet, "REMIT_TOKEN") {
			t.Errorf("%s: the token is not written as expected: %s", c.Name, snippet)
		}
		shown := c.Command(s)
		for _, link := range c.Links(s) {
			shown += link.URL
		}
		if strings.Contains(shown, "s3cret") {
			t.Errorf("%s shows the token: %s", c.Name, shown)
		}
	}
}

// TestLinks checks that a link carries the same entry as the file.
func TestLinks(t *testing.T) {
	for _, s := range []Server{ours, {Name: "remit", URL: "http://127.0.0.1:8722/mcp?a=b&c=+"}} {
		for _, name := range []string{"cursor", "vscode"} {
			c := Find(name)
			text, err := c.Snippet(s)
			if err != nil {
				t.Fatal(err)
			}
			var file map[string]map[string]map[string]any
			if err := json.Unmarshal([]byte(text), &file); err != nil {
				t.Fatal(err)
			}
			want := file[c.in.(jsonFile).key]["remit"]
			if len(c.Links(s)) == 0 {
				t.Errorf("%s has no links", name)
			}
			for _, link := range c.Links(s) {
				got := carried(t, link.URL)
				delete(got, "name")
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: -want +got\n%s", link.URL, diff)
				}
			}
		}
	}
}

// carried decodes a link the way that the clients do.
func carried(t *testing.T, link string) map[string]any {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	text, err := url.PathUnescape(u.RawQuery)
	if u.Query().Get("config") != "" {
		if u.Query().Get("name") != "remit" {
			t.Errorf("%s: the name is %q", link, u.Query().Get("name"))
		}
		text = u.Query().Get("config")
	}
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := base64.StdEncoding.DecodeString(text); err == nil {
		text = string(plain)
	}
	var entry map[string]any
	if err := json.Unmarshal([]byte(text), &entry); err != nil {
		t.Fatalf("%s: %v", link, err)
	}
	return entry
}

func TestCommands(t *testing.T) {
	remote := Server{Name: "remit", URL: "http://127.0.0.1:8722/mcp", TokenEnv: "T"}
	for name, want := range map[string][2]string{
		"claude-code": {`claude mcp add --scope user remit -- /opt/remit stdio --root '/home/ada/a b'`, `claude mcp add --scope user --transport http remit http://127.0.0.1:8722/mcp --header 'Authorization: Bearer ${T}'`},
		"codex":       {`codex mcp add remit -- /opt/remit stdio --root '/home/ada/a b'`, `codex mcp add remit --url http://127.0.0.1:8722/mcp --bearer-token-env-var T`},
		"gemini":      {`gemini mcp add --scope user remit /opt/remit stdio --root '/home/ada/a b'`, `gemini mcp add --scope user --transport http --header 'Authorization: Bearer ${T}' remit http://127.0.0.1:8722/mcp`},
		"vscode":      {`code --add-mcp '{"name":"remit","type":"stdio","command":"/opt/remit","args":["stdio","--root","/home/ada/a b"]}'`, `code --add-mcp '{"name":"remit","type":"http","url":"http://127.0.0.1:8722/mcp","headers":{"Authorization":"Bearer ${env:T}"}}'`},
		"zed":         {"", ""},
	} {
		c := Find(name)
		if got := [2]string{c.Command(ours), c.Command(remote)}; got != want {
			t.Errorf("%s: -want +got\n%s", name, cmp.Diff(want, got))
		}
	}
}

func TestInvalidServers(t *testing.T) {
	for _, s := range []Server{{Name: "a b", Command: "/x"}, {Name: "", Command: "/x"}, {Name: "remit", Command: "/x\xff"}, {Name: "remit", Command: "/x", Args: []string{"a\nb"}}} {
		for _, c := range All() {
			if text, err := c.Snippet(s); err == nil {
				t.Errorf("%s accepts %+v: %s", c.Name, s, text)
			}
		}
	}
}
