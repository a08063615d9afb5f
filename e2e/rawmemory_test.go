package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

const kibibyte = 1 << 10

// appendEntry writes an entry with the booster tool, checks that bytes_written is the growth of the
// file, and returns the appended text.
func (r *stdioServer) appendEntry(file, entry string) string {
	r.t.Helper()
	before := r.workspace.read(".claude/memory/" + file)
	got := r.call("write_memory_entry", `{"file":`+quoted(file)+`,"entry":`+quoted(entry)+`}`)
	var body struct {
		Success   bool   `json:"success"`
		Bytes     int    `json:"bytes_written"`
		Timestamp string `json:"timestamp"`
		Similar   any    `json:"similar_to"` // some cases repeat an entry
	}
	r.decode([]byte(got.text), &body)
	after := r.workspace.read(".claude/memory/" + file)
	if got.failed || !body.Success || !strings.HasPrefix(after, before) || body.Bytes != len(after)-len(before) || body.Bytes == 0 {
		r.t.Errorf("bytes_written is %s, but the file grew by %d bytes", clip(got.text), len(after)-len(before))
	}
	return strings.TrimPrefix(after, before)
}

func TestBoosterWrites(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, map[string]string{".claude/memory/decisions.jsonl": `{"left":"without newline"}`})
	r := s.stdio("--toolsets", "booster", "--approve", "auto")
	atLimit := `"` + strings.Repeat("x", 10*kibibyte-2) + `"`
	for _, test := range []struct{ name, file, entry, appended string }{
		{"as sent", "progress_log.jsonl", `{"b": 1,  "a": 2}`, `{"b": 1,  "a": 2}` + "\n"},
		{"a scalar is JSON", "progress_log.jsonl", `17`, "17\n"},
		{"numbers are not touched", "progress_log.jsonl", `{"n":12345678901234567890.10,"m":1e400}`, `{"n":12345678901234567890.10,"m":1e400}` + "\n"},
		{"several lines become one", "progress_log.jsonl", "{\n  \"a\": [1,\r\n 2]\n}\n", `{"a":[1,2]}` + "\n"},
		{"white space around", "progress_log.jsonl", "  {\"a\":1}  \n", `{"a":1}` + "\n"},
		{"an escaped line break stays", "progress_log.jsonl", `{"a":"x\ny"}`, `{"a":"x\ny"}` + "\n"},
		{"line separator", "progress_log.jsonl", "{\"a\":\"x\u2028y\"}", "{\"a\":\"x\u2028y\"}\n"},
		{"a line that lacks its newline is closed", "decisions.jsonl", `{"a":1}`, "\n" + `{"a":1}` + "\n"},
		{"Markdown", "best_practices.md", "- One\n  - Two\n", "- One\n  - Two\n"},
		{"Markdown keeps its indentation", "best_practices.md", "    code", "    code\n"},
		{"Markdown about scripts", "best_practices.md", "- Describe the script; 1 < 2, on load = fine", "- Describe the script; 1 < 2, on load = fine\n"},
		{"Markdown with code", "best_practices.md", "`<b onclick=x>` and\n```html\n<script>alert(1)</script>\n```", "`<b onclick=x>` and\n```html\n<script>alert(1)</script>\n```\n"},
		{"Markdown with HTML", "best_practices.md", "<!-- note --> <img src=x onerror=alert(1)>", "<!-- note --> <img src=x onerror=alert(1)>\n"},
		{"Markdown with a link", "best_practices.md", "[x](javascript:alert(1)) \x1b[31m\r\n", "[x](javascript:alert(1)) \x1b[31m\r\n"},
		{"Markdown with empty lines", "best_practices.md", "\n\n# A\n\n", "\n\n# A\n\n"},
		{"10 KiB of Markdown", "best_practices.md", strings.Repeat("y", 10*kibibyte), strings.Repeat("y", 10*kibibyte) + "\n"},
		{"10 KiB of umlauts", "best_practices.md", strings.Repeat("ü", 5*kibibyte), strings.Repeat("ü", 5*kibibyte) + "\n"},
		{"10 KiB of JSON", "decisions.jsonl", atLimit, atLimit + "\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := r.appendEntry(test.file, test.entry); got != test.appended {
				t.Errorf("appended %q, want %q", clip(got), clip(test.appended))
			}
		})
	}
	r.end()
	for _, line := range append(s.memory("progress_log.jsonl"), s.memory("decisions.jsonl")...) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", clip(line))
		}
	}
}

