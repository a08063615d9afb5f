package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"remit/internal/app"
	"remit/internal/bodies"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/approval"
	"remit/internal/engine/identity"
	"remit/internal/engine/jobs"
	"remit/internal/frontends/cli"
	"remit/internal/frontends/mcp"
	"remit/internal/stores/sqlstore"
)

// setup holds the options of a rig; the zero value is valid.
type setup struct {
	toolsets   []string // nil means conformance
	approve    approval.Mode
	limits     mcp.Limits
	page       int
	now        func() time.Time // of sessions and states
	memNetwork bool             // use an in-memory network, for synctest
}

// rig is a workspace with an endpoint over HTTP at /mcp, and a second endpoint at /other. The
// header X-Test-Principal sets the caller.
type rig struct {
	t          testing.TB
	app        *app.App
	root       string
	server     *mcp.Server
	http       *mcp.HTTP
	mux        *http.ServeMux
	url        string
	client     *http.Client
	memNetwork *memNetwork
}

const principalHeader = "X-Test-Principal"

func newRig(t testing.TB, s setup) *rig {
	t.Helper()
	if s.toolsets == nil {
		s.toolsets = []string{"conformance"}
	}
	if s.approve == "" {
		s.approve = approval.Ask
	}
	if s.now == nil {
		s.now = time.Now
	}
	root := t.TempDir()
	data := filepath.Join(root, ".remit")
	a, err := app.Open(t.Context(), cli.Settings{
		Root: root, Data: data, Config: filepath.Join(root, "remit.yaml"), Database: "sqlite://" + filepath.Join(data, "remit.db"),
		Toolsets: s.toolsets, Approve: s.approve, Keys: root + "-keys",
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	r := &rig{t: t, app: a, root: root}
	tasks := &taskStore{file: "sqlite://" + filepath.Join(root, "tasks.db")}
	t.Cleanup(tasks.close)
	r.server = newServer(a, tasks, s)
	other := newServer(a, tasks, s)
	r.http = mcp.NewHTTP(principal, s.limits, s.now)
	r.http.Bodies = bodies.NewBudget(256<<20, jsontree.MaxValues)
	r.mux = http.NewServeMux()
	r.mux.Handle("/mcp", r.http.Endpoint(r.server))
	r.mux.Handle("/other", r.http.Endpoint(other))
	r.serve(s.memNetwork)
	t.Cleanup(func() {
		r.http.EndStreams()
		r.client.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 0)
		defer cancel()
		for _, server := range []*mcp.Server{r.server, other} {
			if err := server.Tasks.Close(ctx); err != nil {
				t.Error(err)
			}
		}
	})
	return r
}

// inBubble runs a test with synctest's clock, so that the delay of an answer does not depend on the
// machine.
func inBubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, test)
	})
}

// principal returns the caller: anybody that a test names, or a client with a token for dialogs.
func principal(r *http.Request) identity.Identity {
	who := identity.Identity{Principal: cli.LocalPrincipal, Grant: &identity.Grant{
		User: identity.AnyUser, Elicits: true,
		Scopes: identity.Scopes{{Set: identity.AnySet}: true, {Set: identity.AnySet, Write: true}: true},
	}}
	if name := r.Header.Get(principalHeader); name != "" {
		who.Principal = name
	}
	return who
}

// think waits as long as a person needs at least to answer.
func think() { time.Sleep(350 * time.Millisecond) }

func newServer(a *app.App, tasks *taskStore, s setup) *mcp.Server {
	spent := map[string]bool{}
	var mu sync.Mutex
	return &mcp.Server{
		Engine: a.Engine(), Version: "1.2.3", Instructions: func() string { return "Be kind." }, PageSize: s.page,
		Tasks: &jobs.Runner{Engine: a.Engine(), Workspace: "test", Store: tasks.open},
		States: &mcp.States{
			Secret: func() ([]byte, error) { return []byte("a secret that only this test knows"), nil },
			Now:    s.now,
			UseOnce: func(_ context.Context, token string, _, _ time.Time) (bool, error) {
				mu.Lock()
				defer mu.Unlock()
				fresh := !spent[token]
				spent[token] = true
				return fresh, nil
			},
		},
	}
}

// taskStore is opened by the first task.
type taskStore struct {
	file string
	mu   sync.Mutex
	db   *sqlstore.DB
}

func (s *taskStore) open(ctx context.Context) (jobs.Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		var err error
		if s.db, err = sqlstore.Open(ctx, s.file); err != nil {
			return nil, err
		}
	}
	return s.db.Jobs(), nil
}

func (s *taskStore) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db != nil {
		_ = s.db.Close()
	}
}

