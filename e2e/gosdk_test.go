package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"remit/internal/contract"
	"remit/internal/contract/catalog"
)

// person answers elicitations; nil is a client without elicitation.
type person func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error)

// session is the official Go client, connected to the binary.
type session struct {
	*mcp.ClientSession
	t         *testing.T
	transport mcp.Transport
	ended     func() // checks the exit of the server
}

// transports are the two ways to connect the official client to a new server.
var transports = map[string]func(s *workspace, args []string) *session{
	"stdio": (*workspace).connectStdio,
	"http":  (*workspace).connectHTTP,
}

func (s *workspace) connectStdio(args []string) *session {
	s.t.Helper()
	cmd := exec.Command(remitBin, append([]string{"stdio", "--root", s.root}, args...)...)
	cmd.Dir, cmd.Env = s.t.TempDir(), environment(s.env...)
	stderr := &syncBuffer{}
	cmd.Stderr = stderr
	return &session{
		t: s.t, transport: &mcp.CommandTransport{Command: cmd, TerminateDuration: timeout},
		ended: func() {
			if text := unexpectedLog(stderr.String()); text != "" {
				s.t.Errorf("unexpected stderr: %s", text)
			}
		},
	}
}

func (s *workspace) connectHTTP(args []string) *session {
	s.t.Helper()
	w := s.serve(args...)
	return &session{t: s.t, transport: &mcp.StreamableClientTransport{Endpoint: w.url + "/mcp"}, ended: w.end}
}

// client connects the official client over stdio.
func (s *workspace) client(p person, version string, args ...string) *session {
	s.t.Helper()
	return s.clientOver("stdio", p, version, args...)
}

// clientOver connects the official client over a transport. An empty version means the newest that
// both support.
func (s *workspace) clientOver(transport string, p person, version string, args ...string) *session {
	s.t.Helper()
	session := transports[transport](s, args)
	if wired, ok := session.transport.(*mcp.StreamableClientTransport); ok && p != nil {
		// Over HTTP the answers of a person count only with a token that says so.
		wired.HTTPClient = &http.Client{Transport: withToken(s.dialogToken())}
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "gosdk", Version: "1.8.0"}, &mcp.ClientOptions{ElicitationHandler: p})
	ctx, cancel := context.WithTimeout(s.t.Context(), timeout)
	defer cancel()
	var err error
	if session.ClientSession, err = c.Connect(ctx, session.transport, &mcp.ClientSessionOptions{ProtocolVersion: version}); err != nil {
		s.t.Fatalf("connect: %v", err)
	}
	s.t.Cleanup(session.end)
	return session
}

// withToken sends a token with every request.
type withToken string

func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(w))
	return http.DefaultTransport.RoundTrip(r)
}

// end closes the session. The server must exit with code 0 and without unexpected log lines.
func (s *session) end() {
	s.t.Helper()
	if err := s.Close(); err != nil {
		s.t.Errorf("close: %v", err)
	}
	s.ended()
}

// call calls a tool and returns the text of its result.
func (s *session) call(tool string, args any) toolResult {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), timeout)
	defer cancel()
	r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		s.t.Fatalf("call %s: %v", tool, err)
	}
	return s.result(r)
}

func (s *session) result(r *mcp.CallToolResult) toolResult {
	s.t.Helper()
	if len(r.Content) != 1 {
		s.t.Fatalf("got %d contents, want 1", len(r.Content))
	}
	text, ok := r.Content[0].(*mcp.TextContent)
	if !ok {
		s.t.Fatalf("the content is a %T", r.Content[0])
	}
	if r.IsError {
		if r.StructuredContent != nil {
			s.t.Errorf("an error has structured content: %v", r.StructuredContent)
		}
		return toolResult{text.Text, true}
	}
	structure := r.StructuredContent
	if object, ok := structure.(map[string]any); ok && strings.HasPrefix(text.Text, "[") && len(object) == 1 {
		// A bare list: structured content must be an object, and the list is its only field.
		for _, list := range object {
			structure = list
		}
	}
	if diff := cmp.Diff(decoded(s.t, text.Text), structure); diff != "" {
		s.t.Errorf("text and structuredContent differ:\n%s", diff)
	}
	return toolResult{text.Text, false}
}

