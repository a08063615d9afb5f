package e2e

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"remit/internal/contract/contracttest"
)

// The words in files that may and may not be read.
const (
	openWord   = "tractor"
	secretWord = "swordfish"
)

// secretFiles are the names of the secret policy as real files: each in a folder of its own,
// because some are files and folders, and in two letter cases.
func secretFiles() (denied map[string]string, readable []string) {
	denied = map[string]string{}
	for name, rule := range contracttest.DeniedNames() {
		denied[fmt.Sprintf("docs/d%d/%s", len(denied), name)] = rule
		denied[fmt.Sprintf("docs/d%d/%s", len(denied), strings.ToUpper(name))] = rule
	}
	denied["docs/private/plan.md"] = "deny: docs/Private"
	for i, name := range contracttest.ReadableNames() {
		readable = append(readable, fmt.Sprintf("docs/r%d/%s", i, name), fmt.Sprintf("docs/u%d/%s", i, strings.ToUpper(name)))
	}
	return denied, readable
}

// write puts all of them beneath a folder of the workspace.
func writeSecrets(s *workspace, folder string, denied map[string]string, readable []string) {
	for name := range denied {
		s.write(folder+name, secretWord+"\n")
	}
	for _, name := range readable {
		s.write(folder+name, openWord+"\n")
	}
}

// isPlainPath tells whether the pattern of a tool lets the path through to the policy.
func isPlainPath(name string) bool { return !strings.ContainsAny(name, " ") }

// TestSecretsAreNeverRead tries every name of the secret policy with every tool that reads files.
func TestSecretsAreNeverRead(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, map[string]string{"remit.yaml": "deny: [docs/Private]\n"})
	denied, readable := secretFiles()
	writeSecrets(s, "", denied, readable)
	for _, reader := range []struct{ toolset, tool string }{
		{"booster", "read_repo_file"}, {"learning-os", "read_repo_file"}, {"context", "read_file"},
	} {
		r := s.stdio("--toolsets", reader.toolset, "--rate-limits", "off")
		for name, rule := range denied {
			got := r.call(reader.tool, `{"path":`+quoted(name)+`}`)
			named := strings.Contains(got.text, `"rule":`+quoted(rule)) || strings.Contains(got.text, `"rule":"**/`)
			if !got.failed || strings.Contains(got.text, secretWord) || isPlainPath(name) && !named {
				t.Errorf("%s %s: %s, want the rule %s", reader.toolset, name, got.text, rule)
			}
		}
		for _, name := range readable {
			got := r.call(reader.tool, `{"path":`+quoted(name)+`}`)
			// The seed's own rule.
			own := reader.toolset == "context" && strings.Contains(strings.ToLower(name), ".env")
			if got.failed != own || !own && !strings.Contains(got.text, openWord) {
				t.Errorf("%s %s: %s", reader.toolset, name, got.text)
			}
		}
		r.end()
	}
}

// TestSecretsAreNotPreviewed checks that what a person is shown of a call contains nothing of a
// file that the secret policy denies, wherever it is shown: deny applies to previews too.
func TestSecretsAreNotPreviewed(t *testing.T) {
	t.Parallel()
	sent := make(chan string, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent <- string(body)
	}))
	defer hook.Close()
	s := newWorkspace(t, map[string]string{
		"remit.yaml":                                         "deny: [.claude/memory/decisions.jsonl, lessons/private.md]\n" + guardedTools,
		".claude/memory/decisions.jsonl":                     `{"timestamp":"2026-01-01T00:00:00Z","type":"` + secretWord + `"}` + "\n",
		".claude/memory/progress_log.jsonl":                  `{"timestamp":"2026-01-01T00:00:00Z","type":"` + openWord + `"}` + "\n",
		libraryFolder + "books/go-course/lessons/private.md": secretWord + "\n",
		libraryFolder + "books/go-course/lessons/open.md":    openWord + "\n",
	})
	bot := s.personToken("--name", "bot", "--role", "approver")
	agent := s.token("--name", "agent", "--scopes", "*", "--user", "*")
	w := s.serveWith([]string{"REMIT_WEBHOOK_SECRET=a secret that is long enough"}, "--webhook", hook.URL)
	me := w.signedIn()
	entry := func(file string) string { return strings.Replace(entryArgs, "decisions.jsonl", file, 1) }
	for _, c := range []struct {
		tool, args string
		shows      bool
	}{
		{"write_memory_entry", entry("decisions.jsonl"), false},
		{"write_memory_entry", entry("progress_log.jsonl"), true},
		{"write_content", `{"book_id":"go-course","path":"lessons/private.md","content":"x"}`, false},
		{"delete_content", `{"book_id":"go-course","path":"lessons/private.md"}`, false},
		{"write_content", `{"book_id":"go-course","path":"lessons/open.md","content":"x"}`, true},
	} {
		got := w.post("/tools/"+c.tool, c.args, bearer(agent))
		found := requestID.FindSubmatch(got.body)
		if found == nil { // it is refused before a person is asked
			if c.shows || got.status != http.StatusForbidden || strings.Contains(string(got.body), secretWord) {
				t.Errorf("%s %s: %d %s", c.tool, c.args, got.status, got.body)
			}
			continue
		}
		id := string(found[1])
		shown := <-sent + string(w.get("/console/approvals/"+id, me).body) + string(w.get("/approvals/"+id, bearer(bot)).body) +
			s.remit("approvals", "show", id, "--root", s.root).out
		if strings.Contains(shown, secretWord) || strings.Contains(shown, openWord) != c.shows {
			t.Errorf("%s %s is shown as %s", c.tool, c.args, shown)
		}
	}
	w.kill()
}

