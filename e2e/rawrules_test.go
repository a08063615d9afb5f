package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const mebibyte = 1 << 20

// pathRulesWorkspace returns a workspace with files for every path rule.
func pathRulesWorkspace(t *testing.T) *workspace {
	s := newWorkspace(t, map[string]string{
		"README.md": "readme", "AGENTS.md": "agents", "main.go": "package main",
		"docs/a.md": "a", "docs/deep/er/b.md": "b", "docs/.gitignore": "x", "docs/empty.md": "", "docs/utf8.md": "Grüße, 世界 \x00\n",
		"docs/tokenizer.md": "tok", "docs/a..b.md": "dots", "docs/keys.md": "keys", "docs/environment.md": "env",
		"paths/Advanced/tracker.md": "# Progress Tracker\n\n...\n", "stacks/go.md": "go", "src/lib/x.ts": "x",
		".claude/memory/decisions.jsonl": "{}\n", ".claude/settings.json": "{}",
		"docs/latin1.txt": "caf\xe9", "docs/binary.bin": "\x00\xff\x10",
	})
	s.link("CLAUDE.md", "AGENTS.md")
	s.link("docs/inside.md", "a.md")
	s.link("docs/chain.md", "inside.md")
	s.link("docs/up-and-down.md", "../docs/deep/er/b.md")
	s.link("docs/absolute.md", s.path("docs/a.md"))
	s.link("docs/folder", "deep")
	s.link("docs/dangling.md", "nowhere.md")
	s.link("docs/loop.md", "loop.md")
	return s
}

// answer is an expected answer: content, or an error that contains a text.
type answer struct {
	content  string
	code     int    // in booster
	contains string // part of the message in booster, the whole message in learning-os
	rule     string // the rule that denies the path, in learning-os
	outside  bool   // the answer lists the allowed paths, in learning-os
}

func TestBoosterReadRules(t *testing.T) {
	t.Parallel()
	r := pathRulesWorkspace(t).stdio("--toolsets", "booster", "--rate-limits", "off")
	for path, want := range map[string]answer{
		"README.md":                      {content: "readme"},
		"main.go":                        {content: "package main"},
		"src/lib/x.ts":                   {content: "x"},
		"paths/Advanced/tracker.md":      {content: "# Progress Tracker\n\n...\n"},
		"docs/.gitignore":                {content: "x"},
		"docs/tokenizer.md":              {content: "tok"},
		"docs/keys.md":                   {content: "keys"},
		"docs/environment.md":            {content: "env"},
		"docs/a..b.md":                   {content: "dots"},
		"docs/empty.md":                  {content: ""},
		"docs/utf8.md":                   {content: "Grüße, 世界 \x00\n"},
		"./docs/a.md":                    {content: "a"},
		"docs/./deep//er/b.md":           {content: "b"},
		"CLAUDE.md":                      {content: "agents"},
		"docs/inside.md":                 {content: "a"},
		"docs/chain.md":                  {content: "a"},
		"docs/up-and-down.md":            {content: "b"},
		"docs/absolute.md":               {content: "a"},
		"docs/folder/er/b.md":            {content: "b"},
		".claude/memory/decisions.jsonl": {content: "{}\n"},

		"docs/missing.md":       {code: 404, contains: "docs/missing.md"},
		"docs/dangling.md":      {code: 404, contains: "docs/dangling.md"},
		"docs/a.md/b.md":        {code: 404, contains: "docs/a.md/b.md"},
		"docs":                  {code: 400, contains: "folder"},
		".":                     {code: 400, contains: "folder"},
		"docs/folder":           {code: 400, contains: "folder"},
		"docs/latin1.txt":       {code: 400, contains: "encoding=base64"},
		"":                      {code: 400, contains: "path"},
		"docs/a b.md":           {code: 400, contains: "path"},
		"docs/ü.md":             {code: 400, contains: "path"},
		`docs\a.md`:             {code: 400, contains: "path"},
		"docs/a.md\n":           {code: 400, contains: "path"},
		"docs/a.md\x00":         {code: 400, contains: "path"},
		"~/.bashrc":             {code: 400, contains: "path"},
		"C:/x":                  {code: 400, contains: "path"},
		"..":                    {code: 403, contains: ".."},
		"../README.md":          {code: 403, contains: "../README.md"},
		"docs/../README.md":     {code: 403, contains: "docs/../README.md"},
		"docs/..":               {code: 403, contains: "docs/.."},
		"a/b/c/../../../../etc": {code: 403, contains: "etc"},
		"/":                     {code: 403, contains: "/"},
		"/etc/passwd":           {code: 403, contains: "/etc/passwd"},
		"//etc/passwd":          {code: 403, contains: "//etc/passwd"},
	} {
		t.Run(path, func(t *testing.T) {
			got := r.call("read_repo_file", `{"path":`+quoted(path)+`}`)
			if want.code != 0 {
				wantCoded(t, got, want.code, want.contains)
				return
			}
			wantFile(t, got, want.content)
		})
	}
	r.end()
}

