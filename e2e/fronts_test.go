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
	"remit/internal/contract/catalog"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/approval"
	"remit/internal/frontends/cli"
)

// front is one way in which a call reaches the engine.
type front struct {
	name string
	// open opens the workspace of s for calls of a toolset, until the test ends.
	open func(t *testing.T, s *space, set, mode string) callFunc
	// waits says that it waits for a task as for any other call. The examples of a tool that
	// is always a task are of clients that know none.
	waits bool
}

// callFunc calls a tool in an open workspace and gives the body of the answer.
type callFunc func(t *testing.T, tool string, args []byte) toolResult

// fronts are all that there are; a new one is one line and one function. The first is the
// one that the others are compared with.
var fronts = []front{
	inProcess,
	{"stdio", overStdio, false},
	onCommandLine,
	{"http", overHTTP, true},
	{"stdio, modern", overModernStdio, false},
	{"MCP over HTTP", overMCP, false},
	{"MCP over HTTP, modern", overModernMCP, false},
}

// onCommandLine is the front end that opens the workspace for each call.
var onCommandLine = front{"call", overCommandLine, true}

// inProcess calls the engine itself.
var inProcess = front{"engine", onEngine, false}

// program runs app.Main as the shell would.
func program(t *testing.T, s *space, stdin string, args ...string) outcome {
	t.Helper()
	var out, errOut bytes.Buffer
	code := app.Main(append(args, s.flags()...), s.lookup, strings.NewReader(stdin), &out, &errOut)
	return outcome{code, out.String(), errOut.String()}
}

// lines is "remit stdio" within the test.
type lines struct {
	space *space
	in    io.Writer
	out   *bufio.Reader
	last  int // id of the last request
}

// openLines starts it. When the test ends it must end in peace, with nothing to complain of.
func openLines(t *testing.T, s *space, set, mode string) *lines {
	t.Helper()
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	var errOut syncBuffer
	ended := make(chan int, 1)
	go func() {
		code := app.Main(append([]string{"stdio", "--toolsets", set, "--approve", mode}, s.flags()...), s.lookup, stdin, stdout, &errOut)
		stdout.Close()
		ended <- code
	}()
	t.Cleanup(func() {
		in.Close()
		go func() { _, _ = io.Copy(io.Discard, out) }()
		if code := <-ended; code != 0 || complaints(errOut.String()) != "" {
			t.Errorf("exit %d: %s", code, &errOut)
		}
	})
	return &lines{space: s, in: in, out: bufio.NewReader(out)}
}

// ask sends a request and gives the answer; what a call tells on its way comes before.
func (l *lines) ask(t *testing.T, method, params string) message {
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
		if m := readMessage(t, l.space.root, line); m.Method == "" && string(m.ID) == id {
			return m
		}
	}
}

func overStdio(t *testing.T, s *space, set, mode string) callFunc {
	t.Helper()
	l := openLines(t, s, set, mode)
	return func(t *testing.T, tool string, args []byte) toolResult {
		t.Helper()
		return resultIn(t, s, l.ask(t, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args)))
	}
}

func overModernStdio(t *testing.T, s *space, set, mode string) callFunc {
	t.Helper()
	l := openLines(t, s, set, mode)
	return func(t *testing.T, tool string, args []byte) toolResult {
		t.Helper()
		return resultIn(t, s, l.ask(t, "tools/call", modernParams(fmt.Sprintf(`"name":%q,"arguments":%s`, tool, args), `{}`)))
	}
}

// resultIn reads the result of a call out of a message.
func resultIn(t *testing.T, s *space, m message) toolResult {
	t.Helper()
	if m.Error != nil && m.Error.Code == codeIncapable {
		return incapable
	}
	if content, ok := contentOf(m); ok && m.Error == nil {
		return content
	}
	return (&server{t: t, space: s}).result(m)
}

// codeIncapable is how the modern era says that the client cannot do what the tool
// needs. Every other front end words that as a failure of the tool.
const codeIncapable = -32021

// incapable stands for it.
var incapable = toolResult{"null", true}