func decoded(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("not JSON: %v: %s", err, clip(text))
	}
	return v
}

// onEachTransport runs a test over stdio and over HTTP.
func onEachTransport(t *testing.T, test func(t *testing.T, transport string)) {
	t.Helper()
	for transport := range transports {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			test(t, transport)
		})
	}
}

func TestGoClientNegotiates(t *testing.T) {
	t.Parallel()
	onEachTransport(t, func(t *testing.T, transport string) {
		for _, version := range []string{"", "2024-11-05", "2025-03-26", "2025-06-18", legacyVersion, modernVersion} {
			t.Run("version "+version, func(t *testing.T) {
				t.Parallel()
				c := newWorkspace(t, nil).clientOver(transport, nil, version, "--toolsets", "booster")
				got := c.InitializeResult()
				if got.ServerInfo.Name != "remit" || got.Capabilities.Tools == nil || !strings.Contains(got.Instructions, "read_repo_file") {
					t.Errorf("initialize: %+v", got)
				}
				want := version
				if want == "" {
					want = modernVersion
				}
				if got.ProtocolVersion != want {
					t.Errorf("negotiated version %s, want %s", got.ProtocolVersion, want)
				}
				if want == modernVersion {
					return // the modern era has no ping
				}
				if err := c.Ping(t.Context(), nil); err != nil {
					t.Errorf("ping: %v", err)
				}
			})
		}
	})
}

var (
	toolName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)
	digest   = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	semver   = regexp.MustCompile(`^\d+\.\d+\.\d+$`)
)

// TestGoClientListsTools checks that every definition is valid for all clients and equals the
// contract.
func TestGoClientListsTools(t *testing.T) {
	t.Parallel()
	for _, set := range loadCatalog(t) {
		t.Run(set.Name, func(t *testing.T) {
			t.Parallel()
			onEachTransport(t, func(t *testing.T, transport string) {
				for _, version := range []string{legacyVersion, modernVersion} {
					c := newWorkspace(t, nil).clientOver(transport, nil, version, "--toolsets", set.Name)
					list, err := c.ListTools(t.Context(), nil)
					if err != nil {
						t.Fatal(err)
					}
					if list.NextCursor != "" || len(list.Tools) != len(set.Contracts) {
						t.Fatalf("%d tools and cursor %q, want %d", len(list.Tools), list.NextCursor, len(set.Contracts))
					}
					for _, tool := range list.Tools {
						checkDefinition(t, tool, set.Find(tool.Name))
					}
				}
			})
		})
	}
}

func checkDefinition(t *testing.T, tool *mcp.Tool, c *contract.Contract) {
	t.Helper()
	switch {
	case c == nil:
		t.Errorf("%s has no contract", tool.Name)
		return
	case !toolName.MatchString(tool.Name), tool.Title == "", tool.Description == "", tool.Annotations == nil:
		t.Errorf("%s: name, title, description or hints are missing", tool.Name)
		return
	}
	hints := tool.Annotations
	if hints.DestructiveHint == nil || hints.OpenWorldHint == nil {
		t.Errorf("%s: a hint is missing", tool.Name)
		return
	}
	got := contract.Hints{ReadOnly: hints.ReadOnlyHint, Destructive: *hints.DestructiveHint, Idempotent: hints.IdempotentHint, OpenWorld: *hints.OpenWorldHint}
	if got != c.Hints {
		t.Errorf("%s: hints are %+v, in the contract %+v", tool.Name, got, c.Hints)
	}
	version, _ := tool.Meta["io.remit/version"].(string)
	sum, _ := tool.Meta["io.remit/digest"].(string)
	if !semver.MatchString(version) || version != c.Version.String() || !digest.MatchString(sum) || sum != c.Digest {
		t.Errorf("%s: _meta is %v, want version %s and digest %s", tool.Name, tool.Meta, c.Version, c.Digest)
	}
	for side, schema := range map[string]any{"input": tool.InputSchema, "output": tool.OutputSchema} {
		compileSchema(t, schema) // fails if it is not a schema
		checkSchema(t, tool.Name+" "+side, schema, true)
	}
}