func TestLearningOSReadRules(t *testing.T) {
	t.Parallel()
	r := pathRulesWorkspace(t).stdio("--toolsets", "learning-os")
	for path, want := range map[string]answer{
		"README.md":                      {content: "readme"},
		"CLAUDE.md":                      {content: "agents"},
		"docs/a.md":                      {content: "a"},
		"docs/deep/er/b.md":              {content: "b"},
		"docs/utf8.md":                   {content: "Grüße, 世界 \x00\n"},
		"paths/Advanced/tracker.md":      {content: "# Progress Tracker\n\n...\n"},
		"stacks/go.md":                   {content: "go"},
		".claude/memory/decisions.jsonl": {content: "{}\n"},
		"./README.md":                    {content: "readme"},
		"docs/chain.md":                  {content: "a"},
		"docs/absolute.md":               {content: "a"},

		"docs/missing.md":       {contains: "File not found: docs/missing.md"},
		"docs/dangling.md":      {contains: "File not found: docs/dangling.md"},
		"main.go":               {contains: "Path not allowed: main.go", outside: true},
		"AGENTS.md":             {contains: "Path not allowed: AGENTS.md", outside: true},
		"src/lib/x.ts":          {contains: "Path not allowed: src/lib/x.ts", outside: true},
		"missing.go":            {contains: "Path not allowed: missing.go", outside: true},
		".claude/settings.json": {contains: "Path not allowed: .claude/settings.json", outside: true},
		"other/README.md":       {contains: "Path not allowed: other/README.md", outside: true},
		"readme.md":             {contains: "Path not allowed: readme.md", outside: true},
		"docsx/a.md":            {contains: "Path not allowed: docsx/a.md", outside: true},
		"..":                    {contains: "Path not allowed: ..", outside: true},
		"docs/../README.md":     {contains: "Path not allowed: docs/../README.md", outside: true},
		"docs/../docs/a.md":     {contains: "Path not allowed: docs/../docs/a.md", outside: true},
		"docs/a..b.md":          {contains: "Path not allowed: docs/a..b.md", rule: "**/*..*"},
		"/etc/passwd":           {contains: "Path not allowed: /etc/passwd", outside: true},
		"docs/.env":             {contains: "Path not allowed: docs/.env", rule: "**/.env*"},
		"docs/secrets/x.md":     {contains: "Path not allowed: docs/secrets/x.md", rule: "**/secrets/**"},
		"docs/.git/config":      {contains: "Path not allowed: docs/.git/config", rule: "**/.git/**"},
		".claude/memory/.env":   {contains: "Path not allowed: .claude/memory/.env", rule: "**/.env*"},
		"paths/.env.d/x.md":     {contains: "Path not allowed: paths/.env.d/x.md", rule: "**/.env*"},
	} {
		t.Run(path, func(t *testing.T) {
			got := r.call("read_repo_file", `{"path":`+quoted(path)+`}`)
			if want.contains != "" {
				rule := ""
				if want.rule != "" {
					rule = `,"rule":` + quoted(want.rule)
				}
				if want.outside {
					rule = `,"allowed":["docs/**","paths/**","stacks/**",".claude/memory/**","README.md","CLAUDE.md"]`
				}
				wantText(t, got, `{"error":`+quoted(want.contains)+rule+`}`)
				return
			}
			wantFile(t, got, want.content)
		})
	}
	for name, args := range map[string]string{
		"pattern":          `{"path":"docs/a b.md"}`,
		"empty":            `{"path":""}`,
		"longer than 256":  `{"path":"docs/` + strings.Repeat("a", 252) + `"}`,
		"not a string":     `{"path":1}`,
		"missing":          `{}`,
		"null":             `{"path":null}`,
		"unknown argument": `{"path":"README.md","encoding":"base64"}`,
		"not UTF-8":        `{"path":"docs/latin1.txt"}`,
		"binary":           `{"path":"docs/binary.bin"}`,
		"folder":           `{"path":"docs"}`,
	} {
		t.Run(name, func(t *testing.T) {
			if got := r.call("read_repo_file", args); !got.failed || !strings.HasPrefix(got.text, `{"error":"Invalid input: `) {
				t.Errorf("not an error of the learning-os edition: %s", got.text)
			}
		})
	}
	if got := r.call("read_repo_file", `{"path":"docs/`+strings.Repeat("a", 251)+`"}`); !strings.Contains(got.text, "File not found: docs/aaa") {
		t.Errorf("a path of exactly 256 characters: %s", clip(got.text))
	}
	r.end()
}

