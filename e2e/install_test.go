package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// helloLine is a tool call as an agent sends it.
const helloLine = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hello","arguments":{"name":"Ada"}}}` + "\n"

// clientFiles are settings files of clients on Linux with other servers and everything that their
// format allows.
var clientFiles = []struct{ client, file, text string }{
	{"claude-code", ".claude.json", "{\n  \"numStartups\": 3,\n  \"mcpServers\": {\n    \"files\": {\n      \"type\": \"stdio\",\n      \"command\": \"true\",\n      \"args\": []\n    }\n  },\n  \"projects\": {}\n}"},
	{"claude-desktop", ".config/Claude/claude_desktop_config.json", "{\"globalShortcut\": \"\", \"mcpServers\": {\"files\": {\"command\": \"true\"}}}\n"},
	{"cursor", ".cursor/mcp.json", "\ufeff{\r\n\t\"mcpServers\": {\r\n\t\t\"files\": {\"command\": \"true\"}\r\n\t}\r\n}\r\n"},
	{"vscode", ".config/Code/User/mcp.json", "// mine\n{\n    \"servers\": {\n        \"files\": {\"command\": \"true\"}, // keep\n    },\n    \"inputs\": [/* none */],\n}"},
	{"windsurf", ".codeium/windsurf/mcp_config.json", "{}"},
	{"codex", ".codex/config.toml", "model = \"o3\" # best\n\n[mcp_servers.files] # mine\ncommand = 'true'\n\n[tui]\nnotifications = true"},
	{"gemini", ".gemini/settings.json", "{\n  // night\n  \"ui\": {\"theme\": \"Dracula\"},\n  \"mcpServers\": {\"files\": {\"command\": \"true\"}}\n}\n"},
	{"zed", ".config/zed/settings.json", "// Zed settings\n//\n// see the docs\n{\n  \"theme\": \"One Dark\",\n  /* servers { */\n  \"context_servers\": {\n  },\n}\n"},
}

// cleanHome is a workspace and an empty home folder.
type cleanHome struct {
	*workspace
	home string
}

func newCleanHome(t *testing.T) *cleanHome {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the settings files are elsewhere on this system")
	}
	n := &cleanHome{workspace: newWorkspace(t, nil), home: t.TempDir()}
	n.env = []string{"HOME=" + n.home}
	return n
}

func (n *cleanHome) mustRun(args ...string) string {
	n.t.Helper()
	got := n.remit(args...)
	if got.code != 0 {
		n.t.Fatalf("remit %v: exit %d\n%s%s", args, got.code, got.out, got.errOut)
	}
	return got.out
}

// TestInstall checks for each client that the written command starts Remit, and that uninstall
// restores the file byte for byte.
func TestInstall(t *testing.T) {
	t.Parallel()
	for _, tc := range clientFiles {
		t.Run(tc.client, func(t *testing.T) {
			n := newCleanHome(t)
			file := filepath.Join(n.home, filepath.FromSlash(tc.file))
			n.mustRun("install", tc.client, "--user")
			command, args := serverCommand(t, file)
			cmd := exec.Command(command, args...)
			cmd.Dir, cmd.Env, cmd.Stdin = t.TempDir(), environment(), strings.NewReader(helloLine)
			if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("Hello, Ada!")) {
				t.Errorf("%v: %v\n%s", cmd.Args, err, out)
			}
			n.mustRun("uninstall", tc.client, "--user")
			if left, err := os.ReadDir(n.home); err != nil || len(left) > 0 {
				t.Errorf("files are left: %v, %v", left, err)
			}

			n.check(os.MkdirAll(filepath.Dir(file), 0o755))
			write(t, file, tc.text)
			n.mustRun("install", tc.client, "--user")
			if installed := read(t, file); installed == tc.text || !strings.Contains(installed, remitBin) {
				t.Errorf("the entry is missing: %s", installed)
			}
			n.mustRun("uninstall", tc.client, "--user")
			if diff := cmp.Diff(tc.text, read(t, file)); diff != "" {
				t.Errorf("the file was not restored: %s", diff)
			}
		})
	}
}

// TestInstallTwoProjects connects four clients in two projects. Each server that a client starts,
// in the folder of a project or below, works on that project.
func TestInstallTwoProjects(t *testing.T) {
	t.Parallel()
	n := newCleanHome(t)
	n.env = append(n.env, "PATH="+filepath.Dir(remitBin)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	top := n.root
	for _, project := range []string{"one", "two"} {
		n.write(project+"/.git/HEAD", "ref: refs/heads/main\n")
		n.write(project+"/README.md", "This is "+project+".\n")
		n.write(project+"/src/x.go", "package x\n")
	}
	const read = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_repo_file","arguments":{"path":"README.md"}}}` + "\n"
	for client, file := range map[string]string{"claude-code": ".mcp.json", "codex": ".codex/config.toml", "gemini": ".gemini/settings.json", "vscode": ".vscode/mcp.json"} {
		for _, project := range []string{"one", "two"} {
			n.root = filepath.Join(top, project)
			n.mustRun("install", client)
			command, args := serverCommand(t, n.path(file))
			for _, folder := range []string{"", "src"} {
				cmd := exec.Command(command, args...)
				cmd.Path = remitBin // as the client finds it on the PATH
				cmd.Err = nil
				cmd.Dir, cmd.Env, cmd.Stdin = n.path(folder), environment(n.env...), strings.NewReader(read)
				if out, err := cmd.CombinedOutput(); err != nil || command != "remit" || !bytes.Contains(out, []byte("This is "+project)) {
					t.Errorf("%s in %s/%s: %v: %v\n%s", client, project, folder, cmd.Args, err, out)
				}
			}
		}
	}
}

// serverCommand reads the single server entry of a settings file, like its client.
func serverCommand(t *testing.T, file string) (string, []string) {
	t.Helper()
	text := read(t, file)
	var entry struct {
		Command string
		Args    []string
	}
	if strings.HasSuffix(file, ".toml") {
		found := regexp.MustCompile(`^\[mcp_servers\.remit\]\ncommand = (".*")\nargs = (\[.*\])\n$`).FindStringSubmatch(text)
		if found == nil {
			t.Fatalf("unexpected content: %s", text)
		}
		text = `{"s": {"remit": {"command": ` + found[1] + `, "args": ` + found[2] + `}}}`
	}
	var whole map[string]map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &whole); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, servers := range whole {
		if err := json.Unmarshal(servers["remit"], &entry); err != nil {
			t.Fatal(err)
		}
	}
	return entry.Command, entry.Args
}

