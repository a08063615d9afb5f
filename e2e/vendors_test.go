package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// vendors is the folder with the command line clients of model vendors.
var vendors = &npmFolder{path: "vendors"}

// vendor is a vendor's client with its own home folder.
type vendor struct {
	t          *testing.T
	program    string // the script that Node runs
	node       string
	home       string
	project    string
	httpServer *httpServer
}

// newVendor prepares a client. It needs Node 22 or later.
func newVendor(t *testing.T, program string) *vendor {
	t.Helper()
	vendors.ready(t)
	s := newWorkspace(t, nil)
	v := &vendor{t: t, program: vendors.program(t, program), node: node24(t), home: t.TempDir(), project: s.root, httpServer: s.serve()}
	if fault := v.runsHere(); fault != "" {
		skipOutsideCI(t, t.Name()+": it does not run here: "+fault)
	}
	return v
}

// vendorFaults has the output of each client that does not run here, "" for one that does.
var vendorFaults struct {
	sync.Mutex
	of map[string]string
}

// runsHere tries once for all tests whether the client runs, and returns its output if it does not.
func (v *vendor) runsHere() (fault string) {
	vendorFaults.Lock()
	defer vendorFaults.Unlock()
	fault, known := vendorFaults.of[v.program]
	if known {
		return fault
	}
	if out, err := v.command("--version").CombinedOutput(); err != nil {
		fault = fmt.Sprintf("%v: %s", err, clip(out))
	}
	if vendorFaults.of == nil {
		vendorFaults.of = map[string]string{}
	}
	vendorFaults.of[v.program] = fault
	return fault
}

// command returns a command of the client, in the project folder.
func (v *vendor) command(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	v.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, v.node, append([]string{v.program}, args...)...)
	cmd.Dir = v.project
	cmd.Env = []string{
		"PATH=" + filepath.Dir(v.node) + string(filepath.ListSeparator) + os.Getenv("PATH"), "HOME=" + v.home, "NO_COLOR=1", noRaceSleep,
		"DISABLE_TELEMETRY=1", "MCP_TIMEOUT=" + milliseconds(timeout), "DISABLE_AUTOUPDATER=1", "GEMINI_CLI_TRUST_WORKSPACE=true", "GEMINI_CLI_NO_RELAUNCH=true",
	}
	return cmd
}

// output runs a command of the client, which must succeed, and returns its output.
func (v *vendor) output(args ...string) string {
	v.t.Helper()
	out, err := v.command(args...).CombinedOutput()
	if err != nil {
		v.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// milliseconds formats a duration for the clients' settings. The tests set a long timeout, because
// by default each client gives up on a server after a few seconds, and a busy machine may need
// longer to start a program.
func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// checkConnected fails the test unless the client's list says that both servers are connected.
func (v *vendor) checkConnected() {
	v.t.Helper()
	list := v.output("mcp", "list")
	if missing := v.missingFrom(list); missing != nil {
		v.t.Fatalf("%q are not connected:\n%s", missing, list)
	}
	note(v.t, "%s: connected over stdio and HTTP", v.t.Name())
}

// missingFrom returns the servers that are not connected according to a list.
func (v *vendor) missingFrom(list string) (missing []string) {
	for _, server := range []string{remitBin + " stdio", v.httpServer.url + "/mcp"} {
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
	v.output("mcp", "add", "remit", "--", remitBin, "stdio", "--root", v.project)
	v.output("mcp", "add", "--transport", "http", "remit-web", v.httpServer.url+"/mcp")
	v.checkConnected()
}

func TestGeminiCLI(t *testing.T) {
	t.Parallel()
	v := newVendor(t, "@google/gemini-cli/bundle/gemini.js")
	v.output("mcp", "add", "--timeout", milliseconds(timeout), "remit", remitBin, "stdio", "--root", v.project)
	v.output("mcp", "add", "--timeout", milliseconds(timeout), "--transport", "http", "remit-web", v.httpServer.url+"/mcp")
	v.checkConnected()
}

// "codex mcp list" does not connect to servers, but Codex's app server does.
func TestCodex(t *testing.T) {
	t.Parallel()
	v := newVendor(t, "@openai/codex/bin/codex.js")
	v.output("mcp", "add", "remit", "--", remitBin, "stdio", "--root", v.project)
	v.output("mcp", "add", "remit-web", "--url", v.httpServer.url+"/mcp")
	v.checkAppServer()
}

// checkAppServer fails the test unless Codex's app server has the tools of both servers.
func (v *vendor) checkAppServer() {
	v.t.Helper()
	absent := func(s codexStatus) bool { return s.ServerInfo.Name != "remit" || s.Tools["hello"] == nil }
	if status := v.serverStatuses(); slices.ContainsFunc(status, absent) {
		v.t.Fatalf("a server is not connected: %+v", status)
	}
	note(v.t, "%s: connected over stdio and HTTP", v.t.Name())
}

// codexStatus is what Codex reports about a server.
type codexStatus struct {
	Name       string
	ServerInfo struct{ Name string }
	Tools      map[string]json.RawMessage
}

func (v *vendor) serverStatuses() []codexStatus {
	v.t.Helper()
	long := "startup_timeout_sec=" + strconv.Itoa(int(timeout.Seconds()))
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
		_ = cmd.Wait() // the exit code of Codex does not matter
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
			v.t.Fatalf("Codex does not report its servers: %v", err)
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
