package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"remit/internal/app"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/approval"
	"remit/internal/frontends/cli"
)

// frontend is one way for a call to reach the engine.
type frontend struct {
	name string
	// open opens the workspace s for calls to a toolset, until the test ends.
	open func(t *testing.T, s *workspace, set, mode string) callFunc
	// waitsForTasks says that the front end waits for an MCP task to finish. Examples of a tool
	// that always runs as a task are for clients without task support.
	waitsForTasks bool
}

// callFunc calls a tool in an open workspace and returns the body of the answer.
type callFunc func(t *testing.T, tool string, args []byte) toolResult

// frontends are all front ends. To add one, write one line here and one function. The others are
// compared with the first one.
var frontends = []frontend{
	inProcess,
	{"stdio", overStdio, false},
	onCommandLine,
	{"http", overHTTP, true},
	{"stdio, modern", overModernStdio, false},
	{"MCP over HTTP", overMCP, false},
	{"MCP over HTTP, modern", overModernMCP, false},
}

// onCommandLine is the front end that opens the workspace for each call.
var onCommandLine = frontend{"call", overCommandLine, true}

// inProcess calls the engine directly.
var inProcess = frontend{"engine", onEngine, false}

// program runs app.Main in the test process.
func program(t *testing.T, s *workspace, stdin string, args ...string) outcome {
	t.Helper()
	var out, errOut bytes.Buffer
	code := app.Main(append(args, s.flags()...), s.lookupEnv, strings.NewReader(stdin), &out, &errOut)
	return outcome{code, out.String(), errOut.String()}
}

// stdioInProcess is "remit stdio" in the test process.
type stdioInProcess struct {
	workspace *workspace
	in        io.Writer
	out       *bufio.Reader
	last      int // id of the last request
}

// openStdio starts it. It must exit with code 0 and without unexpected log lines when the test
// ends.
func openStdio(t *testing.T, s *workspace, set, mode string) *stdioInProcess {
	t.Helper()
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	var errOut syncBuffer
	ended := make(chan int, 1)
	go func() {
		code := app.Main(append([]string{"stdio", "--toolsets", set, "--approve", mode}, s.flags()...), s.lookupEnv, stdin, stdout, &errOut)
		stdout.Close()
		ended <- code
	}()
	t.Cleanup(func() {
		in.Close()
		go func() { _, _ = io.Copy(io.Discard, out) }()
		if code := <-ended; code != 0 || unexpectedLog(errOut.String()) != "" {
			t.Errorf("exit %d: %s", code, &errOut)
		}
	})
	return &stdioInProcess{workspace: s, in: in, out: bufio.NewReader(out)}
}

// ask sends a request and returns its answer. It skips notifications that come before.
func (l *stdioInProcess) ask(t *testing.T, method, params string) message {
	t.Helper()
	l.last++
	id := fmt.Sprint(l.last)
	if _, err := io.WriteString(l.in, requestLine(id, method, params)+"\n"); err != nil {
		t.Fatal(err)
	}
	for {
		line, err := l.out.ReadBytes('\n')
		if err != nil {
			t.Fatalf("no answer: %v", err)
		}
		if m := readMessage(t, l.workspace.root, line); m.Method == "" && string(m.ID) == id {
			return m
		}
	}
}

func overStdio(t *testing.T, s *workspace, set, mode string) callFunc {
	t.Helper()
	l := openStdio(t, s, set, mode)
	return func(t *testing.T, tool string, args []byte) toolResult {
		t.Helper()
		return resultIn(t, s, l.ask(t, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args)))
	}
}

func overModernStdio(t *testing.T, s *workspace, set, mode string) callFunc {
	t.Helper()
	l := openStdio(t, s, set, mode)
	return func(t *testing.T, tool string, args []byte) toolResult {
		t.Helper()
		return resultIn(t, s, l.ask(t, "tools/call", modernParams(fmt.Sprintf(`"name":%q,"arguments":%s`, tool, args), `{}`)))
	}
}

// resultIn decodes the result of a call.
func resultIn(t *testing.T, s *workspace, m message) toolResult {
	t.Helper()
	if m.Error != nil && m.Error.Code == codeIncapable {
		return incapable
	}
	if content, ok := contentOf(m); ok && m.Error == nil {
		return content
	}
	return (&stdioServer{t: t, workspace: s}).result(m)
}

// codeIncapable is the error code of the modern era for a client without a capability that the tool
// needs. Other front ends report a tool error instead.
const codeIncapable = -32021

// incapable is the result for both forms of that error.
var incapable = toolResult{"null", true}

