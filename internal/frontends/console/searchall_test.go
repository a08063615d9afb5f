package console_test

import (
	"net/url"
	"strings"
	"testing"

	"remit/internal/engine/identity"
)

func TestSearchAll(t *testing.T) {
	s := newStack(t, map[string]string{
		"src/auth.go":                    "package auth\n\n// sign (token)\nfunc Sign() { sign(token) }\n",
		".claude/memory/decisions.jsonl": `{"timestamp":"2026-07-01T10:00:00Z","type":"decision","module":"auth","content":"token (token) <script>alert(1)</script>"}` + "\n",
	})
	expect(t, s.get("/console/search"), 200, "Search everything")
	w := s.get("/console/search?q=token+%28token%29")
	for _, source := range []string{"requests", "code", "knowledge", "tasks", "books", "memory", "calls", "tools"} {
		expect(t, w, 200, `id="found-`+source+`"`, `hx-get="/console/search/found/`+source+`?q=token&#43;%28token%29"`)
	}
	// The text is no pattern.
	expect(t, s.get("/console/search/found/code?q="+url.QueryEscape("(token)")), 200, `href="/console/files/src/auth.go?line=3#L3"`, " lines in ",
		`href="/console/search/project?q=%5C%28token%5C%29"`)
	expect(t, s.get("/console/search/found/memory?q=TOKEN"), 200, "/console/memory?file=decisions.jsonl&amp;search=TOKEN", "&lt;script&gt;", "1 entry")
	expect(t, s.get("/console/search/found/knowledge?q=token"), 200, "decisions.jsonl")
	expect(t, s.get("/console/search/found/tools?q=hello"), 200, `href="/console/tools/hello"`, "1 tool")
	expect(t, s.get("/console/search/found/tasks?q=nothing"), 200, "Nothing found.")
	expect(t, s.get("/console/search/found/books?q=x"), 200)
	expect(t, s.get("/console/search/found/calls?q=x"), 200)
	expect(t, s.get("/console/search/found/requests?q=x"), 200, "Nothing found.")
	expect(t, s.get("/console/search/found/unknown?q=x"), 404)
	for _, path := range []string{"/console/search", "/console/search/found/code"} {
		expect(t, s.get(path+"?q=a%00b"), 400)
		expect(t, s.get(path+"?q="+strings.Repeat("x", 256)), 400, "at most 255 bytes")
	}
	s.role = identity.Approver
	if w := s.get("/console/search?q=token"); strings.Contains(w.Body.String(), "Tokens and people") {
		t.Error("an approver is offered tokens")
	}
	expect(t, s.get("/console/search/found/access?q=token"), 404)
}