// contentOf is the answer of a tool that answers with content, in the form that
// other front ends give it.
func contentOf(m message) (toolResult, bool) {
	var got struct {
		Content    json.RawMessage `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
	}
	_ = json.Unmarshal(m.Result, &got) // what is none has no content
	return toolResult{fmt.Sprintf(`{"content":%s}`, got.Content), false}, got.Structured == nil && !got.IsError
}

func overCommandLine(_ *testing.T, s *space, set, mode string) callFunc {
	return func(t *testing.T, tool string, args []byte) toolResult {
		t.Helper()
		got := program(t, s, "", "call", tool, "--json", string(args), "--toolsets", set, "--approve", mode)
		if text := complaints(got.errOut); text != "" && !strings.HasPrefix(text, "(truncated: ") || !strings.HasSuffix(got.out, "}\n") && !strings.HasSuffix(got.out, "]\n") {
			t.Fatalf("exit %d: %s%s", got.code, got.out, got.errOut)
		}
		return toolResult{strings.TrimSuffix(got.out, "\n"), got.code != 0}
	}
}

func onEngine(t *testing.T, s *space, set, mode string) callFunc {
	t.Helper()
	opened := openSpace(t, s, set, mode, "127.0.0.1:8722") // where nobody listens: links are only compared
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

// openSpace opens the workspace as the program would, until the test ends.
func openSpace(t *testing.T, s *space, set, mode, addr string) *app.App {
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
		Root: s.root, Data: data, Books: []string{library}, Env: s.lookup, Addr: addr, Toolsets: []string{set}, Approve: approval.Mode(mode), RateLimits: true,
		Database: database, Config: filepath.Join(s.root, "remit.yaml"),
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

// served serves the workspace over HTTP until the test ends, and gives the address.
func served(t *testing.T, s *space, set, mode string) string {
	t.Helper()
	opened := openSpace(t, s, set, mode, "127.0.0.1:0")
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
		t.Fatalf("it did not serve: %v", err)
		return ""
	}
}

// posted sends one request of a client that does not come back.
func posted(t *testing.T, url, body string, header http.Header) httpAnswer {
	t.Helper()
	r, err := newPost(t.Context(), url, body, header)
	return answered(t, r, err)
}

// fetched asks for a page, as such a client does.
func fetched(t *testing.T, url string) httpAnswer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	return answered(t, r, err)
}

// answered sends a request, if it could be made.
func answered(t *testing.T, r *http.Request, err error) httpAnswer {
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

func overHTTP(t *testing.T, s *space, set, mode string) callFunc {
	t.Helper()
	url := served(t, s, set, mode)
	return func(t *testing.T, tool string, args []byte) toolResult {
		t.Helper()
		got := posted(t, url+"/tools/"+tool, string(args), nil)
		failed := got.status != http.StatusOK
		if outcome := got.header.Get("X-Remit-Outcome"); failed == (outcome == "ok") {
			t.Errorf("status %d with the outcome %q", got.status, outcome)
		}
		return toolResult{string(got.body), failed}
	}
}

func overMCP(t *testing.T, s *space, set, mode string) callFunc {
	t.Helper()
	const version = "2025-06-18" // whose clients are not asked to come back for the answer
	url := served(t, s, set, mode) + "/mcp"
	hello := posted(t, url, requestLine("1", "initialize", `{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}`), nil)
	header := http.Header{"Mcp-Protocol-Version": {version}, "Mcp-Session-Id": hello.header["Mcp-Session-Id"]}
	return func(t *testing.T, tool string, args []byte) toolResult {
		t.Helper()
		got := posted(t, url, requestLine("2", "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args)), header)
		return resultIn(t, s, readMessage(t, s.root, append(got.body, '\n')))
	}
}

func overModernMCP(t *testing.T, s *space, set, mode string) callFunc {
	t.Helper()
	url := served(t, s, set, mode) + "/mcp"
	return func(t *testing.T, tool string, args []byte) toolResult {
		t.Helper()
		header := modernHeaders("tools/call", tool)
		for name, value := range mirrored(t, set, tool, args) {
			header.Set("Mcp-Param-"+name, value)
		}
		params := modernParams(fmt.Sprintf(`"name":%q,"arguments":%s`, tool, args), `{}`)
		got := posted(t, url, requestLine("1", "tools/call", params), header)
		return resultIn(t, s, readMessage(t, s.root, append(got.body, '\n')))
	}
}

// mirrored are the arguments that a client has to repeat in headers.
func mirrored(t *testing.T, set, tool string, args []byte) map[string]string {
	t.Helper()
	sets, err := catalog.Load(hiddenSet)
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
	_ = json.Unmarshal(args, &given) // what is no object has nothing to repeat
	headers := map[string]string{}
	for name, property := range input.Properties {
		if value, there := given[name]; there && property.Header != "" {
			headers[property.Header] = fmt.Sprint(value)
		}
	}
	return headers
}
