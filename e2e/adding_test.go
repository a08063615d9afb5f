package e2e

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/engine/audit"
	"remit/internal/frontends/cli"
)

// snippets are the code blocks of docs/adding-a-tool.md.
type snippets struct {
	file     string // path of the contract, relative to the root of the repository
	contract string
	table    string // the line in the table of handlers
	method   string // the method and its types
}

// readSnippets reads the snippets from the document. They may have at most 40 lines.
func readSnippets(t *testing.T) snippets {
	t.Helper()
	document := read(t, "../docs/adding-a-tool.md")
	contractText, file := firstBlock(t, document, "yaml"), ""
	if match := regexp.MustCompile(`^# (\S+\.yaml)\n`).FindStringSubmatch(contractText); match != nil {
		file = match[1]
	}
	goBlocks := blocks(document, "go")
	if file == "" || len(goBlocks) != 2 {
		t.Fatalf("the document has the file %q and %d Go blocks, want a file and 2 blocks", file, len(goBlocks))
	}
	s := snippets{file, contractText, goBlocks[0], goBlocks[1]}
	if lines := strings.Count(s.contract, "\n") + strings.Count(s.table, "\n") + strings.Count(s.method, "\n"); lines >= 40 {
		t.Errorf("the tool needs %d lines by hand, want fewer than 40", lines)
	}
	return s
}

// TestAddingATool binds the contract of docs/adding-a-tool.md to the code that the document shows,
// and replays the examples.
func TestAddingATool(t *testing.T) {
	t.Parallel()
	shown, code := readSnippets(t), read(t, "countwords_test.go")
	for _, part := range []string{shown.table, shown.method} {
		if !strings.Contains(code, part) {
			t.Errorf("countwords_test.go does not contain the code of the document:\n%s", part)
		}
	}
	folder := filepath.Dir(shown.file)
	set, err := contract.Load(fstest.MapFS{
		"_set.yaml":               {Data: []byte(read(t, filepath.Join("..", folder, "_set.yaml")))},
		filepath.Base(shown.file): {Data: []byte(shown.contract)},
	}, ".")
	if err != nil {
		t.Fatal(err)
	}
	table := engine.Toolset{Sets: []string{set.Name}, Handlers: new(Tools).handlers()}
	bound, err := engine.New([]*contract.Set{set}, engine.Handlers{Catalog: []*contract.Set{set}, Toolsets: []engine.Toolset{table}},
		engine.Options{Audit: noRecorder{}, Observer: noRecorder{}, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	examples := set.Contracts[0].Examples
	if len(examples) == 0 {
		t.Error("the tool has no example")
	}
	for _, e := range examples {
		result, err := bound.Call(t.Context(), engine.Call{Tool: set.Contracts[0].Name, Args: e.Arguments, Principal: cli.LocalPrincipal})
		if err != nil {
			t.Fatal(err)
		}
		checkExample(t, e, toolResult{string(result.Body), result.Err != nil})
	}
}

// noRecorder does not record calls.
type noRecorder struct{}

func (noRecorder) Ready(time.Time) error                            { return nil }
func (noRecorder) Write(context.Context, *audit.Record, bool) error { return nil }
func (noRecorder) Observe(tool, outcome string, took time.Duration) {}

// TestAddingAToolToTheRepository follows docs/adding-a-tool.md exactly in a copy of the repository:
// it writes two files by hand and runs the examples.
func TestAddingAToolToTheRepository(t *testing.T) {
	if os.Getenv("REMIT_FULL") != "true" {
		t.Skip("slow: it builds a copy of the repository; ./test.sh --full runs it")
	}
	t.Parallel()
	copied, shown := copyRepository(t), readSnippets(t)
	write(t, filepath.Join(copied, shown.file), shown.contract)
	source := filepath.Join(copied, "internal/toolsets/learning/learning.go")
	table := "Handlers: map[string]engine.Handler{\n"
	code := read(t, source)
	if !strings.Contains(code, table) {
		t.Fatal("the table of handlers was not found")
	}
	write(t, source, strings.Replace(code, table, table+shown.table, 1)+"\n"+shown.method)

	run(t, copied, "go", "generate", "./...")
	if out := run(t, copied, "go", "run", "./cmd/remit", "call", "count_words", "text=one two three", "--toolsets", "booster"); out != "{\"words\":3}\n" {
		t.Errorf("the new tool answered %q", out)
	}
	// Run only the new tool's set where a test covers all sets, and the scripts that print tools.
	tests := "(TestExamples|TestReadOnly|TestIdempotent|TestScripts|TestGoClientLists|TestCompiled)/(booster|tools|call|contract|export)"
	out := run(t, copied, "go", "test", "-count=1", "-v", "-run", tests, "./e2e", "./internal/contract/catalog")
	run(t, copied, "go", "test", "-count=1", "-run", "Completion", "./internal/frontends/cli")
	run(t, copied, "go", "-C", "tools/generate", "test", "-count=1", "-run", "^(TestContractsUpToDate|TestVersionGate)$")
	if !strings.Contains(out, "count_words") {
		t.Errorf("the examples of the new tool were not replayed:\n%s", out)
	}
}

func copyRepository(t *testing.T) string {
	t.Helper()
	target := t.TempDir()
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() && (name == ".git" || name == "node_modules" || name == ".remit") {
			return filepath.SkipDir
		}
		to := filepath.Join(target, strings.TrimPrefix(path, ".."))
		if entry.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// blocks returns the fenced code blocks of a language.
func blocks(document, language string) []string {
	var found []string
	for _, part := range strings.Split(document, "```"+language+"\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		found = append(found, block)
	}
	return found
}

func firstBlock(t *testing.T, document, language string) string {
	t.Helper()
	found := blocks(document, language)
	if len(found) == 0 {
		t.Fatalf("the document has no %s block", language)
	}
	return found[0]
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run runs a Go command with the flags that the tests were compiled with, so that the build cache
// applies.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	flags := goEnv(t, "GOFLAGS") + " -trimpath"
	if underRace() {
		flags += " -race"
	}
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS="+flags, noRaceSleep)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s\n%s", name, strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}