// checkSchema checks that a published schema uses only what every client supports.
func checkSchema(t *testing.T, at string, schema any, root bool) {
	t.Helper()
	s, ok := schema.(map[string]any)
	if !ok {
		t.Errorf("%s: the schema is %v", at, schema)
		return
	}
	kind, oneType := s["type"].(string)
	if !oneType && strings.Contains(at, " output.") {
		kind, oneType = typeOrNull(s["type"]) // a field of an answer may be null
	}
	if !oneType || root && kind != "object" {
		t.Errorf("%s: type is %v", at, s["type"])
	}
	for _, keyword := range []string{"$ref", "oneOf", "anyOf", "allOf", "not", "if"} {
		if _, has := s[keyword]; has {
			t.Errorf("%s: has %s", at, keyword)
		}
	}
	for keyword := range s {
		if strings.HasPrefix(keyword, "x-") && keyword != "x-mcp-header" {
			t.Errorf("%s: contains %s", at, keyword)
		}
	}
	if !root && s["description"] == nil {
		t.Errorf("%s: has no description", at)
	}
	if kind == "object" {
		switch s["additionalProperties"].(type) {
		case bool, map[string]any: // none, any, or properties that match a schema
		default:
			t.Errorf("%s: additionalProperties is not stated", at)
		}
		properties, _ := s["properties"].(map[string]any)
		for name, property := range properties {
			checkSchema(t, at+"."+name, property, false)
		}
	}
	if kind == "array" {
		items, ok := s["items"].(map[string]any)
		if !ok {
			t.Errorf("%s: the array has no items", at)
			return
		}
		if items["description"] == nil {
			items["description"] = "of the array"
		}
		checkSchema(t, at+"[]", items, false)
	}
}

// typeOrNull returns the type in a list of one type and null.
func typeOrNull(types any) (kind string, ok bool) {
	list, _ := types.([]any)
	if len(list) != 2 || list[1] != "null" {
		return "", false
	}
	kind, ok = list[0].(string)
	return kind, ok
}

// compileSchema compiles a schema with a third-party validator.
func compileSchema(t *testing.T, schema any) *jsonschema.Schema {
	t.Helper()
	data, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("tool.json", document); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("tool.json")
	if err != nil {
		t.Fatalf("not a schema: %v\n%s", err, data)
	}
	return compiled
}

// allToolsets reads the contracts of all toolsets once, also of the hidden one.
var allToolsets = sync.OnceValues(func() ([]*contract.Set, error) { return catalog.Load(hiddenSet) })

// loadCatalog returns all toolsets that are not hidden.
func loadCatalog(t *testing.T) []*contract.Set {
	t.Helper()
	sets, err := allToolsets()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(slices.Clone(sets), func(set *contract.Set) bool { return set.Hidden })
}

// TestGoClientReplaysExamples replays every example through the official client. A third-party
// validator checks the answers against the published schemas.
func TestGoClientReplaysExamples(t *testing.T) {
	t.Parallel()
	for set, all := range exampleSets(t) {
		if all[0].set.Hidden {
			continue
		}
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			replay{byGoClient, newWorkspace, func(t *testing.T, _ *workspace, e example, got toolResult, _ func() toolResult) {
				checkExample(t, e.Example, got)
			}}.run(t, all)
		})
	}
}

// byGoClient is the official client with its own server. Answers must match the output schema that
// the server lists.
var byGoClient = frontend{"the official Go client", func(t *testing.T, s *workspace, set, mode string) callFunc {
	t.Helper()
	opened := (&workspace{t: t, root: s.root, env: s.env}).client(nil, "", "--toolsets", set, "--approve", mode)
	list, err := opened.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	schemas := map[string]any{}
	for _, tool := range list.Tools {
		schemas[tool.Name] = tool.OutputSchema
	}
	return func(t *testing.T, tool string, args []byte) toolResult {
		t.Helper()
		got := (&session{ClientSession: opened.ClientSession, t: t}).call(tool, json.RawMessage(args))
		if schema, listed := schemas[tool]; listed && !got.failed {
			answer := decoded(t, got.text)
			if bare := bareName(t, tool); bare != "" { // structured content must be an object
				answer = map[string]any{bare: answer}
			}
			if err := compileSchema(t, schema).Validate(answer); err != nil {
				t.Errorf("the answer does not match the published schema: %v", err)
			}
		}
		return got
	}
}, false}