func TestBoosterRejectedWrites(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	// In ask mode, an invalid call fails at once, and nobody is asked about it.
	r := s.stdio("--toolsets", "booster")
	entry := func(file, text string) string { return `{"file":` + quoted(file) + `,"entry":` + quoted(text) + `}` }
	for _, test := range []struct {
		name, args string
		code       int
		contains   string
	}{
		{"empty", entry("decisions.jsonl", ""), 400, "entry cannot be empty"},
		{"blank", entry("best_practices.md", " \n\t "), 400, "entry cannot be empty"},
		{"not JSON", entry("progress_log.jsonl", "did it"), 400, "JSON"},
		{"half JSON", entry("progress_log.jsonl", `{"a":`), 400, "JSON"},
		{"two values", entry("progress_log.jsonl", `{"a":1} {"b":2}`), 400, "JSON"},
		{"two lines of JSON", entry("progress_log.jsonl", `{"a":1}`+"\n"+`{"b":2}`), 400, "JSON"},
		{"10 KiB and one byte", entry("best_practices.md", strings.Repeat("x", 10*kibibyte+1)), 413, "10241"},
		{"10 KiB and one byte of JSON", entry("decisions.jsonl", `"`+strings.Repeat("x", 10*kibibyte-1)+`"`), 413, "10241"},
		{"100 KiB", entry("decisions.jsonl", `"`+strings.Repeat("x", 100*kibibyte)+`"`), 413, ""},
		{"1 MiB", entry("decisions.jsonl", `"`+strings.Repeat("x", mebibyte)+`"`), 413, ""},
		{"another file", entry("notes.md", "x"), 400, "best_practices.md"},
		{"a path", entry("../../README.md", "x"), 400, "file"},
		{"near miss", entry("decision.jsonl", "1"), 400, `did you mean \"decisions.jsonl\"?`},
		{"entry is an object", `{"file":"decisions.jsonl","entry":{"a":1}}`, 400, "entry"},
		{"no entry", `{"file":"decisions.jsonl"}`, 400, "entry"},
		{"entry null", `{"file":"decisions.jsonl","entry":null}`, 400, "entry"},
		{"no file", `{"entry":"1"}`, 400, "file"},
		{"mode", `{"file":"decisions.jsonl","entry":"1","mode":"overwrite"}`, 400, "mode"},
	} {
		t.Run(test.name, func(t *testing.T) {
			wantCoded(t, r.call("write_memory_entry", test.args), test.code, test.contains)
		})
	}
	r.end()
	if got := s.tree(); len(got) != 0 {
		t.Errorf("something was written: %v", got)
	}
	if got := s.remit("approvals", "list"); got.out != "Nothing waits for approval.\n" {
		t.Errorf("there is an approval request for an invalid call: %s", got.out)
	}
}

