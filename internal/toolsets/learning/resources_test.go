package learning_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"remit/internal/contract"
	"remit/internal/contract/catalog"
	"remit/internal/engine"
	"remit/internal/engine/enginetest"
	"remit/internal/stores/memlog"
	"remit/internal/stores/workspace"
	"remit/internal/toolsets/learning"
)

// now is the time of every test.
var now = time.Date(2026, 1, 9, 10, 30, 0, 0, time.UTC)

var ann = engine.Requester{Principal: "ann"}

// fixture is an engine that serves one edition on its own folder.
type fixture struct {
	*engine.Engine
	dir string
}

// serve opens a folder with these files like the app does.
func serve(t *testing.T, edition string, files map[string]string, readOnly bool, rules map[string]contract.Tightening) *fixture {
	t.Helper()
	known, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	sets, err := catalog.Select(known, []string{edition})
	if err != nil {
		t.Fatal(err)
	}
	if sets, err = contract.Tighten(sets, rules); err != nil {
		t.Fatal(err)
	}
	s := &fixture{dir: t.TempDir()}
	for name, content := range files {
		s.write(t, name, content)
	}
	root, err := workspace.Open(s.dir, filepath.Join(s.dir, ".remit"))
	if err != nil {
		t.Fatal(err)
	}
	memory := &memlog.Memory{Files: root, Reader: root, Folder: ".claude/memory"}
	t.Cleanup(func() { _ = errors.Join(memory.Close(), root.Close()) })
	tools := &learning.Tools{Memory: memory, Files: root, Now: func() time.Time { return now }, AllSets: known, Served: sets}
	handlers := engine.Handlers{Catalog: known, Toolsets: []engine.Toolset{tools.Toolset()}}
	s.Engine = enginetest.Serve(t, sets, handlers, engine.Options{ReadOnly: readOnly})
	return s
}