// bareName returns the field name that structured content uses for a tool whose answer is a list.
func bareName(t *testing.T, tool string) string {
	t.Helper()
	for _, set := range loadCatalog(t) {
		if c := set.Find(tool); c != nil {
			return c.Bare
		}
	}
	return ""
}

func TestGoClientErrors(t *testing.T) {
	t.Parallel()
	onEachTransport(t, func(t *testing.T, transport string) {
		for _, version := range []string{legacyVersion, modernVersion} {
			c := newWorkspace(t, nil).clientOver(transport, nil, version, "--toolsets", "booster")
			_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "helo"})
			var fault *jsonrpc.Error
			if !errors.As(err, &fault) || fault.Code != -32602 || !strings.Contains(fault.Message, `did you mean "hello"?`) {
				t.Errorf("unknown tool: %v", err)
			}
			wantCoded(t, c.call("read_repo_file", map[string]any{"path": ".env"}), 403, ".env")
			wantCoded(t, c.call("hello", map[string]any{"name": 5}), 400, "name")
			if got := c.call("hello", nil); got.failed {
				t.Errorf("call without arguments: %s", got.text)
			}
		}
	})
}

// TestGoClientResourcesAndPrompts tests resources, prompts and the completion of their arguments.
func TestGoClientResourcesAndPrompts(t *testing.T) {
	t.Parallel()
	const entry = `{"type":"stack"}` + "\n"
	onEachTransport(t, func(t *testing.T, transport string) {
		for _, version := range []string{legacyVersion, modernVersion} {
			s := newWorkspace(t, map[string]string{".claude/memory/decisions.jsonl": entry, "docs/guide.md": "# Guide"})
			c := s.clientOver(transport, nil, version)
			listed := map[string]bool{}
			for r, err := range c.Resources(t.Context(), nil) {
				s.check(err)
				listed[r.URI] = true
			}
			if !listed["memory://decisions.jsonl"] || !listed["remit://contracts/hello"] {
				t.Errorf("listed resources: %v", listed)
			}
			read, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "memory://decisions.jsonl"})
			if err != nil || len(read.Contents) != 1 || read.Contents[0].Text != entry {
				t.Errorf("read: %+v, %v", read, err)
			}
			if _, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "memory://nothing.jsonl"}); err == nil || !strings.Contains(err.Error(), "nothing.jsonl") {
				t.Errorf("read a missing resource: %v", err)
			}
			got, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "record_decision", Arguments: map[string]string{"title": "Use SQLite"}})
			if err != nil || len(got.Messages) != 1 || !strings.Contains(got.Messages[0].Content.(*mcp.TextContent).Text, "Use SQLite") {
				t.Errorf("prompt: %+v, %v", got, err)
			}
			completed, err := c.Complete(t.Context(), &mcp.CompleteParams{
				Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "explain_file"}, Argument: mcp.CompleteParamsArgument{Name: "path", Value: "docs/"},
			})
			if err != nil || len(completed.Completion.Values) != 1 || completed.Completion.Values[0] != "docs/guide.md" {
				t.Errorf("complete: %+v, %v", completed, err)
			}
		}
	})
}

var decision = map[string]any{
	"file":  "decisions.jsonl",
	"entry": map[string]any{"timestamp": "2026-01-09T10:30:00Z", "type": "stack", "decision": "SQLite for tasks"},
}

// accept checks the question and accepts at once.
func accept(t *testing.T) person {
	return func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		for _, part := range []string{"write_memory_entry", "decisions.jsonl", "SQLite for tasks"} {
			if !strings.Contains(r.Params.Message, part) {
				t.Errorf("the question does not show %q:\n%s", part, r.Params.Message)
			}
		}
		time.Sleep(readingTime)
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
	}
}