// TestConcurrentInstalls checks that each of several concurrent installs sees a complete file, and
// that each one either succeeds or reports an error.
func TestConcurrentInstalls(t *testing.T) {
	t.Parallel()
	n := newCleanHome(t)
	file := filepath.Join(n.home, ".cursor", "mcp.json")
	n.check(os.MkdirAll(filepath.Dir(file), 0o755))
	write(t, file, "{}")
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	done := make(chan string)
	for _, name := range names {
		go func() {
			cmd := exec.Command(remitBin, "install", "cursor", "--user", "--name", name, "--root", n.root)
			cmd.Env = environment(n.env...)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			switch {
			case err == nil:
				done <- name
			case errors.As(err, &exit) && (bytes.Contains(out, []byte("is locked")) || bytes.Contains(out, []byte("changed by another program"))):
				done <- ""
			default:
				done <- string(out)
			}
		}()
	}
	want := map[string]bool{}
	for range names {
		if name := <-done; len(name) > 1 {
			t.Error(name)
		} else if name != "" {
			want[name] = true
		}
	}
	var got struct{ McpServers map[string]any }
	n.check(json.Unmarshal([]byte(read(t, file)), &got))
	if len(want) == 0 || len(got.McpServers) != len(want) {
		t.Errorf("%v reported success, but the file contains %v", want, got.McpServers)
	}
}

// checkInstall installs Remit in the settings file of a client, over stdio and HTTP, next to
// existing entries. It runs check and then removes the entries again, which must restore the file.
func (v *vendor) checkInstall(client, file string, check func()) {
	v.t.Helper()
	path := filepath.Join(v.home, filepath.FromSlash(file))
	before := read(v.t, path)
	for _, args := range [][]string{{}, {"--name", "remit-web", "--url", v.httpServer.url + "/mcp"}} {
		v.remit(append([]string{"install", client, "--user", "--root", v.project}, args...)...)
	}
	check()
	v.remit("uninstall", client, "--user", "--name", "remit-web")
	v.remit("uninstall", client, "--user")
	if diff := cmp.Diff(before, read(v.t, path)); diff != "" {
		v.t.Errorf("the file was not restored: %s", diff)
	}
}

// remit runs Remit in the vendor's home folder.
func (v *vendor) remit(args ...string) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, remitBin, args...)
	cmd.Dir, cmd.Env = v.project, environment("HOME="+v.home)
	if out, err := cmd.CombinedOutput(); err != nil {
		v.t.Fatalf("remit %v: %v\n%s", args, err, out)
	}
}

// writeSettings writes the existing settings file of a client.
func (v *vendor) writeSettings(file string) {
	v.t.Helper()
	for _, tc := range clientFiles {
		if tc.file == file {
			path := filepath.Join(v.home, filepath.FromSlash(file))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				v.t.Fatal(err)
			}
			write(v.t, path, tc.text)
		}
	}
}

// Claude Code changes its file whenever it runs, so it runs once before.
func TestInstallClaudeCode(t *testing.T) {
	t.Parallel()
	v := newVendor(t, "@anthropic-ai/claude-code/cli-wrapper.cjs")
	v.writeSettings(".claude.json")
	v.output("mcp", "list")
	v.checkInstall("claude-code", ".claude.json", v.checkConnected)
}

func TestInstallGemini(t *testing.T) {
	t.Parallel()
	v := newVendor(t, "@google/gemini-cli/bundle/gemini.js")
	v.writeSettings(".gemini/settings.json")
	v.output("mcp", "list")
	v.checkInstall("gemini", ".gemini/settings.json", v.checkConnected)
}

// "codex mcp list" does not connect to servers, but Codex's app server does.
func TestInstallCodex(t *testing.T) {
	t.Parallel()
	v := newVendor(t, "@openai/codex/bin/codex.js")
	v.writeSettings(".codex/config.toml")
	v.checkInstall("codex", ".codex/config.toml", func() {
		for _, line := range []string{"files ", remitBin + "  stdio --root " + v.project, v.httpServer.url + "/mcp"} {
			if list := v.output("mcp", "list"); !strings.Contains(list, line) {
				t.Errorf("%s is not listed: %s", line, list)
			}
		}
	})
	write(t, filepath.Join(v.home, ".codex", "config.toml"), "model = \"o3\" # best\n\n[tui]\nnotifications = true")
	v.checkInstall("codex", ".codex/config.toml", v.checkAppServer)
}
