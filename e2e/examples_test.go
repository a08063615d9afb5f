package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/app"
	"remit/internal/contract"
	"remit/internal/contract/catalog"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/approval"
	"remit/internal/faces/cli"
)

// modeOf is how approval goes in an example: nobody is asked unless it says so.
func modeOf(e contract.Example) string {
	if e.Approve == "" {
		return string(approval.Auto)
	}
	return e.Approve
}

// face is one way in which a call reaches the engine. It runs a whole call in a
// workspace and gives the body of the answer.
type face struct {
	name string
	call func(t *testing.T, s *space, set, tool, mode string, args []byte) toolResult
}

// faces are all that there are now; a new one is one line and one function.
var faces = []face{
	{"stdio", overStdio},
	onCommandLine,
	{"engine", inProcess},
	{"http", overHTTP},
	{"stdio, modern", overModernStdio},
	{"MCP over HTTP", overMCP},
	{"MCP over HTTP, modern", overModernMCP},
}

// distinctFaces are as many as differ in how they reach the engine: the ways of the others
// are those of these.
var distinctFaces = slices.DeleteFunc(slices.Clone(faces), func(f face) bool { return !slices.Contains([]string{"stdio", "call", "http"}, f.name) })

// patientFaces wait for a task as for any other call. The examples of a tool that
// is always a task are of clients that know none.
var patientFaces = []string{"call", "http"}

// program runs app.Main as the shell would.
func program(t *testing.T, s *space, stdin string, args ...string) outcome {
	t.Helper()
	var out, errOut bytes.Buffer
	code := app.Main(append(args, s.flags()...), s.lookup, strings.NewReader(stdin), &out, &errOut)
	return outcome{code, out.String(), errOut.String()}
}