func TestLearningOSWrites(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, map[string]string{".claude/memory/progress_log.jsonl": "{\"n\":1}\n{\"n\":2}\n{\"n\":3}"})
	r := s.stdio("--toolsets", "learning-os", "--approve", "auto")
	const head = `{"timestamp":"2026-01-09T10:30:00Z","type":"t"`
	filled := func(size int) string { // returns an object of exactly this size
		return head + `,"x":"` + strings.Repeat("x", size-len(head)-len(`,"x":""}`)) + `"}`
	}
	for _, test := range []struct {
		name, file, entry, stored string
		number                    int
	}{
		{"first", "decisions.jsonl", head + "}", head + "}", 1},
		{"second", "decisions.jsonl", head + "}", head + "}", 2},
		{"after a line without newline", "progress_log.jsonl", head + "}", head + "}", 4},
		{"other keys are kept", "decisions.jsonl", head + `,"z":{"y":[1,null]},"a":1.50,"n":12345678901234567890}`, head + `,"z":{"y":[1,null]},"a":1.50,"n":12345678901234567890}`, 3},
		{"offset in the timestamp", "decisions.jsonl", `{"timestamp":"2026-01-09T10:30:00.123+02:00","type":""}`, `{"timestamp":"2026-01-09T10:30:00.123+02:00","type":""}`, 4},
		{"exactly 10 KiB", "decisions.jsonl", filled(10 * kibibyte), filled(10 * kibibyte), 5},
		{"umlauts", "decisions.jsonl", head + `,"x":"Grüße \u00fc"}`, head + `,"x":"Grüße \u00fc"}`, 6},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := r.call("write_memory_entry", `{"file":"`+test.file+`","entry":`+test.entry+`}`)
			wantText(t, got, fmt.Sprintf(`{"success":true,"line_number":%d}`, test.number))
			lines := s.memory(test.file)
			if len(lines) != test.number || lines[test.number-1] != test.stored {
				t.Errorf("line %d of %d is %q, want %q", test.number, len(lines), clip(lines[len(lines)-1]), clip(test.stored))
			}
		})
	}
	before := s.tree()
	for _, test := range []struct{ name, args, contains string }{
		{"10 KiB and one byte", `{"file":"decisions.jsonl","entry":` + filled(10*kibibyte+1) + `}`, "10241"},
		{"1 MiB", `{"file":"decisions.jsonl","entry":` + filled(mebibyte) + `}`, ""},
		{"no timestamp", `{"file":"decisions.jsonl","entry":{"type":"x"}}`, "entry.timestamp is required"},
		{"no type", `{"file":"decisions.jsonl","entry":{"timestamp":"2026-01-09T10:30:00Z"}}`, "entry.type is required"},
		{"not a date-time", `{"file":"decisions.jsonl","entry":{"timestamp":"2026-01-09","type":"x"}}`, "entry.timestamp"},
		{"no such day", `{"file":"decisions.jsonl","entry":{"timestamp":"2026-02-30T10:30:00Z","type":"x"}}`, "entry.timestamp"},
		{"timestamp null", `{"file":"decisions.jsonl","entry":{"timestamp":null,"type":"x"}}`, "entry.timestamp"},
		{"type is a number", `{"file":"decisions.jsonl","entry":{"timestamp":"2026-01-09T10:30:00Z","type":1}}`, "entry.type"},
		{"entry is text", `{"file":"decisions.jsonl","entry":"x"}`, "entry must be an object"},
		{"entry is a list", `{"file":"decisions.jsonl","entry":[]}`, "entry must be an object"},
		{"entry null", `{"file":"decisions.jsonl","entry":null}`, "entry"},
		{"empty entry", `{"file":"decisions.jsonl","entry":{}}`, "entry.timestamp is required"},
		{"file of the other edition", `{"file":"best_practices.md","entry":` + head + `}}`, "file"},
		{"unknown argument", `{"file":"decisions.jsonl","entry":` + head + `},"line":1}`, `\"line\"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := r.call("write_memory_entry", test.args); !got.failed || !strings.HasPrefix(got.text, `{"error":"`) || !strings.Contains(got.text, test.contains) {
				t.Errorf("want an error that says %q: %s", test.contains, clip(got.text))
			}
		})
	}
	r.end()
	if after := s.tree(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Error("a rejected entry changed the file")
	}
}