// deniedPaths are paths that no edition may read. All are in a folder that learning-os allows.
var deniedPaths = []string{
	"docs/.env", "docs/.env.local", "docs/.envrc", "docs/a/b/c/.env.production", "docs/.env.d/inside.md", "docs/.ENV",
	"docs/secrets/k.md", "docs/a/secrets/b/k.md", "docs/Secrets/k.md",
	"docs/.git/config", "docs/a/.git/hooks/x",
}

var deniedInBooster = []string{
	".env", ".env.local", "config/.env.production", "secrets/k.txt", "a/secrets/k.txt", "secrets/deep/er/k.txt", ".git/config", ".git/HEAD",
	"server.key", "a/b/server.key", "docs/.key", "cert.pem", "a/b/cert.pem", "SERVER.KEY", "a/x.Pem",
	"node_modules/x/index.js", "a/node_modules/x/index.js", "pkg/__pycache__/m.pyc",
	"token", "token.json", "api_token.txt", "my-token-v2.yaml", "a/api-token.csv", "a/credentials", "aws-credentials.ini",
	"password.txt", "db_password", "a/db_passwords.toml", "Token.json", "a/.npmrc", ".ssh/known_hosts", "id_rsa", "terraform.tfstate",
}

// TestDeniedRevealsNothing checks that a denied path gets the same bytes whether or not the file
// exists.
func TestDeniedRevealsNothing(t *testing.T) {
	t.Parallel()
	for set, paths := range map[string][]string{"booster": append(deniedInBooster, deniedPaths...), "learning-os": deniedPaths} {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			empty, full := newWorkspace(t, map[string]string{"docs/a.md": "a"}), newWorkspace(t, nil)
			for i, path := range paths {
				full.write(path, "SECRET")
				link := fmt.Sprintf("docs/link%d.md", i)
				for _, s := range []*workspace{empty, full} {
					s.link(link, strings.Repeat("../", strings.Count(link, "/"))+path)
				}
				paths = append(paths[:len(paths):len(paths)], link)
			}
			without, with := empty.stdio("--toolsets", set, "--rate-limits", "off"), full.stdio("--toolsets", set, "--rate-limits", "off")
			for _, path := range paths {
				for _, args := range []string{`{"path":` + quoted(path) + `}`, `{"path":` + quoted("./"+path) + `}`} {
					missing, there := without.call("read_repo_file", args), with.call("read_repo_file", args)
					if missing != there {
						t.Errorf("%s: the answer reveals existence:\nmissing: %s\nexists:  %s", args, missing.text, there.text)
					}
					if !there.failed || strings.Contains(there.text, "SECRET") {
						t.Errorf("%s is not denied: %s", args, there.text)
					}
					if set == "booster" {
						wantCoded(t, there, 403, "")
					} else if !strings.Contains(there.text, "Path not allowed") {
						t.Errorf("%s is not denied: %s", args, there.text)
					}
				}
			}
			without.end()
			with.end()
		})
	}
}

