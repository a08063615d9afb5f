package e2e

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
)

// openAPIServer is a server and the OpenAPI document that was exported for it.
type openAPIServer struct {
	*httpServer
	router routers.Router
}

func exportOpenAPI(t *testing.T, s *workspace, args ...string) *openAPIServer {
	t.Helper()
	w := s.serve(args...)
	printed := s.remit(append([]string{"export", "--format", "openapi", "--url", w.url + "/"}, args...)...)
	if printed.code != 0 || printed.errOut != "" {
		t.Fatalf("exit %d: %s", printed.code, printed.errOut)
	}
	doc, err := openapi3.NewLoader().LoadFromData([]byte(printed.out))
	s.check(err)
	s.check(doc.Validate(t.Context(), openapi3.EnableExamplesValidation()))
	router, err := legacy.NewRouter(doc)
	s.check(err)
	return &openAPIServer{w, router}
}

// check sends a request and fails the test unless the document describes the answer. If valid is
// true, the document must describe the request too.
func (d *openAPIServer) check(t *testing.T, valid bool, method, path string, header http.Header, body string) int {
	t.Helper()
	newRequest := func() *http.Request {
		r, err := http.NewRequestWithContext(t.Context(), method, d.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = header.Clone()
		return r
	}
	request := newRequest()
	route, params, err := d.router.FindRoute(request)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	input := &openapi3filter.RequestValidationInput{
		Request: request, PathParams: params, Route: route,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	}
	if err := openapi3filter.ValidateRequest(t.Context(), input); (err == nil) != valid {
		t.Errorf("%s %s %s: the document does not allow the request: %v", method, path, body, err)
	}
	response, err := http.DefaultClient.Do(newRequest())
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	got := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: response.StatusCode, Header: response.Header,
		Body: io.NopCloser(bytes.NewReader(answer)), Options: input.Options,
	}
	if err := openapi3filter.ValidateResponse(t.Context(), got); err != nil {
		t.Errorf("%s %s %s: %d %s\n%v", method, path, body, response.StatusCode, clip(answer), err)
	}
	return response.StatusCode
}

// TestOpenAPIDescribesServer checks that the exported document describes the requests and answers
// of the server.
func TestOpenAPIDescribesServer(t *testing.T) {
	t.Parallel()
	d := exportOpenAPI(t, newWorkspace(t, map[string]string{"README.md": "here\n", "src/a.go": "package a\n"}))
	typed := http.Header{"Content-Type": {"application/json"}}
	keyed := http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {"milk-1"}}
	for _, tc := range []struct {
		valid        bool
		method, path string
		header       http.Header
		body         string
		want         int
	}{
		{true, "GET", "/tools", nil, "", 200},
		{true, "GET", "/tools/hello", nil, "", 200},
		{true, "GET", "/tools/nothing", nil, "", 404},
		{true, "GET", "/health", nil, "", 200},
		{true, "GET", "/metrics", nil, "", 200},
		{true, "POST", "/tools/list_books", nil, "", 200},
		{true, "POST", "/tools/hello", typed, `{"name":"Ada"}`, 200},
		{false, "POST", "/tools/hello", typed, `{"nam":"Ada"}`, 400},
		{false, "POST", "/tools/hello", typed, `{"name":`, 400},
		{false, "POST", "/tools/hello", http.Header{"Content-Type": {"text/plain"}}, `x`, 415},
		{true, "POST", "/tools/read_repo_file", typed, `{"path":"README.md"}`, 200},
		{true, "POST", "/tools/read_repo_file", typed, `{"path":".env"}`, 403},
		{true, "POST", "/tools/read_repo_file", typed, `{"path":"docs/gone.md"}`, 404},
		{true, "POST", "/tools/write_memory_entry", typed, `{"file":"decisions.jsonl","entry":{"timestamp":"2026-01-09T10:30:00Z","type":"x"}}`, 403},
		{true, "POST", "/tools/add_task", keyed, `{"user_id":"ada","title":"Buy milk"}`, 200},
		{true, "POST", "/tools/add_task", keyed, `{"user_id":"ada","title":"Buy milk"}`, 200},
		{true, "POST", "/tools/add_task", keyed, `{"user_id":"ada","title":"Buy bread"}`, 409},
		{false, "POST", "/tools/add_task", typed, `{"user_id":"ada"}`, 400},
		{true, "POST", "/tools/list_tasks", typed, `{"user_id":"ada"}`, 200},
		{true, "POST", "/tools/complete_task", typed, `{"user_id":"ada","task_id":"77"}`, 404},
		{true, "POST", "/tools/list_books", typed, `{}`, 200},
		{true, "POST", "/tools/read_content", typed, `{"book_id":"none","path":"lessons/a.md"}`, 404},
		{true, "POST", "/tools/grep_codebase", typed, `{"pattern":"package"}`, 200},
		{true, "POST", "/tools/grep_codebase", typed, `{"pattern":"["}`, 400},
	} {
		if got := d.check(t, tc.valid, tc.method, tc.path, tc.header, tc.body); got != tc.want {
			t.Errorf("%s %s %s: status %d, want %d", tc.method, tc.path, tc.body, got, tc.want)
		}
	}
}

// TestOpenAPIWithIdentity checks the same with identity on: callers with no token, an invalid
// token, or too few scopes get the documented answers, and hello stays public.
func TestOpenAPIWithIdentity(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, map[string]string{"README.md": "here\n"})
	reader := s.token("--name", "reader", "--scopes", "tasks:read", "--user", "ada")
	slow := s.token("--name", "slow", "--scopes", "tasks:read", "--user", "ada", "--rate", "1/h")
	d := exportOpenAPI(t, s)
	as := func(token string) http.Header {
		header := http.Header{"Content-Type": {"application/json"}}
		if token != "" {
			header.Set("Authorization", "Bearer "+token)
		}
		return header
	}
	const ada = `{"user_id":"ada"}`
	for _, tc := range []struct {
		method, path, token, body string
		want                      int
	}{
		{"GET", "/health", "", "", 200},
		{"GET", "/tools", "", "", 401},
		{"GET", "/tools", reader, "", 200},
		{"GET", "/tools/add_task", "", "", 401},
		{"GET", "/tools/add_task", reader, "", 200},
		{"GET", "/metrics", "", "", 401},
		{"POST", "/tools/hello", "", `{"name":"Ada"}`, 200},
		{"POST", "/tools/list_tasks", "", ada, 401},
		{"POST", "/tools/list_tasks", "remit_nobody", ada, 401},
		{"POST", "/tools/list_tasks", reader, ada, 200},
		{"POST", "/tools/list_tasks", reader, `{"user_id":"bob"}`, 403},
		{"POST", "/tools/add_task", reader, `{"user_id":"ada","title":"Buy milk"}`, 403},
		{"POST", "/tools/read_repo_file", reader, `{"path":"README.md"}`, 403},
		{"POST", "/tools/list_tasks", slow, ada, 200},
		{"POST", "/tools/list_tasks", slow, ada, 429},
	} {
		if got := d.check(t, true, tc.method, tc.path, as(tc.token), tc.body); got != tc.want {
			t.Errorf("%s %s %s: status %d, want %d", tc.method, tc.path, tc.body, got, tc.want)
		}
	}
}
