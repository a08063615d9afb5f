package e2e

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestPendingOverHTTP: a call that waits for a person is 403, in body and status alike, and names
// no command that approves.
func TestPendingOverHTTP(t *testing.T) {
	t.Parallel()
	for toolset, args := range map[string]string{
		"booster":     `{"file":"decisions.jsonl","entry":"{}"}`,
		"learning-os": `{"file":"decisions.jsonl","entry":{"timestamp":"2026-01-09T10:30:00Z","type":"stack"}}`,
	} {
		w := newWorkspace(t, nil).serve("--toolsets", toolset)
		got := w.post("/tools/write_memory_entry", args, nil)
		if got.status != http.StatusForbidden || !strings.Contains(string(got.body), `"status":"pending"`) || strings.Contains(string(got.body), "remit approvals") {
			t.Errorf("%s: %d %s", toolset, got.status, got.body)
		}
		if toolset == "booster" && !strings.Contains(string(got.body), `"code":403`) {
			t.Errorf("the body has another code: %s", got.body)
		}
		w.end()
	}
}

// TestNamespaces: todo_tasks is another name of tasks, and both editions of learning can be served
// together.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	w := s.serve("--toolsets", "todo_tasks,booster,learning-os")
	for _, path := range []string{"/mcp/todo_tasks", "/mcp/tasks", "/mcp/booster"} {
		got := w.post(path, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`, nil)
		if got.status != 200 {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	for tool, want := range map[string]string{
		"booster_hello": `"message":"Hello, Ada!"`, "learning_os_hello": `{"greeting":"Hello, Ada!"}`, "add_task": "user_id", "hello": "Unknown tool",
	} {
		if got := w.post("/tools/"+tool, `{"name":"Ada"}`, nil); !strings.Contains(string(got.body), want) {
			t.Errorf("%s: %s", tool, got.body)
		}
	}
	w.end()
}

// TestTaskCodes: calls that were refused have codes of their own.
func TestTaskCodes(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, map[string]string{"remit.yaml": "tools: {add_task: {approval: true}, list_tasks: {rate: 1/min}}\n"})
	r := s.stdio("--toolsets", "tasks")
	if got := r.call("add_task", `{"user_id":"ada","title":"x"}`); !strings.Contains(got.text, `"code":"approval_required"`) {
		t.Errorf("approval: %s", got.text)
	}
	r.call("list_tasks", `{"user_id":"ada"}`)
	if got := r.call("list_tasks", `{"user_id":"ada"}`); !strings.Contains(got.text, `"code":"rate_limited"`) || !strings.Contains(got.text, `"retry_after":60`) {
		t.Errorf("rate: %s", got.text)
	}
	r.end()
	r = s.stdio("--toolsets", "tasks", "--read-only")
	if got := r.call("add_task", `{"user_id":"ada","title":"x"}`); !strings.Contains(got.text, `"code":"permission_denied"`) {
		t.Errorf("read-only: %s", got.text)
	}
	r.end()
}

// TestContextErrors: every schema failure of the toolset has the same shape.
func TestContextErrors(t *testing.T) {
	t.Parallel()
	r := newWorkspace(t, map[string]string{"a.md": "# A\n"}).stdio("--toolsets", "context")
	for args, want := range map[string]string{
		`{"query":"ab"}`:             `{"error":"Query must be at least 3 characters"}`,
		`{"limit":50,"query":"ab"}`:  `{"error":"Query must be at least 3 characters","details":["limit must be at most 20, not 50","Query must be at least 3 characters"]}`,
		`{"query":"abc","limit":50}`: `{"error":"Invalid parameters","details":["limit must be at most 20, not 50"]}`,
		`[1]`:                        `{"error":"Invalid parameters","details":["the arguments must be an object, not an array"]}`,
		`"x"`:                        `{"error":"Invalid parameters","details":["the arguments must be an object, not a string"]}`,
	} {
		var got, wanted map[string]any
		result := r.call("context_search", args)
		r.decode([]byte(result.text), &got)
		r.decode([]byte(want), &wanted)
		if !result.failed || mustJSON(got) != mustJSON(wanted) {
			t.Errorf("%s: %s, want %s", args, result.text, want)
		}
	}
	r.end()
}

func mustJSON(value any) string {
	data, _ := json.Marshal(value)
	return string(data)
}

// TestReadFileOfAnySize: offset and limit read lines of a text beyond 1 MiB.
func TestReadFileOfAnySize(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, map[string]string{"big.log": strings.Repeat("a line of a log\n", 300_000) + "the end"})
	r := s.stdio("--toolsets", "context")
	for args, want := range map[string]string{
		`{"path":"big.log"}`:                               `"max":1048576`,
		`{"path":"big.log","offset":300001}`:               `"content":"the end","size":4800007,"lines":300001,"language":"text","startLine":300001,"endLine":300001`,
		`{"path":"big.log","offset":5,"limit":1}`:          `"content":"a line of a log\n","size":4800007,"lines":300001,`,
		`{"path":"big.log","limit":2}`:                     `"startLine":1,"endLine":2`,
		`{"path":"big.log","offset":300002}`:               `offset is beyond the end of the file`,
		`{"path":"big.log","offset":5,"outline":true}`:     `"max":1048576`,
		`{"path":"big.log","offset":1,"includeDeps":true}`: `"max":1048576`,
	} {
		if got := r.call("read_file", args); !strings.Contains(got.text, want) {
			t.Errorf("%s: %s, want %s", args, clip(got.text), want)
		}
	}
	r.end()
}

// TestBookRules: what seed 003 says about names, limits, patterns and archives.
func TestBookRules(t *testing.T) {
	t.Parallel()
	const registry = "books:\n" +
		"  - {book_id: empty-book, title: E, storage_backend: fs, created_at: \"2025-01-01T00:00:00Z\", status: active}\n" +
		"  - {book_id: old-book, title: O, storage_backend: fs, created_at: \"2025-01-01T00:00:00Z\", status: archived}\n"
	s := newWorkspace(t, map[string]string{
		".remit/library/registry.yaml": registry, ".remit/library/books/abc/lessons/a.md": "one end\r\ntwo\r\n", ".remit/library/books/abc/lessons/data.csv": "x",
		".remit/library/books/abc/notes.md": "x", ".remit/library/books/abc/chapters/chapter-01/.summary.md": "x", ".remit/library/books/abc/book.yaml": "title: x\n",
		".remit/library/books/abc/assets/images/a.svg": "<svg/>",
	})
	r := s.stdio("--toolsets", "books", "--approve", "auto", "--rate-limits", "off")
	upload := func(name, data string) string {
		return r.call("upload_asset", `{"book_id":"abc","asset_type":"images","filename":`+quoted(name)+`,"binary_data":`+quoted(data)+`}`).text
	}
	for _, test := range []struct{ got, want string }{
		{upload("a/b/résumé 1.png", "AAEC\r\nAwQF\n"), `"path":"books/abc/assets/images/resume-1.png","filename":"resume-1.png","note":"The book abc did not exist`},
		{upload("resume-1.png", "AAEC"), `"path":"books/abc/assets/images/resume-1.png","replaced":true}`},
		{r.call("write_content", `{"book_id":"abc","path":"chapters/chapter-02/.summary.md","content":"`+strings.Repeat("x", 100<<10+1)+`"}`).text, `"path":"chapters/chapter-02/.summary.md"`},
		{r.call("write_content", `{"book_id":"old-book","path":"lessons/a.md","content":"x"}`).text, `"error":"ValidationError"`},
		{r.call("grep_search", `{"book_id":"abc","pattern":"end$"}`).text, `"matched_line":"one end"`},
		{r.call("read_content", `{"book_id":"X","path":"lessons/a.md"}`).text, `"path":"lessons/a.md"`},
		{r.call("get_book_archive", `{"book_id":"empty-book"}`).text, `"file_count":0`},
		{string(r.ask("tools/call", `{"name":"get_book_archive","arguments":{"book_id":"empty-book"}}`).raw), `"The URL works only while this session lasts`},
		{r.call("get_book_archive", `{"book_id":"no-book"}`).text, `"error":"ContentNotFoundError"`},
	} {
		if !strings.Contains(test.got, test.want) {
			t.Errorf("%s, want %s", clip(test.got), test.want)
		}
	}
	var archive struct {
		URL   string `json:"archive_url"`
		Files int    `json:"file_count"`
	}
	s.check(json.Unmarshal([]byte(r.call("get_book_archive", `{"book_id":"abc"}`).text), &archive))
	if names := zipped(s, archive.URL); archive.Files != 5 || strings.Contains(names, "data.csv") || strings.Contains(names, "notes.md") || !strings.Contains(names, "book.yaml") {
		t.Errorf("%d files: %s", archive.Files, names)
	}
	r.end()
}

// zipped returns the names in the archive at a URL.
func zipped(s *workspace, url string) string {
	s.t.Helper()
	answer, err := http.Get(url)
	s.check(err)
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	s.check(err)
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	s.check(err)
	var names []string
	for _, file := range archive.File {
		names = append(names, file.Name)
	}
	return strings.Join(names, " ")
}