// TestSecretsAreNeverFound searches for what the files hold, by every way to search.
func TestSecretsAreNeverFound(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, map[string]string{"remit.yaml": "deny: [docs/Private]\n"})
	denied, readable := secretFiles()
	writeSecrets(s, "", denied, readable)
	r := s.stdio("--toolsets", "context", "--rate-limits", "off")
	if got := grep(r, map[string]any{"pattern": secretWord}); got.TotalMatches != 0 {
		t.Errorf("grep_codebase: %+v", got)
	}
	open := 0
	for _, name := range readable {
		if !strings.Contains(strings.ToLower(name), ".env") {
			open++
		}
	}
	if got := grep(r, map[string]any{"pattern": openWord, "limit": 1}); got.TotalMatches != open {
		t.Errorf("grep_codebase finds %d readable files, want %d", got.TotalMatches, open)
	}
	for _, found := range r.search(`{"query":"` + secretWord + ` ` + openWord + `","limit":20}`).Results {
		if strings.Contains(found.Content, secretWord) {
			t.Errorf("context_search: %+v", found)
		}
	}
	if list := r.ask("resources/list", `{}`); strings.Contains(string(list.raw), secretWord) {
		t.Errorf("resources: %s", clip(list.raw))
	}
	r.end()
	for _, args := range [][]string{{"grep", secretWord}, {"search", secretWord}} {
		if got := s.remit(args...); strings.Contains(got.out, secretWord+"\n") && !strings.Contains(got.out, "No ") {
			t.Errorf("%v: %s%s", args, got.out, got.errOut)
		}
	}
	listed := s.remit("files").out
	for name := range denied {
		if strings.Contains(listed, name+"\n") {
			t.Errorf("remit files lists %s", name)
		}
	}
	if got := s.remit("config", "print"); !strings.Contains(got.out, "docs/Private") {
		t.Errorf("config print does not show deny: %s", got.out)
	}
}

// TestSecretsInBooks tries to import secrets, and to read, find and archive those that lie in a
// book.
func TestSecretsInBooks(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, map[string]string{"remit.yaml": "deny: [docs/Private]\n"})
	denied, readable := secretFiles()
	writeSecrets(s, "course/", denied, readable)
	if got := s.remit("books", "import", s.path("course"), "--book", "imported", "--skip-bad", "--json"); got.code != 0 {
		t.Fatalf("import: exit %d: %s%s", got.code, clip(got.out), clip(got.errOut))
	}
	writeSecrets(s, ".remit/library/books/placed/", denied, readable)
	r := s.stdio("--toolsets", "books", "--rate-limits", "off", "--approve", "auto")
	for name, rule := range denied {
		if !isPlainPath(name) {
			continue
		}
		args := `{"book_id":"placed","path":` + quoted(name) + `}`
		for _, tool := range []string{"read_content", "delete_content"} {
			if got := r.call(tool, args); !got.failed || strings.Contains(got.text, secretWord) || !strings.Contains(got.text, `"rule":`+quoted(rule)) {
				t.Errorf("%s %s: %s", tool, name, got.text)
			}
		}
		if got := r.ask("resources/read", `{"uri":"book://placed/`+name+`"}`); got.Error == nil {
			t.Errorf("book://placed/%s: %s", name, got.raw)
		}
	}
	for _, book := range []string{"imported", "placed"} {
		if got := r.call("grep_search", `{"book_id":"`+book+`","pattern":"`+secretWord+`"}`); got.text != "[]" {
			t.Errorf("grep_search in %s: %s", book, got.text)
		}
		zipped := s.path(book + ".zip")
		if got := s.remit("books", "export", book, "-o", zipped); got.code != 0 {
			t.Fatalf("export: %s%s", got.out, got.errOut)
		}
		archive, err := zip.OpenReader(zipped)
		s.check(err)
		var names []string
		s.check(json.Unmarshal([]byte(r.call("glob_search", `{"book_id":"`+book+`","pattern":"**"}`).text), &names))
		for _, file := range archive.File {
			names = append(names, file.Name)
		}
		for _, name := range names {
			data, err := os.ReadFile(s.path(".remit/library/books/" + book + "/" + strings.TrimPrefix(name, "books/"+book+"/")))
			if err == nil && strings.Contains(string(data), secretWord) {
				t.Errorf("%s offers %s", book, name)
			}
		}
		s.check(archive.Close())
	}
	r.end()
}