// after answers after a delay.
func after(delay time.Duration, action string) person {
	return func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		select {
		case <-time.After(delay):
		case <-ctx.Done():
		}
		return &mcp.ElicitResult{Action: action}, nil
	}
}

// elicitationFails names the case of a client whose elicitation fails. In the modern era the server
// does not learn of it: there is no request that the client could answer with an error.
const elicitationFails = "failed to show"

// declinesAtOnce names the case of a client that declines faster than a person can decide.
const declinesAtOnce = "declined at once, so not shown"

// acceptsAtOnce names the case of a client that accepts faster than a person can decide.
const acceptsAtOnce = "accepted at once, so not shown"

// callThatFails makes a call that the client itself aborts because its elicitation failed.
func (s *session) callThatFails(tool string, args any) toolResult {
	s.t.Helper()
	_, err := s.CallTool(s.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err == nil || !strings.Contains(err.Error(), "no window") {
		s.t.Errorf("the client did not abort the call: %v", err)
	}
	return toolResult{`"status":"pending"`, true}
}

func TestGoClientElicitation(t *testing.T) {
	t.Parallel()
	// Over the 300 ms below which the server assumes that nobody was asked.
	const decisionTime = 400 * time.Millisecond
	for _, test := range []struct {
		name     string
		person   person
		contains string // what the error contains; empty means success
		state    string // the state of the approval request afterwards
	}{
		{"accepted", accept(t), "", "used"},
		{"accepted after a while", after(decisionTime, "accept"), "", "used"},
		{"declined", after(decisionTime, "decline"), `"status":"denied"`, "denied"},
		{declinesAtOnce, after(0, "decline"), `"status":"pending"`, "pending"},
		{acceptsAtOnce, after(0, "accept"), `"status":"pending"`, "pending"},
		{"closed without a choice", after(decisionTime, "cancel"), `"status":"pending"`, "pending"},
		{elicitationFails, func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return nil, errors.New("no window")
		}, `"status":"pending"`, "pending"},
		{"no elicitation", nil, `"status":"pending"`, "pending"},
	} {
		for _, version := range []string{"2025-06-18", legacyVersion, modernVersion} {
			t.Run(test.name+" "+version, func(t *testing.T) {
				t.Parallel()
				onEachTransport(t, func(t *testing.T, transport string) {
					s := newWorkspace(t, nil)
					c := s.clientOver(transport, test.person, version, "--toolsets", "learning-os")
					var got toolResult
					began := time.Now()
					if version == modernVersion && test.name == elicitationFails {
						got = c.callThatFails("write_memory_entry", decision)
					} else {
						got = c.call("write_memory_entry", decision)
					}
					if (test.name == declinesAtOnce || test.name == acceptsAtOnce) && time.Since(began) > 250*time.Millisecond {
						return // the machine was too busy to answer at once
					}
					lines := s.memory("decisions.jsonl")
					if test.contains == "" {
						wantText(t, got, `{"success":true,"line_number":1}`)
						if len(lines) != 1 {
							t.Errorf("%d lines, want 1", len(lines))
						}
					} else if !got.failed || !strings.Contains(got.text, test.contains) || lines != nil {
						t.Errorf("want an error with %s and nothing written: %s, %q", test.contains, got.text, lines)
					}
					if out := s.remit("approvals", "list", "--all").out; !strings.Contains(out, "  "+test.state+"  ") {
						t.Errorf("the state of the request is not %s:\n%s", test.state, out)
					}
				})
			})
		}
	}
}

var approvalID = regexp.MustCompile(`"approval":\{[^}]*"id":"([a-z0-9]+)"`)

// TestGoClientApprovedElsewhere checks that an approval from another terminal allows the same call
// once while the server runs. The next call is pending again, and the approval never applies to
// other arguments.
func TestGoClientApprovedElsewhere(t *testing.T) {
	t.Parallel()
	onEachTransport(t, func(t *testing.T, transport string) {
		for _, version := range []string{legacyVersion, modernVersion} {
			approvedElsewhere(t, transport, version)
		}
	})
}