// serve listens on a port or on an in-memory network.
func (r *rig) serve(inside bool) {
	transport := &http.Transport{DisableCompression: true}
	r.client = &http.Client{Transport: transport}
	if !inside {
		s := httptest.NewServer(r.mux)
		r.t.Cleanup(s.Close)
		r.url = s.URL
		return
	}
	r.memNetwork = &memNetwork{waiting: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: r.mux}
	done := make(chan error, 1)
	go func() { done <- server.Serve(r.memNetwork) }()
	r.t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	transport.DialContext = func(context.Context, string, string) (net.Conn, error) { return r.memNetwork.dial() }
	r.url = "http://pipe"
}

// memNetwork is an in-memory listener, so that its deadlines follow the clock of the test.
type memNetwork struct {
	waiting chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func (p *memNetwork) dial() (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.waiting <- theirs:
		return ours, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *memNetwork) Accept() (net.Conn, error) {
	select {
	case c := <-p.waiting:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *memNetwork) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *memNetwork) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// reply is a complete response.
type reply struct {
	status int
	header http.Header
	body   string
}

// at returns the value at a path such as "result.content.0.text" in the body, or nil. A part that
// contains dots may be quoted.
func (r reply) at(path ...string) any { return at(r.body, path...) }

func at(text string, path ...string) any {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return nil
	}
	for _, name := range path {
		switch in := v.(type) {
		case map[string]any:
			v = in[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

func (r reply) code() any { return r.at("error", "code") }

func (r reply) text() string {
	text, _ := r.at("result", "content", "0", "text").(string)
	return text
}

// want checks status and error code; nil means no error.
func (r reply) want(t testing.TB, what string, status int, code any) {
	t.Helper()
	if n, ok := code.(int); ok {
		code = float64(n)
	}
	if r.status != status || r.code() != code {
		t.Errorf("%s: %d %v, want %d %v; the body is %s", what, r.status, r.code(), status, code, r.body)
	}
}

// request returns a request; headers come in pairs, and an empty value removes one.
func (r *rig) request(ctx context.Context, method, path, body string, headers ...string) *http.Request {
	r.t.Helper()
	request, err := http.NewRequestWithContext(ctx, method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
	}
	if method == http.MethodGet {
		request.Header.Set("Accept", "text/event-stream")
		request.Body = http.NoBody
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i+1] == "" {
			request.Header.Del(headers[i])
		} else {
			request.Header.Set(headers[i], headers[i+1])
		}
	}
	return request
}

func (r *rig) do(request *http.Request) reply {
	r.t.Helper()
	response, err := r.client.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return reply{response.StatusCode, response.Header, string(body)}
}

func (r *rig) post(body string, headers ...string) reply {
	r.t.Helper()
	return r.do(r.request(context.Background(), http.MethodPost, "/mcp", body, headers...))
}

// stream is a response that is read bit by bit.
type stream struct {
	t      testing.TB
	status int
	header http.Header
	close  context.CancelFunc
	events chan event
}

type event struct {
	id, data string
	retry    bool
	comment  bool
}

// open sends a request and reads its response as a stream.
func (r *rig) open(request *http.Request) *stream {
	r.t.Helper()
	ctx, cancel := context.WithCancel(request.Context())
	response, err := r.client.Do(request.WithContext(ctx)) //nolint:bodyclose // the reader closes it
	if err != nil {
		cancel()
		r.t.Fatal(err)
	}
	s := &stream{t: r.t, status: response.StatusCode, header: response.Header, close: cancel, events: make(chan event, 1000)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(s.events)
		defer response.Body.Close()
		readEvents(response.Body, s.events)
	}()
	s.close = func() {
		cancel()
		<-done
	}
	r.t.Cleanup(s.close)
	return s
}

func readEvents(from io.Reader, to chan<- event) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 64<<20)
	var e event
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case lines.Text() == "":
			to <- e
			e = event{}
		case name == "id":
			e.id = value
		case name == "data":
			e.data = value
		case name == "retry":
			e.retry = true
		case strings.HasPrefix(lines.Text(), ":"):
			e.comment = true
		}
	}
}

// testTimeout is the timeout of anything that should happen.
const testTimeout = 2 * time.Minute

// next returns the next message; it skips comments and events without data.
func (s *stream) next() event {
	s.t.Helper()
	e, ok := s.more()
	if !ok {
		s.t.Fatal("the stream ended, or nothing came")
	}
	return e
}

// more returns false when the stream has ended or nothing came.
func (s *stream) more() (event, bool) {
	timeout := time.NewTimer(testTimeout)
	defer timeout.Stop()
	for {
		select {
		case e, ok := <-s.events:
			if ok && e.data == "" {
				continue
			}
			return e, ok
		case <-timeout.C:
			return event{}, false
		}
	}
}

// ended waits until the stream has ended, and returns what came before.
func (s *stream) ended() []event {
	s.t.Helper()
	var all []event
	timeout := time.NewTimer(testTimeout)
	defer timeout.Stop()
	for {
		select {
		case e, ok := <-s.events:
			if !ok {
				return all
			}
			if e.data != "" {
				all = append(all, e)
			}
		case <-timeout.C:
			s.t.Fatal("the stream did not end")
		}
	}
}