// TestSymlinksOutOfBounds checks that a symlink to a denied or outside file cannot be read.
func TestSymlinksOutOfBounds(t *testing.T) {
	t.Parallel()
	outside := newWorkspace(t, map[string]string{"x.md": "OUTSIDE", "sub/y.md": "OUTSIDE"})
	s := newWorkspace(t, map[string]string{".env": "SECRET", "secrets/k.md": "SECRET", "docs/a.md": "a", "other/b.md": "b"})
	s.link("docs/x.md", "../.env")
	s.link("docs/twice.md", "x.md")
	s.link("docs/folder", "../secrets")
	s.link("docs/out.md", outside.path("x.md"))
	s.link("docs/outfolder", outside.path("sub"))
	s.link("docs/outmissing.md", outside.path("missing.md"))
	s.link("docs/above.md", "../../x.md")
	s.link("docs/passwd", "/etc/passwd")
	s.link("docs/proc", "/proc/self/environ")
	s.link("docs/back", "..")
	s.link("docs/loop.md", "loop.md")
	for _, set := range []string{"booster", "learning-os"} {
		t.Run(set, func(t *testing.T) {
			r := s.stdio("--toolsets", set)
			for _, path := range []string{
				"docs/x.md", "docs/twice.md", "docs/folder/k.md", "docs/out.md", "docs/outfolder/y.md", "docs/outmissing.md", "docs/above.md",
				"docs/passwd", "docs/proc", "docs/back/.env", "docs/back/secrets/k.md",
			} {
				got := r.call("read_repo_file", `{"path":`+quoted(path)+`}`)
				if !strings.Contains(got.text, "Access denied: "+path) && !strings.Contains(got.text, "Path not allowed: "+path) {
					t.Errorf("%s: %s", path, got.text)
				}
			}
			if got := r.call("read_repo_file", `{"path":"docs/loop.md"}`); !got.failed {
				t.Errorf("a symlink loop: %s", got.text)
			}
			r.end()
		})
	}
}

func TestFileSizes(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, map[string]string{
		"docs/exact.md": strings.Repeat("x", mebibyte), "docs/over.md": strings.Repeat("x", mebibyte+1),
		"docs/umlauts.md": strings.Repeat("ü", mebibyte/2), "docs/lines.md": strings.Repeat("\"\\\n\t", mebibyte/4),
	})
	for _, set := range []string{"booster", "learning-os"} {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			r := s.stdio("--toolsets", set)
			for _, file := range []string{"exact", "umlauts", "lines"} {
				wantFile(t, r.call("read_repo_file", `{"path":"docs/`+file+`.md"}`), s.read("docs/"+file+".md"))
			}
			got := r.call("read_repo_file", `{"path":"docs/over.md"}`)
			if set == "booster" {
				wantCoded(t, got, 413, "1048577")
				wantCoded(t, r.call("read_repo_file", `{"path":"docs/over.md","encoding":"base64"}`), 413, "1048577")
				exact := r.call("read_repo_file", `{"path":"docs/exact.md","encoding":"base64"}`)
				if file := wantRead(t, exact); file.Size != mebibyte || file.Content != base64.StdEncoding.EncodeToString([]byte(s.read("docs/exact.md"))) {
					t.Errorf("exactly 1 MiB as base64: size %d, %d characters", file.Size, len(file.Content))
				}
			} else if !got.failed || !strings.Contains(got.text, "1048577") {
				t.Errorf("1 MiB and one byte: %s", clip(got.text))
			}
			r.end()
		})
	}
}

func TestEncodings(t *testing.T) {
	t.Parallel()
	s := pathRulesWorkspace(t)
	at := time.Date(2026, 1, 9, 10, 0, 0, 0, time.UTC)
	for _, name := range []string{"docs/binary.bin", "docs/a.md"} {
		s.check(os.Chtimes(s.path(name), at, at))
	}
	r := s.stdio("--toolsets", "booster")
	for args, want := range map[string]string{
		`{"path":"docs/binary.bin","encoding":"base64"}`: `{"content":"AP8Q","size":3,"modified":"2026-01-09T10:00:00Z"}`,
		`{"path":"docs/a.md","encoding":"base64"}`:       `{"content":"YQ==","size":1,"modified":"2026-01-09T10:00:00Z"}`,
		`{"path":"docs/a.md","encoding":"utf-8"}`:        `{"content":"a","size":1,"modified":"2026-01-09T10:00:00Z"}`,
		`{"path":"docs/a.md","encoding":null}`:           `{"content":"a","size":1,"modified":"2026-01-09T10:00:00Z"}`,
		`{"encoding":"utf-8","path":"docs/a.md"}`:        `{"content":"a","size":1,"modified":"2026-01-09T10:00:00Z"}`,
		`{"path":"docs/\u0061.md"}`:                      `{"content":"a","size":1,"modified":"2026-01-09T10:00:00Z"}`,
	} {
		got := r.call("read_repo_file", args)
		if got.failed {
			t.Errorf("%s: %s", args, got.text)
		}
		wantText(t, got, want)
	}
	for _, args := range []string{`{"path":"docs/latin1.txt"}`, `{"path":"docs/binary.bin","encoding":"utf-8"}`} {
		wantCoded(t, r.call("read_repo_file", args), 400, "encoding=base64")
	}
	wantCoded(t, r.call("read_repo_file", `{"path":"docs/a.md","encoding":"utf8"}`), 400, `did you mean \"utf-8\"?`)
	wantCoded(t, r.call("read_repo_file", `{"path":"docs/a.md","encoding":1}`), 400, "encoding")
	wantCoded(t, r.call("read_repo_file", `{"path":"docs/a.md","encodin":"utf-8"}`), 400, `did you mean \"encoding\"?`)
	wantCoded(t, r.call("read_repo_file", `{}`), 400, "path")
	wantCoded(t, r.call("read_repo_file", `[]`), 400, "object")
	wantCoded(t, r.call("read_repo_file", `"README.md"`), 400, "object")
	r.end()
}

