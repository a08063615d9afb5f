package console_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func entry(t *testing.T, fields map[string]any) string {
	t.Helper()
	line, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(line) + "\n"
}

func TestMemoryPage(t *testing.T) {
	s := newStack(t, map[string]string{
		".claude/memory/decisions.jsonl": entry(t, map[string]any{"timestamp": "2026-07-30T10:00:00Z", "type": "rule", "content": "Whole cents", "tags": []string{"a", "b"}, "why": map[string]int{"n": 1}}) +
			entry(t, map[string]any{"timestamp": "2026-07-31T10:00:00Z", "type": nasty, "content": nasty, nasty: nasty}) + "somebody wrote <b>this</b>\n\n",
		".claude/memory/progress_log.jsonl": entry(t, map[string]any{"timestamp": "2026-07-30T12:00:00Z", "event": "task_complete", "task": "EDA notebook"}),
		".claude/memory/best_practices.md":  "# Best\n\n- Look *first*\n\n" + nasty + "\n",
	})
	w := s.get("/console/memory")
	expect(t, w, 200, "Friday, 31 July 2026", "Thursday, 30 July 2026", "Whole cents", "<dt>tags</dt>", "a, b", `{&#34;n&#34;:1}`,
		"EDA notebook", "decisions.jsonl, line 1", "somebody wrote &lt;b&gt;")
	if body := w.Body.String(); strings.Index(body, "EDA notebook") > strings.Index(body, "Whole cents") || strings.Index(body, "Friday") > strings.Index(body, "EDA notebook") {
		t.Error("the newest entry is not first")
	}
	expectNot(t, s.get("/console/memory?type=rule"), "EDA notebook")
	expect(t, s.get("/console/memory?type=task_complete"), 200, "EDA notebook")
	expect(t, s.get("/console/memory?search=EDA"), 200, "1 entry")
	expect(t, s.get("/console/memory?search=none+such"), 200, "No matching entries")
	expectNot(t, s.get("/console/memory?file=progress_log.jsonl"), "Whole cents")
	expect(t, s.get("/console/memory?file=best_practices.md"), 200, `<h2 id="h-best">Best</h2>`, "<em>first</em>")
	expect(t, s.get("/console/memory?file=..%2f..%2fREADME.md"), 404)
	expect(t, newStack(t, nil).get("/console/memory"), 200, "No memory entries yet")
}

// TestMemoryHidesNothing checks that all fields of an entry are shown, except those that its
// heading shows already.
func TestMemoryHidesNothing(t *testing.T) {
	s := newStack(t, map[string]string{
		".claude/memory/decisions.jsonl": `{"type":"rule","content":"One","level":"rule","when":""}` + "\n" +
			`{"timestamp":"2026-07-30T10:00:00Z","content":"Two","empty":""}` + "\n" + `{"timestamp":"some day","content":"Three"}` + "\n",
		".claude/memory/progress_log.jsonl": strings.Repeat("é", 300<<10) + "the end\n",
	})
	w := s.get("/console/memory?file=decisions.jsonl")
	expect(t, w, 200, "<dt>level</dt>", "<dt>when</dt>", "<dt>empty</dt>", "some day")
	expectNot(t, w, "<dt>type</dt>", "<dt>content</dt>", "2026-07-30T10:00:00Z</dd>")
	expect(t, s.get("/console/memory?file=progress_log.jsonl"), 200, "éééé", "is long: only its last 512 KiB")
}

func TestLongMemory(t *testing.T) {
	var lines strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&lines, `{"timestamp":"2026-07-%02dT10:00:00Z","type":"note","content":"Entry number %d."}`+"\n", 1+i/1000, i)
	}
	s := newStack(t, map[string]string{".claude/memory/decisions.jsonl": lines.String()})
	w := s.get("/console/memory")
	expect(t, w, 200, "Entry number 19999.", "is long: only its last", "1 to 50 of", "page=2")
	expectNot(t, w, "Entry number 19949.", ", line ")
	expect(t, s.get("/console/memory?page=2"), 200, "Entry number 19949.", "page=1")
	expect(t, s.get("/console/memory?page=999999"), 200, "Previous")
	expect(t, s.get("/console/memory?page=-3"), 200, "Entry number 19999.")
}