// quiet checks that nothing comes for a moment.
func (s *stream) quiet() {
	s.t.Helper()
	select {
	case e, ok := <-s.events:
		if !ok || e.data != "" {
			s.t.Errorf("unexpected message: %+v (open: %v)", e, ok)
		}
	case <-time.After(50 * time.Millisecond):
	}
}

// session is a client of the legacy era.
type session struct {
	*rig
	id      string
	version string
	path    string
}

const allThree = `{"elicitation":{},"sampling":{},"roots":{}}`

func (r *rig) initialize(version, capabilities string, headers ...string) *session {
	r.t.Helper()
	got := r.post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+version+`","capabilities":`+capabilities+`,"clientInfo":{"name":"t","version":"1"}}}`, headers...)
	if got.status != http.StatusOK || got.at("result", "protocolVersion") == nil {
		r.t.Fatalf("initialize: %d %s", got.status, got.body)
	}
	return &session{r, got.header.Get("Mcp-Session-Id"), version, "/mcp"}
}

func (s *session) with(headers []string) []string {
	return append([]string{"Mcp-Session-Id", s.id, "MCP-Protocol-Version", s.version}, headers...)
}

func (s *session) post(body string, headers ...string) reply {
	s.t.Helper()
	return s.do(s.request(context.Background(), http.MethodPost, s.path, body, s.with(headers)...))
}

// start sends a message and reads the response as a stream.
func (s *session) start(body string, headers ...string) *stream {
	s.t.Helper()
	return s.open(s.request(context.Background(), http.MethodPost, s.path, body, s.with(headers)...))
}

func (s *session) get(headers ...string) *stream {
	s.t.Helper()
	return s.open(s.request(context.Background(), http.MethodGet, s.path, "", s.with(headers)...))
}

func (s *session) delete() reply {
	s.t.Helper()
	return s.do(s.request(context.Background(), http.MethodDelete, s.path, "", s.with(nil)...))
}

// call returns a tools/call request.
func call(id any, tool, args string) string {
	return message(id, "tools/call", `{"name":"`+tool+`","arguments":`+args+`}`)
}

// message returns a request, or a notification if the id is nil.
func message(id any, method, params string) string {
	m := `{"jsonrpc":"2.0",`
	if id != nil {
		b, _ := json.Marshal(id)
		m += `"id":` + string(b) + `,`
	}
	return m + `"method":"` + method + `","params":` + params + `}`
}

// meta returns the _meta of a modern request.
func meta(capabilities string, more ...string) string {
	return `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"m","version":"2"},` +
		`"io.modelcontextprotocol/clientCapabilities":` + capabilities + strings.Join(more, "") + `}`
}

// modern returns a modern request; params are members without braces.
func modern(id any, method, params, capabilities string) string {
	if params != "" {
		params += ","
	}
	return message(id, method, `{`+params+`"_meta":`+meta(capabilities)+`}`)
}

// modernHeaders returns the headers that go with a message.
func modernHeaders(body string) []string {
	method, _ := at(body, "method").(string)
	headers := []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method}
	source := map[string]string{
		"tools/call": "name", "prompts/get": "name", "resources/read": "uri",
		"tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId",
	}[method]
	if name, _ := at(body, "params", source).(string); name != "" {
		headers = append(headers, "Mcp-Name", name)
	}
	return headers
}

// ask sends a modern request with its headers.
func (r *rig) ask(body string, headers ...string) reply {
	r.t.Helper()
	return r.post(body, append(modernHeaders(body), headers...)...)
}

// listen opens a stream of the modern era.
func (r *rig) listen(body string, headers ...string) *stream {
	r.t.Helper()
	return r.open(r.request(context.Background(), http.MethodPost, "/mcp", body, append(modernHeaders(body), headers...)...))
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, happened func() bool) {
	t.Helper()
	for end := time.Now().Add(testTimeout); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if happened() {
			return
		}
	}
	t.Errorf("timeout: %s", what)
}

// clock is a clock that is moved by hand.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(span time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(span)
}

func marshal(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// raw sends bytes over a new connection and returns the response.
func (r *rig) raw(text string) reply {
	r.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		r.t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(testTimeout))
	if _, err := io.WriteString(c, text); err != nil {
		r.t.Fatal(err)
	}
	return readReply(r.t, c)
}

func readReply(t testing.TB, from io.Reader) reply {
	t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(from), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	return reply{response.StatusCode, response.Header, string(bytes.TrimSpace(body))}
}

// auditOf returns the lines of the audit log.
func auditOf(t testing.TB, r *rig) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(r.root, ".remit/audit/*"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.Split(strings.TrimSpace(string(data)), "\n")...)
	}
	return lines
}

func writeFile(t testing.TB, r *rig, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(r.root, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