func (s *fixture) write(t *testing.T, name, content string) {
	t.Helper()
	full := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// memories returns the URIs of the resources, without those of the contracts.
func (s *fixture) memories(t *testing.T) []string {
	t.Helper()
	list, err := s.Resources(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var uris []string
	for _, r := range list {
		if strings.HasPrefix(r.URI, "memory://") {
			uris = append(uris, r.URI)
		}
	}
	return uris
}

func (s *fixture) promptNames() []string {
	var names []string
	for _, p := range s.Prompts() {
		names = append(names, p.Name)
	}
	return names
}

// start returns the text of each message: of its block, or of the file it embeds.
func (s *fixture) start(t *testing.T, prompt string, args map[string]string) (texts []string, files map[string]string) {
	t.Helper()
	_, messages, err := s.StartPrompt(context.Background(), ann, prompt, args)
	if err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	for _, m := range messages {
		if m.Role != "user" {
			t.Errorf("role %s", m.Role)
		}
		switch kind := m.Content.Field("type"); kind.Text {
		case "text":
			text := m.Content.Field("text")
			texts = append(texts, text.Text)
		case "resource":
			uri, text := m.Content.At("resource", "uri"), m.Content.At("resource", "text")
			files[uri.Text] = text.Text
		default:
			t.Errorf("a block of type %q", kind.Text)
		}
	}
	return texts, files
}

func kindOf(err error) contract.Kind {
	var e *contract.Error
	if !errors.As(err, &e) {
		return ""
	}
	return e.Kind
}

const memory = ".claude/memory/"

func TestResources(t *testing.T) {
	files := map[string]string{
		memory + "best_practices.md": "- Look first.\n", memory + "progress_log.jsonl": "{\"n\":1}\n", memory + "notes.md": "N", memory + "decisions.jsonl.torn": "T",
	}
	for edition, want := range map[string][]string{
		"booster":     {"memory://progress_log.jsonl", "memory://best_practices.md"},
		"learning-os": {"memory://progress_log.jsonl"},
	} {
		t.Run(edition, func(t *testing.T) {
			s := serve(t, edition, files, false, nil)
			if diff := cmp.Diff(want, s.memories(t)); diff != "" {
				t.Errorf("list: %s", diff)
			}
			list, err := s.Resources(context.Background(), nil)
			first := engine.Resource{
				URI: "memory://progress_log.jsonl", Name: "progress_log.jsonl", Title: "Progress log", MIME: "application/x-ndjson", Size: 8,
				Description: "Memory file: one JSON entry a line, oldest first.",
			}
			if diff := cmp.Diff(first, list[0]); diff != "" || err != nil {
				t.Errorf("first: %v %s", err, diff)
			}
			got, err := s.Read(context.Background(), ann, "memory://progress_log.jsonl")
			contents := []engine.Contents{{URI: "memory://progress_log.jsonl", MIME: "application/x-ndjson", Text: "{\"n\":1}\n"}}
			if diff := cmp.Diff(contents, got); diff != "" || err != nil {
				t.Errorf("read: %v %s", err, diff)
			}
			if _, err := s.Read(context.Background(), ann, "memory://decisions.jsonl"); kindOf(err) != contract.NotFound {
				t.Errorf("one that does not exist yet: %v", err)
			}
			values, err := s.CompleteTemplate(context.Background(), nil, "memory://{file}", "file", "P")
			if diff := cmp.Diff([]string{"progress_log.jsonl"}, values); diff != "" || err != nil {
				t.Errorf("completion: %v %s", err, diff)
			}
		})
	}
	s := serve(t, "booster", files, false, nil)
	got, err := s.Read(context.Background(), ann, "memory://best_practices.md")
	if err != nil || got[0].MIME != "text/markdown" || got[0].Text != "- Look first.\n" {
		t.Errorf("Markdown: %v %v", got, err)
	}
}

// TestOtherURIs: no URI gives access to anything but the memory files.
func TestOtherURIs(t *testing.T) {
	s := serve(t, "learning-os", map[string]string{
		memory + "decisions.jsonl": "{}\n", memory + "best_practices.md": "- b", memory + "other.jsonl": "{}\n", "x": "X", "README.md": "R", ".claude/settings.json": "S",
	}, false, nil)
	if _, err := s.Read(context.Background(), ann, "memory://decisions.jsonl"); err != nil {
		t.Fatal(err)
	}
	for _, uri := range []string{
		"memory://../x", "memory://../../x", "memory://..%2Fx", "memory://%2e%2e/x", "memory://%2E%2E%2F%2E%2E%2Fx", "memory://..\\x", "memory:///x", "memory:///etc/passwd",
		"memory://" + s.dir + "/x", "memory://./decisions.jsonl", "memory://decisions.jsonl/", "memory:///decisions.jsonl", "memory://decisions%2Ejsonl", "memory://DECISIONS.jsonl",
		"memory://decisions.jsonl?x", "memory://decisions.jsonl#x", "memory://decisions.jsonl\x00", "memory://localhost/decisions.jsonl", "MEMORY://decisions.jsonl", "memory:decisions.jsonl",
		"memory://", "memory://.", "memory://other.jsonl", "memory://best_practices.md", "memory://settings.json", "memory://../settings.json", "memory://{file}", "decisions.jsonl",
		"file:///etc/passwd", "file://" + s.dir + "/x",
	} {
		got, err := s.Read(context.Background(), ann, uri)
		if kindOf(err) != contract.NotFound || got != nil {
			t.Errorf("%q: %v %v", uri, got, err)
		}
	}
}

// TestLinksAreNotMemory: links in a repository give access to nothing.
func TestLinksAreNotMemory(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret.jsonl")
	if err := os.WriteFile(outside, []byte("{\"secret\":1}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := serve(t, "booster", map[string]string{"README.md": "R", memory + "best_practices.md": "- b", "elsewhere/progress_log.jsonl": "{}\n"}, false, nil)
	link := func(target, name string) {
		if err := os.Symlink(target, filepath.Join(s.dir, name)); err != nil {
			t.Skip("no links here:", err)
		}
	}
	link(outside, memory+"progress_log.jsonl")
	link("../../README.md", memory+"decisions.jsonl")
	for _, uri := range []string{"memory://progress_log.jsonl", "memory://decisions.jsonl"} {
		if got, err := s.Read(context.Background(), ann, uri); kindOf(err) != contract.NotFound {
			t.Errorf("%s: %v %v", uri, got, err)
		}
	}
	if diff := cmp.Diff([]string{"memory://best_practices.md"}, s.memories(t)); diff != "" {
		t.Errorf("list: %s", diff)
	}
	if err := os.RemoveAll(filepath.Join(s.dir, memory)); err != nil {
		t.Fatal(err)
	}
	link("../elsewhere", filepath.Clean(memory))
	if got := s.memories(t); got != nil {
		t.Errorf("behind a linked folder: %v", got)
	}
}

// TestOperatorRulesApplyToResources: resources do not show what read_repo_file may not read.
func TestOperatorRulesApplyToResources(t *testing.T) {
	files := map[string]string{memory + "decisions.jsonl": "{}\n", memory + "progress_log.jsonl": "{}\n"}
	for _, tc := range []struct {
		name    string
		rules   map[string]contract.Tightening
		only    bool // the flag --read-only
		uris    []string
		prompts []string
	}{
		{"no rules", nil, false, []string{"memory://progress_log.jsonl", "memory://decisions.jsonl"}, []string{"weekly_review", "record_decision", "explain_file"}},
		{"read-only", nil, true, []string{"memory://progress_log.jsonl", "memory://decisions.jsonl"}, []string{"weekly_review", "explain_file"}},
		{"no writing", map[string]contract.Tightening{"write_memory_entry": {Hide: true}}, false, []string{"memory://progress_log.jsonl", "memory://decisions.jsonl"}, []string{"weekly_review", "explain_file"}},
		{"no reading", map[string]contract.Tightening{"read_repo_file": {Hide: true}}, false, nil, []string{"record_decision"}},
		{"a denied file", map[string]contract.Tightening{"read_repo_file": {Deny: []string{"**/decisions.*"}}}, false, []string{"memory://progress_log.jsonl"}, []string{"weekly_review", "record_decision", "explain_file"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := serve(t, "learning-os", files, tc.only, tc.rules)
			if diff := cmp.Diff(tc.uris, s.memories(t)); diff != "" {
				t.Errorf("resources: %s", diff)
			}
			if diff := cmp.Diff(tc.prompts, s.promptNames()); diff != "" {
				t.Errorf("prompts: %s", diff)
			}
			_, err := s.Read(context.Background(), ann, "memory://decisions.jsonl")
			if readable := slices.Contains(tc.uris, "memory://decisions.jsonl"); readable != (err == nil) {
				t.Errorf("read: %v", err)
			}
		})
	}
}

func TestLongLogs(t *testing.T) {
	line := `{"timestamp":"2026-01-09T10:00:00Z","text":"` + strings.Repeat("x", 1000) + "\"}\n"
	whole := strings.Repeat(line, 5<<20/len(line))
	s := serve(t, "booster", map[string]string{
		memory + "progress_log.jsonl": whole, memory + "decisions.jsonl": `{"x":"` + strings.Repeat("x", 5<<20) + `"}`, memory + "best_practices.md": "caf\xe9\n",
	}, false, nil)
	got, err := s.Read(context.Background(), ann, "memory://progress_log.jsonl")
	if err != nil || len(got) != 2 {
		t.Fatalf("%d contents, %v", len(got), err)
	}
	text := got[0].Text
	if !strings.HasSuffix(whole, text) || !strings.HasPrefix(text, `{"timestamp"`) || len(text) < 4<<20-3*len(line) {
		t.Errorf("%d bytes that begin with %.20s", len(text), text)
	}
	note := fmt.Sprintf("progress_log.jsonl is %d bytes. These are its last %d bytes, from the start of a line; the %d bytes before them are left out.", len(whole), len(text), len(whole)-len(text))
	if got[1].Text != note || got[1].MIME != "text/plain" {
		t.Errorf("note: %s", got[1].Text)
	}
	if _, err := s.Read(context.Background(), ann, "memory://decisions.jsonl"); kindOf(err) != contract.TooLarge {
		t.Errorf("an endless line: %v", err)
	}
	got, err = s.Read(context.Background(), ann, "memory://best_practices.md")
	if err != nil || got[0].Text != "" || string(got[0].Blob) != "caf\xe9\n" {
		t.Errorf("a file that is not text must be returned as bytes: %v %v", got, err)
	}
}

func TestSubscriptions(t *testing.T) {
	s := serve(t, "learning-os", map[string]string{memory + "decisions.jsonl": "{}\n"}, false, nil)
	received := make(chan engine.Change, 16)
	defer s.Listen(func(c engine.Change) { received <- c })()
	defer s.Watch("memory://decisions.jsonl")()
	defer s.Watch("")()
	expect := func(want engine.Change) {
		t.Helper()
		select {
		case got := <-received:
			if got != want {
				t.Errorf("received %v, want %v", got, want)
			}
		case <-time.After(time.Minute):
			t.Errorf("received nothing, want %v", want)
		}
	}
	s.write(t, memory+"decisions.jsonl", "{}\n{}\n")
	expect(engine.Change{Kind: engine.ResourceUpdated, URI: "memory://decisions.jsonl"})
	s.write(t, memory+"progress_log.jsonl", "{}\n")
	expect(engine.Change{Kind: engine.ResourcesChanged})
}

func TestWeeklyReview(t *testing.T) {
	s := serve(t, "booster", map[string]string{
		memory + "progress_log.jsonl": strings.Join([]string{
			`{"event":"undated, before an old one"}`,
			`{"timestamp":"2025-12-01T10:00:00Z","event":"old"}`,
			`{"event":"undated, before a new one"}`,
			`{"timestamp":"2026-01-02T00:00:00Z","event":"first of the week"}`,
			`{"date":"2026-01-05","event":"by date"}`,
			`{"timestamp":"2026-01-01T23:59:59Z","event":"a second too old"}`,
			``,
			`{"timestamp":"2026-01-09T12:00:00+02:00","event":"today"}`,
			`"no object"`,
			`not even JSON`,
		}, "\n") + "\n",
		memory + "best_practices.md": "# Best\n- Look first.",
	}, false, nil)
	texts, files := s.start(t, "weekly_review", nil)
	want := map[string]string{
		"memory://progress_log.jsonl": strings.Join([]string{
			`{"event":"undated, before a new one"}`,
			`{"timestamp":"2026-01-02T00:00:00Z","event":"first of the week"}`,
			`{"date":"2026-01-05","event":"by date"}`,
			`{"timestamp":"2026-01-09T12:00:00+02:00","event":"today"}`,
			`"no object"`,
			`not even JSON`,
		}, "\n") + "\n",
		"memory://best_practices.md": "# Best\n- Look first.\n",
	}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("files: %s", diff)
	}
	for _, part := range []string{
		"the last 7 days, since 2026-01-02,", "- memory://progress_log.jsonl: 6 entries; older ones are left out\n",
		"- memory://decisions.jsonl: nothing is recorded yet\n", "- memory://best_practices.md: its entries have no dates\n", "Decided", "Learned", "Stuck", "Next steps",
	} {
		if len(texts) != 1 || !strings.Contains(texts[0], part) {
			t.Errorf("no %q in %q", part, texts)
		}
	}
	texts, files = s.start(t, "weekly_review", map[string]string{"days": " 60 "})
	if !strings.Contains(files["memory://progress_log.jsonl"], `"old"`) || !strings.Contains(texts[0], "9 entries\n") {
		t.Errorf("60 days: %v %v", texts, files)
	}
	for _, days := range []string{"0", "-7", "367", "seven", "7.5", "99999999999999999999"} {
		_, _, err := s.StartPrompt(context.Background(), ann, "weekly_review", map[string]string{"days": days})
		if kindOf(err) != contract.Invalid || !strings.Contains(err.Error(), "days must be a whole number from 1 to 366") {
			t.Errorf("days %s: %v", days, err)
		}
	}
	values, err := s.CompletePrompt(context.Background(), nil, "weekly_review", "days", "")
	if diff := cmp.Diff([]string{"7", "14", "30"}, values); diff != "" || err != nil {
		t.Errorf("completion: %v %s", err, diff)
	}
}

func TestWeeklyReviewIsBounded(t *testing.T) {
	var log strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&log, "{\"timestamp\":\"2026-01-08T10:00:00Z\",\"n\":%d,\"text\":%q}\n", i, strings.Repeat("x", 400))
	}
	s := serve(t, "learning-os", map[string]string{memory + "decisions.jsonl": log.String(), memory + "best_practices.md": "- not of this edition"}, false, nil)
	texts, files := s.start(t, "weekly_review", nil)
	kept := files["memory://decisions.jsonl"]
	if len(files) != 1 || len(kept) > 64<<10 || len(kept) < 63<<10 || !strings.HasSuffix(log.String(), kept) || !strings.HasPrefix(kept, "{") {
		t.Errorf("%d files, %d bytes that begin with %.20s", len(files), len(kept), kept)
	}
	want := fmt.Sprintf("- memory://decisions.jsonl: %d entries; older ones are left out; only the newest 64 KiB are included\n", strings.Count(kept, "\n"))
	if !strings.Contains(texts[0], want) || strings.Contains(texts[0], "best_practices") {
		t.Errorf("no %q in %s", want, texts[0])
	}
}

// TestRecordDecision: the prompt asks the model for arguments that the edition accepts.
func TestRecordDecision(t *testing.T) {
	for edition, form := range map[string]string{
		"booster":     `file "decisions.jsonl" and the JSON text of that object as entry, which is a string (at most 10KiB).`,
		"learning-os": `file "decisions.jsonl" and that object as entry (at most 10KiB).`,
	} {
		s := serve(t, edition, nil, false, nil)
		texts, _ := s.start(t, "record_decision", map[string]string{"title": "Use SQLite", "context": "One machine."})
		for _, part := range []string{"Use SQLite", "Context: One machine.", "now is 2026-01-09T10:30:00Z", `type: "decision"`, "write_memory_entry", form, "A person is asked to approve"} {
			if !strings.Contains(texts[0], part) {
				t.Errorf("%s: no %q in %s", edition, part, texts[0])
			}
		}
		texts, _ = s.start(t, "record_decision", map[string]string{"title": "Use SQLite"})
		if strings.Contains(texts[0], "Context:") {
			t.Errorf("%s: the prompt has a context that was not given: %s", edition, texts[0])
		}
		if _, _, err := s.StartPrompt(context.Background(), ann, "record_decision", nil); kindOf(err) != contract.Invalid {
			t.Errorf("%s: without a title: %v", edition, err)
		}
	}
}

func TestExplainFile(t *testing.T) {
	s := serve(t, "booster", nil, false, nil)
	texts, _ := s.start(t, "explain_file", map[string]string{"path": "docs/a \"b\".md"})
	if quoted, _ := json.Marshal("docs/a \"b\".md"); !strings.Contains(texts[0], string(quoted)) || !strings.Contains(texts[0], "read_repo_file") {
		t.Error(texts[0])
	}
}

// TestPathsToExplain: completion offers only what read_repo_file would read.
func TestPathsToExplain(t *testing.T) {
	files := map[string]string{
		"README.md": "", "docs/a.md": "", "docs/adr/1.md": "", "docs/with space.md": "", "docs/.env.local": "", "docs/secrets/s.md": "", "src/main.go": "", "docs/api-token.txt": "",
		".env": "", ".git/config": "", "node_modules/x/i.js": "", "server.key": "", ".remit/remit.db": "", memory + "decisions.jsonl": "", ".claude/settings.json": "",
	}
	for edition, cases := range map[string]map[string][]string{
		"booster": {
			"":          {".claude/", "README.md", "docs/", "src/"},
			"D":         {"docs/"},
			"docs":      {"docs/"},
			"docs/":     {"docs/a.md", "docs/adr/"},
			"docs/A":    {"docs/a.md", "docs/adr/"},
			"docs/adr/": {"docs/adr/1.md"},
			".claude/s": {".claude/settings.json"},
			".env":      nil, ".git/": nil, ".remit/": nil, "docs/secrets/": nil, "node_modules/": nil, "server": nil, "../": nil, "/": nil, "/etc/": nil, "./": nil, "docs/../": nil, "none/": nil,
		},
		"learning-os": {
			"":                {".claude/", "README.md", "docs/"},
			".claude/":        {".claude/memory/"},
			".claude/memory/": {memory + "decisions.jsonl"},
			"docs/":           {"docs/a.md", "docs/adr/"},
			"src/":            nil, "docs/secrets/": nil, "docs/.env": nil,
		},
	} {
		s := serve(t, edition, files, false, nil)
		for prefix, want := range cases {
			got, err := s.CompletePrompt(context.Background(), nil, "explain_file", "path", prefix)
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Errorf("%s %q: %v %s", edition, prefix, err, diff)
			}
		}
	}
	denying := serve(t, "booster", files, false, map[string]contract.Tightening{"read_repo_file": {Deny: []string{"docs/adr", "README.*"}}})
	got, err := denying.CompletePrompt(context.Background(), nil, "explain_file", "path", "")
	if diff := cmp.Diff([]string{".claude/", "docs/", "src/"}, got); diff != "" || err != nil {
		t.Errorf("what the operator denies: %v %s", err, diff)
	}
}

func TestManyPathsToExplain(t *testing.T) {
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("docs/%03d.md", i)] = ""
	}
	s := serve(t, "learning-os", files, false, nil)
	got, err := s.CompletePrompt(context.Background(), nil, "explain_file", "path", "docs/")
	if err != nil || len(got) != 300 || got[0] != "docs/000.md" || got[299] != "docs/299.md" {
		t.Errorf("%d paths, %v", len(got), err)
	}
}
