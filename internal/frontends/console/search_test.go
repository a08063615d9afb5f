package console_test

import (
	"net/url"
	"strings"
	"testing"
)

func TestSearchPage(t *testing.T) {
	s := newStack(t, map[string]string{
		"src/auth.go":                    "package auth\n\n// before\nfunc Sign() { sign(token) }\n// after\n",
		"src/bad.txt":                    "token " + nasty + "\n",
		"many.txt":                       strings.Repeat("a token here\n", 50),
		".claude/memory/decisions.jsonl": `{"timestamp":"2026-07-01T10:00:00Z","type":"decision","module":"auth","content":"Tokens are kept in cookies ` + `<script>alert(1)</script>"}` + "\n",
	})
	expect(t, s.get("/console/search/project"), 200, "Search the project")
	w := s.get("/console/search/project?q=token&files=src/*")
	expect(t, w, 200, `href="/console/files/src/auth.go?line=4#L4"`, "// before", "// after", "2 lines in 2 files",
		"&lt;script&gt;", ">By meaning</h2>", "decisions.jsonl:1")
	w = s.get("/console/search/project?q=token")
	expect(t, w, 200, "Next")
	expect(t, s.get("/console/search/project?q=Token+here&case=exact"), 200, "No matching lines")
	expect(t, s.get("/console/search/project?q="+url.QueryEscape("[invalid(")), 200, "Invalid regex pattern", "never closed")
	expect(t, s.get("/console/search/project?q=ab"), 200, "at least 3 characters")
	expect(t, s.get("/console/search/project?q=token&type=idea"), 200, "must be one of")
	expect(t, s.get("/console/search/project?q=token&after=nonsense"), 200, "Invalid cursor", "Back to the first page")
	expect(t, s.get("/console/search/project?q="+url.QueryEscape(nasty)), 200)
	expect(t, s.get("/console/search/project?q=a%00b"), 200)
	expect(t, s.get("/console/search/project?q="+strings.Repeat("x", 5000)), 200)
}