// TestExternallyChangedMemoryFiles checks memory files that a person edits, and memory files that
// are symlinks.
func TestExternallyChangedMemoryFiles(t *testing.T) {
	t.Parallel()
	entry := fmt.Sprintf(entry001, 1)
	t.Run("edited between two calls", func(t *testing.T) {
		s := newWorkspace(t, nil)
		r := s.stdio("--toolsets", "learning-os", "--approve", "auto")
		wantText(t, r.call("write_memory_entry", entry), `{"success":true,"line_number":1}`)
		s.write(".claude/memory/decisions.jsonl", "{}\n{}\n\n{}\n")
		wantText(t, r.call("write_memory_entry", entry), `{"success":true,"line_number":5}`)
		s.check(os.Remove(s.path(".claude/memory/decisions.jsonl")))
		wantText(t, r.call("write_memory_entry", entry), `{"success":true,"line_number":1}`)
		r.end()
		if got := len(s.memory("decisions.jsonl")); got != 1 {
			t.Errorf("%d lines, want 1", got)
		}
	})
	t.Run("a symlink is not followed", func(t *testing.T) {
		outside := newWorkspace(t, map[string]string{"x.jsonl": ""})
		s := newWorkspace(t, nil)
		s.link(".claude/memory/decisions.jsonl", outside.path("x.jsonl"))
		s.link(".claude/memory/progress_log.jsonl", "../../inside.jsonl")
		r := s.stdioWith(nil, "--toolsets", "learning-os", "--approve", "auto", "--log-level", "error")
		for _, args := range []string{entry, strings.Replace(entry, "decisions", "progress_log", 1)} {
			if got := r.call("write_memory_entry", args); !got.failed {
				t.Errorf("written through a symlink: %s", got.text)
			}
		}
		r.end()
		if outside.read("x.jsonl") != "" || s.read("inside.jsonl") != "" {
			t.Error("the symlink was followed")
		}
	})
}

// TestApprovalsAreForExactArguments checks that an approval does not apply to arguments that differ
// in the smallest detail.
func TestApprovalsAreForExactArguments(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, approved, sent string }{
		{"another text", `"a"`, `"b"`},
		{"another case", `"a"`, `"A"`},
		{"text and number", `"1"`, `1`},
		{"null and nothing", `null`, `0`},
		{"large numbers", `12345678901234567890`, `12345678901234567891`},
		{"beyond a float", `9007199254740993`, `9007199254740992`},
		{"a late digit", `0.1`, `0.10000000000000000001`},
		{"out of range", `1e400`, `1e401`},
		{"composed and decomposed", `"\u00e9"`, `"e\u0301"`},
		{"halves of characters", `"\ud800"`, `"\ud801"`},
		{"half and replacement", `"\ud800"`, `"\ufffd"`},
		{"order of a list", `[1,2]`, `[2,1]`},
		{"deep inside", `{"a":[{"b":1}]}`, `{"a":[{"b":2}]}`},
		{"one key more", `{"a":1}`, `{"a":1,"b":null}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newWorkspace(t, nil)
			r := s.stdio("--toolsets", "learning-os")
			call := func(x string) message {
				return r.reply(r.start("write_memory_entry", `{"file":"decisions.jsonl","entry":{"timestamp":"2026-01-09T10:30:00Z","type":"t","x":`+x+`}}`))
			}
			asked := call(test.approved)
			if asked.Error != nil {
				return // rejected as invalid, so there is nothing to approve
			}
			id := approvalID.FindStringSubmatch(r.result(asked).text)
			if id == nil {
				t.Fatalf("not pending: %s", asked.raw)
			}
			if got := s.person("approvals", "approve", id[1]); got.code != 0 {
				t.Fatalf("approve: %s", got.errOut)
			}
			if got := call(test.sent); s.memory("decisions.jsonl") != nil {
				t.Errorf("%s was allowed by the approval of %s: %s", test.sent, test.approved, got.raw)
			}
			wantText(t, r.result(call(test.approved)), `{"success":true,"line_number":1}`)
			r.end()
		})
	}
}