func approvedElsewhere(t *testing.T, transport, version string) {
	t.Helper()
	s := newWorkspace(t, nil)
	c := s.clientOver(transport, nil, version, "--toolsets", "learning-os")
	pending := func(args any) string {
		t.Helper()
		got := c.call("write_memory_entry", args)
		id := approvalID.FindStringSubmatch(got.text)
		if !got.failed || id == nil {
			t.Fatalf("not pending: %s", got.text)
		}
		return id[1]
	}
	id := pending(decision)
	if again := pending(decision); again != id {
		t.Errorf("two approval requests for the same call: %s and %s", id, again)
	}
	if got := s.person("approvals", "approve", id); got.code != 0 {
		t.Fatalf("approve: %s", got.errOut)
	}
	other := map[string]any{"file": "progress_log.jsonl", "entry": decision["entry"]}
	if pending(other) == id {
		t.Error("the approval was used for other arguments")
	}
	wantText(t, c.call("write_memory_entry", decision), `{"success":true,"line_number":1}`)
	if again := pending(decision); again == id {
		t.Error("an approval was used twice")
	}
	if got := s.memory("decisions.jsonl"); len(got) != 1 {
		t.Errorf("%d lines, want 1", len(got))
	}
}

func TestGoClientCancels(t *testing.T) {
	t.Parallel()
	onEachTransport(t, func(t *testing.T, transport string) {
		for _, version := range []string{legacyVersion, modernVersion} {
			t.Run(version, func(t *testing.T) {
				t.Parallel()
				checkCancel(t, transport, version)
			})
		}
	})
}

// checkCancel cancels a call during an elicitation.
func checkCancel(t *testing.T, transport, version string) {
	t.Helper()
	s := newWorkspace(t, nil)
	shown, withdrawn := make(chan struct{}), make(chan struct{})
	c := s.clientOver(transport, func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		close(shown)
		select {
		case <-ctx.Done():
			close(withdrawn)
		case <-t.Context().Done(): // the test has failed already
		}
		return &mcp.ElicitResult{Action: "accept"}, nil
	}, version, "--toolsets", "learning-os")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "write_memory_entry", Arguments: decision})
		done <- err
	}()
	waitUntil(t, "the question is shown", shown)
	cancel()
	// There the client closes the connection and does not get the cancellation.
	if transport != "http" || version != legacyVersion {
		waitUntil(t, "the question is withdrawn", withdrawn)
	}
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled call returned %v", err)
	}
	if got := c.call("hello", map[string]any{"name": "after"}); got.failed {
		t.Errorf("the next call: %s", got.text)
	}
	if got := s.memory("decisions.jsonl"); got != nil {
		t.Errorf("a cancelled call was executed: %q", got)
	}
}

// TestGoClientAnswersTwice checks a call with two elicitations: for the approval, and from the tool
// itself.
func TestGoClientAnswersTwice(t *testing.T) {
	t.Parallel()
	onEachTransport(t, func(t *testing.T, transport string) {
		for _, version := range []string{legacyVersion, modernVersion} {
			var shown []string
			c := newWorkspace(t, nil).clientOver(transport, func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				shown = append(shown, r.Params.Message)
				content := map[string]any{}
				if len(shown) == 2 {
					content["reason"] = "it is time"
				}
				time.Sleep(readingTime)
				return &mcp.ElicitResult{Action: "accept", Content: content}, nil
			}, version, "--toolsets", "conformance")
			r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "test_guarded_elicitation"})
			if err != nil || r.IsError || r.Content[0].(*mcp.TextContent).Text != "Done, because it is time" {
				t.Errorf("%s: %+v, %v", version, r, err)
			}
			if len(shown) != 2 || !strings.Contains(shown[0], "asks for your approval") || shown[1] != "Why should it be done?" {
				t.Errorf("%s: the client showed %q", version, shown)
			}
		}
	})
}

func waitUntil(t *testing.T, what string, happened <-chan struct{}) {
	t.Helper()
	select {
	case <-happened:
	case <-time.After(timeout):
		t.Fatalf("timeout while waiting until %s", what)
	}
}