// contentOf returns the answer of a tool that returns content, in the form of other front ends.
func contentOf(m message) (toolResult, bool) {
	var got struct {
		Content    json.RawMessage `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
	}
	_ = json.Unmarshal(m.Result, &got) // a result that does not decode has no content
	return toolResult{fmt.Sprintf(`{"content":%s}`, got.Content), false}, got.Structured == nil && !got.IsError
}

func overCommandLine(_ *testing.T, s *workspace, set, mode string) callFunc {
	return func(t *testing.T, tool string, args []byte) toolResult {
		t.Helper()
		got := program(t, s, "", "call", tool, "--json", string(args), "--toolsets", set, "--approve", mode)
		if text := unexpectedLog(got.errOut); text != "" && !strings.HasPrefix(text, "(truncated: ") || !strings.HasSuffix(got.out, "}\n") && !strings.HasSuffix(got.out, "]\n") {
			t.Fatalf("exit %d: %s%s", got.code, got.out, got.errOut)
		}
		return toolResult{strings.TrimSuffix(got.out, "\n"), got.code != 0}
	}
}

func onEngine(t *testing.T, s *workspace, set, mode string) callFunc {
	t.Helper()
	// No server listens there; links are only compared.
	opened := openApp(t, s, set, mode, "127.0.0.1:8722")
	return func(t *testing.T, tool string, args []byte) toolResult {
		t.Helper()
		tree, err := jsontree.Parse(args)
		if err != nil {
			t.Fatal(err)
		}
		result, err := opened.Engine().Call(t.Context(), engine.Call{Tool: tool, Args: tree, Principal: cli.LocalPrincipal, Frontend: "test"})
		if err != nil {
			t.Fatal(err)
		}
		return toolResult{string(result.Body), result.Err != nil}
	}
}

// openApp opens the workspace as the program does, until the test ends.
func openApp(t *testing.T, s *workspace, set, mode, addr string) *app.App {
	t.Helper()
	data := filepath.Join(s.root, ".remit")
	database := s.database
	if database == "" {
		database = "sqlite://" + filepath.Join(data, "remit.db")
	}
	library := s.books
	if library == "" {
		library = "file://" + filepath.Join(data, "library")
	}
	opened, err := app.Open(t.Context(), cli.Settings{
		Root: s.root, Data: data, Books: []string{library}, Env: s.lookupEnv, Addr: addr, Toolsets: []string{set}, Approve: approval.Mode(mode), RateLimits: true,
		Database: database, Config: filepath.Join(s.root, "remit.yaml"), Keys: strings.TrimPrefix(keysFolder, "REMIT_KEYS="),
	}, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := opened.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return opened
}

// serveHTTP serves the workspace over HTTP until the test ends, and returns its URL.
func serveHTTP(t *testing.T, s *workspace, set, mode string) string {
	t.Helper()
	opened := openApp(t, s, set, mode, "127.0.0.1:0")
	ctx, stop := context.WithCancel(context.Background())
	address, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- opened.Serve(ctx, func(url string) { address <- url }) }()
	select {
	case url := <-address:
		t.Cleanup(func() {
			stop()
			if err := <-ended; err != nil {
				t.Errorf("serve: %v", err)
			}
		})
		return url
	case err := <-ended:
		stop()
		t.Fatalf("the server did not start: %v", err)
		return ""
	}
}

// postTo sends a POST request over a new connection.
func postTo(t *testing.T, url, body string, header http.Header) httpAnswer {
	t.Helper()
	r, err := newPost(t.Context(), url, body, header)
	return sendOnce(t, r, err)
}

// getFrom sends a GET request over a new connection.
func getFrom(t *testing.T, url string) httpAnswer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	return sendOnce(t, r, err)
}

// sendOnce sends a request over a new connection and returns the answer.
func sendOnce(t *testing.T, r *http.Request, err error) httpAnswer {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true
	answer, err := send(http.DefaultClient, r)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func overHTTP(t *testing.T, s *workspace, set, mode string) callFunc {
	t.Helper()
	url := serveHTTP(t, s, set, mode)
	return func(t *testing.T, tool string, args []byte) toolResult {
		t.Helper()
		got := postTo(t, url+"/tools/"+tool, string(args), nil)
		failed := got.status != http.StatusOK
		if outcome := got.header.Get("X-Remit-Outcome"); failed == (outcome == "ok") {
			t.Errorf("status %d with the outcome %q", got.status, outcome)
		}
		return toolResult{string(got.body), failed}
	}
}

func overMCP(t *testing.T, s *workspace, set, mode string) callFunc {
	t.Helper()
	const version = "2025-06-18" // its clients get the answer in the same request
	url := serveHTTP(t, s, set, mode) + "/mcp"
	hello := postTo(t, url, requestLine("1", "initialize", `{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}`), nil)
	header := http.Header{"Mcp-Protocol-Version": {version}, "Mcp-Session-Id": hello.header["Mcp-Session-Id"]}
	return func(t *testing.T, tool string, args []byte) toolResult {
		t.Helper()
		got := postTo(t, url, requestLine("2", "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args)), header)
		return resultIn(t, s, readMessage(t, s.root, append(got.body, '\n')))
	}
}

func overModernMCP(t *testing.T, s *workspace, set, mode string) callFunc {
	t.Helper()
	url := serveHTTP(t, s, set, mode) + "/mcp"
	return func(t *testing.T, tool string, args []byte) toolResult {
		t.Helper()
		header := modernHeaders("tools/call", tool)
		for name, value := range mirrored(t, set, tool, args) {
			header.Set("Mcp-Param-"+name, value)
		}
		params := modernParams(fmt.Sprintf(`"name":%q,"arguments":%s`, tool, args), `{}`)
		got := postTo(t, url, requestLine("1", "tools/call", params), header)
		return resultIn(t, s, readMessage(t, s.root, append(got.body, '\n')))
	}
}

// mirrored returns the arguments that a client must repeat in headers.
func mirrored(t *testing.T, set, tool string, args []byte) map[string]string {
	t.Helper()
	sets, err := allToolsets()
	if err != nil {
		t.Fatal(err)
	}
	var input struct {
		Properties map[string]struct {
			Header string `json:"x-mcp-header"`
		}
	}
	var given map[string]any
	for _, known := range sets {
		if c := known.Find(tool); c != nil && known.Name == set {
			if err := json.Unmarshal(c.Input.Append(nil), &input); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = json.Unmarshal(args, &given) // arguments that are not an object have no headers
	headers := map[string]string{}
	for name, property := range input.Properties {
		if value, there := given[name]; there && property.Header != "" {
			headers[property.Header] = fmt.Sprint(value)
		}
	}
	return headers
}
