package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// vendors are the command lines of those who make models.
var vendors = &npmFolder{path: "vendors"}

// vendor is one of them, in a home of its own.
type vendor struct {
	t       *testing.T
	program string // that Node runs
	node    string
	home    string
	project string
	web     *web
}

// newVendor needs Node 22 or later.
func newVendor(t *testing.T, program string) *vendor {
	t.Helper()
	vendors.ready(t)
	s := newSpace(t, nil)
	v := &vendor{t: t, program: vendors.program(t, program), node: node24(t), home: t.TempDir(), project: s.root, web: s.serve()}
	if out, err := v.command("--version").CombinedOutput(); err != nil {
		leaveOut(t, t.Name()+": it does not run here: "+clip(out))
	}
	return v
}

// command prepares a command line of the vendor in the project.
func (v *vendor) command(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	v.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, v.node, append([]string{v.program}, args...)...)
	cmd.Dir = v.project
	cmd.Env = []string{
		"PATH=" + filepath.Dir(v.node) + string(filepath.ListSeparator) + os.Getenv("PATH"), "HOME=" + v.home, "NO_COLOR=1", noRaceSleep,
		"DISABLE_TELEMETRY=1", "MCP_TIMEOUT=" + milliseconds(patience), "DISABLE_AUTOUPDATER=1", "GEMINI_CLI_TRUST_WORKSPACE=true", "GEMINI_CLI_NO_RELAUNCH=true",
	}
	return cmd
}

// says runs a command line, which must succeed, and gives all that it prints.
func (v *vendor) says(args ...string) string {
	v.t.Helper()
	out, err := v.command(args...).CombinedOutput()
	if err != nil {
		v.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// milliseconds is a time as the settings of clients have it. Each gives up on a server after
// seconds of its own choice, which a busy machine may need to start a program, unless it is
// told to wait for longer.
func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// connected fails the test unless the list says that both servers are connected.
func (v *vendor) connected() {
	v.t.Helper()
	list := v.says("mcp", "list")
	if missing := v.missingFrom(list); missing != nil {
		v.t.Fatalf("%q are not connected:\n%s", missing, list)
	}
	note(v.t, "%s: connected over stdio and HTTP", v.t.Name())
}

// missingFrom gives the servers that a list does not call connected.
func (v *vendor) missingFrom(list string) (missing []string) {
	for _, server := range []string{remitBin + " stdio", v.web.url + "/mcp"} {
		if !slices.ContainsFunc(strings.Split(list, "\n"), func(line string) bool {
			return strings.Contains(line, server) && strings.HasSuffix(strings.TrimSpace(line), "Connected")
		}) {
			missing = append(missing, server)
		}
	}
	return missing
}

func TestClaudeCode(t *testing.T) {
	t.Parallel()
	v := newVendor(t, "@anthropic-ai/claude-code/cli-wrapper.cjs")
	v.says("mcp", "add", "remit", "--", remitBin, "stdio", "--root", v.project)
	v.says("mcp", "add", "--transport", "http", "remit-web", v.web.url+"/mcp")
	v.connected()
}

func TestGeminiCLI(t *testing.T) {
	t.Parallel()
	v := newVendor(t, "@google/gemini-cli/bundle/gemini.js")
	v.says("mcp", "add", "--timeout", milliseconds(patience), "remit", remitBin, "stdio", "--root", v.project)
	v.says("mcp", "add", "--timeout", milliseconds(patience), "--transport", "http", "remit-web", v.web.url+"/mcp")
	v.connected()
}

// Codex does not connect to list, but the server within it does.
func TestCodex(t *testing.T) {
	t.Parallel()
	v := newVendor(t, "@openai/codex/bin/codex.js")
	v.says("mcp", "add", "remit", "--", remitBin, "stdio", "--root", v.project)
	v.says("mcp", "add", "remit-web", "--url", v.web.url+"/mcp")
	v.serversConnected()
}

// serversConnected fails the test unless the server within Codex has the tools of both.
func (v *vendor) serversConnected() {
	v.t.Helper()
	absent := func(s codexStatus) bool { return s.ServerInfo.Name != "remit" || s.Tools["hello"] == nil }
	if status := v.statusOfServers(); slices.ContainsFunc(status, absent) {
		v.t.Fatalf("not both are connected: %+v", status)
	}
	note(v.t, "%s: connected over stdio and HTTP", v.t.Name())
}

// codexStatus is what Codex tells of a server.
type codexStatus struct {
	Name       string
	ServerInfo struct{ Name string }
	Tools      map[string]json.RawMessage
}

func (v *vendor) statusOfServers() []codexStatus {
	v.t.Helper()
	long := "startup_timeout_sec=" + strconv.Itoa(int(patience.Seconds()))
	cmd := v.command("-c", "mcp_servers.remit."+long, "-c", "mcp_servers.remit-web."+long, "app-server")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		v.t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		v.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		v.t.Fatal(err)
	}
	defer func() {
		stdin.Close()
		_ = cmd.Wait() // how it ends is not our affair
	}()
	lines := `{"id":1,"method":"initialize","params":{"clientInfo":{"name":"remit-e2e","title":"e2e","version":"1"}}}` + "\n" +
		`{"method":"initialized"}` + "\n" + `{"id":2,"method":"mcpServerStatus/list","params":{}}` + "\n"
	if _, err := stdin.Write([]byte(lines)); err != nil {
		v.t.Fatal(err)
	}
	reader := bufio.NewReader(stdout)
	for {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			v.t.Fatalf("it says nothing of its servers: %v", err)
		}
		var m struct {
			ID     int
			Result struct{ Data []codexStatus }
		}
		if json.Unmarshal(line, &m) == nil && m.ID == 2 {
			if len(m.Result.Data) != 2 {
				v.t.Fatalf("%d servers, want 2: %s", len(m.Result.Data), clip(line))
			}
			return m.Result.Data
		}
	}
}