func TestHelloRules(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	r := s.stdio("--toolsets", "booster")
	for args, want := range map[string]string{
		`{}`: "Hello, World!", `null`: "Hello, World!", `{"name":null}`: "Hello, World!", `{"name":"Learner"}`: "Hello, Learner!",
		`{"name":"Zoë \"<b>\" 世界"}`: `Hello, Zoë "<b>" 世界!`, `{"name":"\ud83d\ude00"}`: "Hello, 😀!",
	} {
		got := r.call("hello", args)
		var body struct {
			Message   string    `json:"message"`
			Timestamp time.Time `json:"timestamp"`
		}
		r.decode([]byte(got.text), &body)
		if got.failed || body.Message != want || time.Since(body.Timestamp).Abs() > timeout || !strings.Contains(got.text, `Z"`) {
			t.Errorf("%s: %s, want %q", args, got.text, want)
		}
	}
	wantCoded(t, r.call("hello", `{"name":1}`), 400, "name")
	wantCoded(t, r.call("hello", `{"name":"`+strings.Repeat("x", 256*kibibyte)+`"}`), 413, "256KiB")
	wantCoded(t, r.call("hello", `{"nmae":"x"}`), 400, `did you mean \"name\"?`)
	r.end()

	r = s.stdio("--toolsets", "learning-os")
	for args, want := range map[string]string{
		`{"name":"Ada"}`: `{"greeting":"Hello, Ada!"}`,
		`{"name":"` + strings.Repeat("ü", 100) + `"}`: `{"greeting":"Hello, ` + strings.Repeat("ü", 100) + `!"}`,
		`{"name":"` + strings.Repeat("😀", 100) + `"}`: `{"greeting":"Hello, ` + strings.Repeat("😀", 100) + `!"}`,
	} {
		wantText(t, r.call("hello", args), want)
	}
	for _, args := range []string{`{}`, `null`, `{"name":null}`, `{"name":7}`, `{"name":["Ada"]}`, `{"name":"` + strings.Repeat("a", 101) + `"}`, `{"name":"Ada","x":1}`} {
		if got := r.call("hello", args); !got.failed || !strings.HasPrefix(got.text, `{"error":"Invalid input: `) {
			t.Errorf("%s: %s", clip(args), got.text)
		}
	}
	r.end()
}

// file is the answer of read_repo_file.
type file struct {
	Content  string `json:"content"`
	Size     int    `json:"size"`
	Modified string `json:"modified"`
}

func wantRead(t *testing.T, got toolResult) file {
	t.Helper()
	var f file
	if err := json.Unmarshal([]byte(got.text), &f); err != nil || got.failed {
		t.Errorf("not a file: %s (%v)", clip(got.text), err)
	}
	return f
}

func wantFile(t *testing.T, got toolResult, content string) {
	t.Helper()
	if f := wantRead(t, got); f.Content != content || f.Size != len(content) {
		t.Errorf("size %d, content %q; want %d, %q", f.Size, clip(f.Content), len(content), clip(content))
	}
}

// wantCoded checks an error in the format of booster.
func wantCoded(t *testing.T, got toolResult, code int, contains string) {
	t.Helper()
	if !got.failed || !strings.HasPrefix(got.text, fmt.Sprintf(`{"error":{"code":%d,"message":"`, code)) || !strings.Contains(got.text, contains) {
		t.Errorf("want an error %d that contains %q: %s", code, contains, clip(got.text))
	}
}

func wantText(t *testing.T, got toolResult, want string) {
	t.Helper()
	if diff := cmp.Diff(want, got.text); diff != "" {
		t.Errorf("-want +got:\n%s", clip(diff))
	}
}