func overStdio(t *testing.T, s *space, set, tool, mode string, args []byte) toolResult {
	t.Helper()
	line := requestLine("1", "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args))
	got := program(t, s, line+"\n", "stdio", "--toolsets", set, "--approve", mode)
	if got.code != 0 || complaints(got.errOut) != "" {
		t.Fatalf("exit %d: %s", got.code, got.errOut)
	}
	return resultIn(t, s, lastLine(got.out))
}

// resultIn reads the result of a call out of a message.
func resultIn(t *testing.T, s *space, text string) toolResult {
	t.Helper()
	r := &server{t: t, space: s}
	m := r.parse([]byte(text))
	if m.Error != nil && m.Error.Code == codeIncapable {
		return incapable
	}
	if content, ok := contentOf(m); ok && m.Error == nil {
		return content
	}
	return r.result(m)
}

// codeIncapable is how the modern era says that the client cannot do what the tool
// needs. Every other face words that as a failure of the tool.
const codeIncapable = -32021

// incapable stands for it.
var incapable = toolResult{"null", true}

func overModernStdio(t *testing.T, s *space, set, tool, mode string, args []byte) toolResult {
	t.Helper()
	line := requestLine("1", "tools/call", modernParams(fmt.Sprintf(`"name":%q,"arguments":%s`, tool, args), `{}`))
	got := program(t, s, line+"\n", "stdio", "--toolsets", set, "--approve", mode)
	if got.code != 0 || complaints(got.errOut) != "" {
		t.Fatalf("exit %d: %s", got.code, got.errOut)
	}
	return resultIn(t, s, lastLine(got.out))
}

// lastLine is the answer: what a call tells on its way comes first.
func lastLine(out string) string {
	return out[strings.LastIndex(strings.TrimSuffix(out, "\n"), "\n")+1:]
}

// contentOf is the answer of a tool that answers with content, in the form that
// other faces give it.
func contentOf(m message) (toolResult, bool) {
	var got struct {
		Content    json.RawMessage `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
	}
	_ = json.Unmarshal(m.Result, &got) // what is none has no content
	return toolResult{fmt.Sprintf(`{"content":%s}`, got.Content), false}, got.Structured == nil && !got.IsError
}

func overCommandLine(t *testing.T, s *space, set, tool, mode string, args []byte) toolResult {
	t.Helper()
	got := program(t, s, "", "call", tool, "--json", string(args), "--toolsets", set, "--approve", mode)
	if text := complaints(got.errOut); text != "" && !strings.HasPrefix(text, "(cut: ") || !strings.HasSuffix(got.out, "}\n") && !strings.HasSuffix(got.out, "]\n") {
		t.Fatalf("exit %d: %s%s", got.code, got.out, got.errOut)
	}
	return toolResult{strings.TrimSuffix(got.out, "\n"), got.code != 0}
}

func inProcess(t *testing.T, s *space, set, tool, mode string, args []byte) toolResult {
	t.Helper()
	opened := openSpace(t, s, set, mode, "127.0.0.1:8722") // where nobody listens: links are only compared
	tree, err := jsontree.Parse(args)
	if err != nil {
		t.Fatal(err)
	}
	result, err := opened.Engine().Call(t.Context(), engine.Call{Tool: tool, Args: tree, Principal: cli.Local, Face: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return toolResult{string(result.Body), result.Err != nil}
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

func overHTTP(t *testing.T, s *space, set, tool, mode string, args []byte) toolResult {
	t.Helper()
	got := posted(t, served(t, s, set, mode)+"/tools/"+tool, string(args), nil)
	failed := got.status != http.StatusOK
	if outcome := got.header.Get("X-Remit-Outcome"); failed == (outcome == "ok") {
		t.Errorf("status %d with the outcome %q", got.status, outcome)
	}
	return toolResult{string(got.body), failed}
}

func overMCP(t *testing.T, s *space, set, tool, mode string, args []byte) toolResult {
	t.Helper()
	const version = "2025-06-18" // whose clients are not asked to come back for the answer
	url := served(t, s, set, mode) + "/mcp"
	hello := posted(t, url, requestLine("1", "initialize", `{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}`), nil)
	header := http.Header{"Mcp-Protocol-Version": {version}, "Mcp-Session-Id": hello.header["Mcp-Session-Id"]}
	got := posted(t, url, requestLine("2", "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args)), header)
	return resultIn(t, s, string(got.body)+"\n")
}

func overModernMCP(t *testing.T, s *space, set, tool, mode string, args []byte) toolResult {
	t.Helper()
	header := modernHeaders("tools/call", tool)
	for name, value := range mirrored(t, set, tool, args) {
		header.Set("Mcp-Param-"+name, value)
	}
	params := modernParams(fmt.Sprintf(`"name":%q,"arguments":%s`, tool, args), `{}`)
	got := posted(t, served(t, s, set, mode)+"/mcp", requestLine("1", "tools/call", params), header)
	return resultIn(t, s, string(got.body)+"\n")
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

// hiddenSet is the toolset that nobody is told of.
const hiddenSet = "conformance"

// eachExample runs a test for every example of every contract there is.
func eachExample(t *testing.T, test func(t *testing.T, set *contract.Set, c *contract.Contract, e contract.Example)) {
	t.Helper()
	sets, err := catalog.Load(hiddenSet)
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range sets {
		for _, c := range set.Contracts {
			for _, e := range c.Examples {
				t.Run(set.Name+"/"+c.Name+"/"+e.Title, func(t *testing.T) {
					t.Parallel()
					test(t, set, c, e)
				})
			}
		}
	}
}

// Every example holds on every face, and every face says it in the same bytes.
func TestExamplesHoldOnEveryFace(t *testing.T) {
	t.Parallel()
	eachExample(t, func(t *testing.T, set *contract.Set, c *contract.Contract, e contract.Example) {
		holdsOn(t, faces, set, c, e, func(t *testing.T) *space { return newSpace(t, e.Given) })
	})
}

// holdsOn calls an example on each of some faces, in a workspace of its own, and gives
// what they answer: all the same, but for what varies.
func holdsOn(t *testing.T, faces []face, set *contract.Set, c *contract.Contract, e contract.Example, fresh func(t *testing.T) *space) string {
	t.Helper()
	var first string
	for i, f := range faces {
		if c.Task == contract.TaskRequired && slices.Contains(patientFaces, f.name) {
			continue
		}
		t.Run(f.name, func(t *testing.T) { // what it starts has ended when the next face comes
			got := replay(t, fresh, f, set, c, e)
			if got == incapable && (c.Task == contract.TaskRequired || strings.Contains(first, "did not declare the capability")) {
				return
			}
			checkExample(t, e, got)
			text := masked(t, got.text, e.Varies)
			if i == 0 {
				first = text
			}
			if text != first {
				t.Errorf("%s and %s differ:\n%s\n%s", faces[0].name, f.name, first, text)
			}
		})
	}
	return first
}

// replay calls an example on a face, in a new workspace. A contract gives up after some
// seconds, which a busy machine may not have had for it: then it is called again, in
// another workspace.
func replay(t *testing.T, fresh func(t *testing.T) *space, f face, set *contract.Set, c *contract.Contract, e contract.Example) toolResult {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		s := fresh(t)
		before := build(t, s, f, set, e)
		got := f.call(t, s, set.Name, c.Name, modeOf(e), e.Arguments.Append(nil))
		if late := before.givenUp() || got.givenUp(); late && time.Now().Before(deadline) {
			continue
		}
		if before.failed {
			t.Fatalf("before it, on %s: %s", f.name, clip(before.text))
		}
		return got
	}
}

// givenUp tells whether a call took longer than its contract allows.
func (r toolResult) givenUp() bool {
	return r.failed && strings.Contains(r.text, "and was given up; try again")
}

// build makes the calls that an example builds upon, and gives what the first answered
// that failed.
func build(t *testing.T, s *space, f face, set *contract.Set, e contract.Example) (failure toolResult) {
	t.Helper()
	for _, step := range e.Before {
		if got := f.call(t, s, set.Name, step.Tool, string(approval.Auto), step.Arguments.Append(nil)); got.failed {
			return got
		}
	}
	return toolResult{}
}

// prepare makes the calls that an example builds upon.
func prepare(t *testing.T, s *space, f face, set *contract.Set, e contract.Example) {
	t.Helper()
	if got := build(t, s, f, set, e); got.failed {
		t.Fatalf("before it, on %s: %s", f.name, clip(got.text))
	}
}

// onCommandLine is the face that leaves nothing running.
var onCommandLine = face{"call", overCommandLine}

// checkExample compares an answer with what the contract documents.
func checkExample(t *testing.T, e contract.Example, got toolResult) {
	t.Helper()
	want, failed := e.Result.Append(nil), false
	if e.Error.Members != nil {
		want, failed = e.Error.Append(nil), true
	}
	if got.failed != failed {
		t.Errorf("failed is %t, want %t: %s", got.failed, failed, clip(got.text))
		return
	}
	if diff := cmp.Diff(exact(t, e, string(want)), exact(t, e, got.text)); diff != "" {
		t.Errorf("-documented +answered:\n%s", diff)
	}
}

// exact decodes an answer without touching its numbers, and with null for whatever
// differs from run to run.
func exact(t *testing.T, e contract.Example, text string) any {
	t.Helper()
	tree, err := jsontree.Parse([]byte(text))
	if err != nil {
		t.Fatalf("not JSON: %v: %s", err, clip(text))
	}
	varying := e.Varying(tree)
	var v any
	decoder := json.NewDecoder(bytes.NewReader(varying.Append(nil)))
	decoder.UseNumber()
	if err := decoder.Decode(&v); err != nil {
		t.Fatalf("not JSON: %v: %s", err, clip(text))
	}
	return v
}

// masked blanks the varying fields out of a JSON text and leaves every other byte.
func masked(t *testing.T, text string, varies []string) string {
	t.Helper()
	if len(varies) == 0 {
		return text
	}
	m := &masker{decoder: json.NewDecoder(strings.NewReader(text)), text: text, varies: varies}
	if err := m.value(""); err != nil {
		t.Fatalf("not JSON: %v: %s", err, clip(text))
	}
	return m.out.String() + text[m.copied:]
}

// masker walks through a JSON text and knows at every value how it got there.
type masker struct {
	decoder *json.Decoder
	text    string
	varies  []string
	copied  int64
	out     strings.Builder
}

func (m *masker) value(at string) error {
	start := m.decoder.InputOffset()
	token, err := m.decoder.Token()
	if err != nil {
		return err
	}
	for open := token; (open == json.Delim('{') || open == json.Delim('[')) && m.decoder.More(); {
		below := at + "[]"
		if open == json.Delim('{') {
			key, err := m.decoder.Token()
			if err != nil {
				return err
			}
			below = strings.TrimPrefix(at+"."+key.(string), ".")
		}
		if err := m.value(below); err != nil {
			return err
		}
	}
	if token == json.Delim('{') || token == json.Delim('[') {
		if _, err := m.decoder.Token(); err != nil {
			return err
		}
	}
	if slices.Contains(m.varies, at) {
		m.out.WriteString(m.text[m.copied:start] + "?")
		m.copied = m.decoder.InputOffset()
	}
	return nil
}

// A tool that says it only reads leaves the workspace as it was, to the byte and
// to the time of the last change.
func TestReadOnlyToolsChangeNothing(t *testing.T) {
	t.Parallel()
	eachExample(t, func(t *testing.T, set *contract.Set, c *contract.Contract, e contract.Example) {
		if !c.Hints.ReadOnly {
			t.Skip("it writes, and says so")
		}
		if c.Task == contract.TaskRequired {
			t.Skip("its example is of a client that knows no tasks, and the command line does")
		}
		s := newSpace(t, e.Given)
		prepare(t, s, onCommandLine, set, e)
		before := s.tree()
		overCommandLine(t, s, set.Name, c.Name, modeOf(e), e.Arguments.Append(nil))
		if diff := cmp.Diff(before, s.tree()); diff != "" {
			t.Errorf("it changed the workspace: -before +after:\n%s", diff)
		}
	})
}

// toldOfBefore are the fields in which a tool says how things were before it, which
// after it they are not any more.
var toldOfBefore = []string{"mode", "existed", "message"}

// A tool that says it is idempotent answers a second time as it did the first,
// and changes nothing more. What one takes away is not there any more: to say so is
// an answer, and no effect.
func TestIdempotentToolsMayBeRepeated(t *testing.T) {
	t.Parallel()
	eachExample(t, func(t *testing.T, set *contract.Set, c *contract.Contract, e contract.Example) {
		if !c.Hints.Idempotent {
			t.Skip("every call counts, and it says so")
		}
		if c.Task == contract.TaskRequired {
			t.Skip("its example is of a client that knows no tasks, and the command line does")
		}
		s := newSpace(t, e.Given)
		prepare(t, s, onCommandLine, set, e)
		call := func() (toolResult, map[string]string) {
			got := overCommandLine(t, s, set.Name, c.Name, modeOf(e), e.Arguments.Append(nil))
			return toolResult{masked(t, got.text, append(toldOfBefore, e.Varies...)), got.failed}, s.tree()
		}
		first, after := call()
		second, afterwards := call()
		gone := c.Hints.Destructive && second.failed && strings.Contains(second.text, c.Errors[contract.NotFound].Code)
		if first != second && !gone {
			t.Errorf("the answers differ:\n%s\n%s", first.text, second.text)
		}
		if diff := cmp.Diff(after, afterwards); diff != "" {
			t.Errorf("the second call changed something: -first +second:\n%s", diff)
		}
	})
}

// The instruments of this file must be able to tell a difference.
func TestExamplesAreComparedExactly(t *testing.T) {
	for _, test := range []struct{ text, varies, want string }{
		{`{"a":1,"t":"x","b":2}`, "t", `{"a":1,"t"?,"b":2}`},
		{`{"t":{"x":[1,2]},"b":{"t":3}}`, "t", `{"t"?,"b":{"t":3}}`},
		{`{"list":[{"id":1,"n":"a"},{"id":2,"n":"b"}]}`, "list[].id", `{"list":[{"id"?,"n":"a"},{"id"?,"n":"b"}]}`},
		{`{"t":"x"}`, "nothing", `{"t":"x"}`},
		{`[{"id":1,"n":"a"},{"id":2,"n":"b"}]`, "[].id", `[{"id"?,"n":"a"},{"id"?,"n":"b"}]`},
	} {
		if got := masked(t, test.text, []string{test.varies}); got != test.want {
			t.Errorf("masked(%s, %s) = %s, want %s", test.text, test.varies, got, test.want)
		}
	}
}
