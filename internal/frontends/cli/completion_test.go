package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"remit/internal/app"
	"remit/internal/contract/catalog"
	"remit/internal/engine/approval"
	"remit/internal/frontends/cli"
	"remit/internal/toolsets/tasks"
)

// The last lines of a completion: what the shell does with the words.
const (
	listed    = ":36" // these words, in this order
	isList    = ":38" // these words, in this order; a comma may follow
	nothing   = ":4"  // no more arguments
	anyFile   = ":0"
	anyFolder = ":16"
)

// completes runs a completion and returns its words and its last line. Stdout must contain nothing
// else.
func completes(t *testing.T, lists func(cli.Settings) cli.Lists, line ...string) []string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	program := &cli.Program{
		Lists: lists, Catalog: catalog.Load, Now: time.Now, Args: append([]string{"__complete"}, line...),
		Env: func(string) (string, bool) { return "", false }, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
	}
	if code := program.Main(t.Context()); code != cli.ExitOK {
		t.Fatalf("complete %q: exit code %d: %s", line, code, stderr.String())
	}
	return strings.Split(strings.TrimSuffix(stdout.String(), "\n"), "\n")
}

// offers checks what completion offers in the folder of a person.
func (p *person) offers(line []string, want ...string) {
	p.t.Helper()
	if diff := cmp.Diff(want, completes(p.t, app.Lists, append([]string{"--root", p.root}, line...)...)); diff != "" {
		p.t.Errorf("complete %q (-want +got):\n%s", line, diff)
	}
}

// content returns the files of a folder, without those of the database, whose log SQLite may merge.
func content(t *testing.T, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			found[path] = "folder"
			return err
		}
		if !strings.HasPrefix(entry.Name(), "remit.db") {
			text, err := os.ReadFile(path)
			found[path] = string(text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// requests returns the ids of the requests that wait for approval, newest first.
func (p *person) requests() (ids []string) {
	p.t.Helper()
	out, _ := p.runs(cli.ExitOK, "approvals", "list")
	for line := range strings.Lines(out) {
		ids = append(ids, strings.Fields(line)[0])
	}
	return ids[1:] // without the heading
}

// newTokens creates tokens and returns their ids by name.
func (p *person) newTokens(names ...string) map[string]string {
	p.t.Helper()
	ids := map[string]string{}
	for _, name := range names {
		out, _ := p.runs(cli.ExitOK, "token", "create", "--name", name, "--json")
		var made struct{ ID string }
		if err := json.Unmarshal([]byte(out), &made); err != nil {
			p.t.Fatal(err)
		}
		ids[name] = made.ID
	}
	return ids
}

// storedLines are command lines that are completed with stored data.
func storedLines() [][]string {
	return [][]string{
		{"tasks", "done", ""},
		{"tasks", "edit", ""},
		{"tasks", "rm", ""},
		{"approvals", "show", ""},
		{"approvals", "approve", ""},
		{"approvals", "deny", ""},
		{"token", "revoke", ""},
		{"books", "export", ""},
		{"books", "validate", ""},
		{"books", "log", ""},
		{"books", "restore", ""},
		{"books", "import", "--book", ""},
	}
}

// TestCompletionWithoutData checks that completion creates nothing in an empty workspace.
func TestCompletionWithoutData(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	for _, line := range storedLines() {
		p.offers(line, listed)
	}
	if diff := cmp.Diff(map[string]string{p.root: "folder"}, content(t, p.root)); diff != "" {
		t.Errorf("completion left files:\n%s", diff)
	}
}

// TestCompletionOfData checks the ids that completion offers, and that it changes nothing.
func TestCompletionOfData(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	for _, args := range [][]string{
		{"tasks", "add", "Buy milk"}, {"tasks", "add", "Ring\tthe\x1b[31m bell"}, {"tasks", "add", "Sweep"}, {"tasks", "done", "3"},
	} {
		p.types(cli.ExitOK, args...)
	}
	p.runs(cli.ExitOK, "books", "new", "python", "--title", "Python for Agents")
	tokens := p.newTokens("ci", "old")
	p.runs(cli.ExitOK, "token", "revoke", "old")
	entry := `entry={"timestamp":"2026-01-09T10:30:00Z","type":"stack","decision":"SQLite"}`
	call := []string{"call", "write_memory_entry", entry}
	p.runs(cli.ExitPending, append(call, "file=decisions.jsonl")...)
	denied := p.requests()[0]
	p.runs(cli.ExitOK, "approvals", "deny", denied)
	p.runs(cli.ExitPending, append(call, "file=progress_log.jsonl")...)
	pending := p.requests()[0]
	before := content(t, p.root)

	milk, bell, sweep := "1\tBuy milk", `2`+"\t"+`Ring\tthe\x1b[31m bell`, "3\tSweep"
	p.offers([]string{"tasks", "--user", "ada", "done", ""}, bell, milk, listed)
	p.offers([]string{"tasks", "complete", "2", "--user", "ada", ""}, milk, listed)
	p.offers([]string{"tasks", "rm", "1", "--user", "ada", ""}, sweep, bell, listed)
	p.offers([]string{"tasks", "edit", "--user", "ada", ""}, sweep, bell, milk, listed)
	p.offers([]string{"tasks", "edit", "--user", "ada", "1", ""}, nothing)
	p.offers([]string{"tasks", "done", "--user", "bob", ""}, listed)

	book := "python\tPython for Agents"
	for _, verb := range []string{"export", "validate", "log", "restore"} {
		p.offers([]string{"books", verb, ""}, book, listed)
		p.offers([]string{"books", verb, "python", ""}, nothing)
	}
	p.offers([]string{"books", "import", "--book", ""}, book, listed)

	const request = "\tlearning-os/write_memory_entry: Append an entry of type stack to "
	first, second := request+`progress_log.jsonl {"entry":{"deci…`, request+`decisions.jsonl {"entry":{"decisio…`
	p.offers([]string{"approvals", "approve", ""}, pending+first, listed)
	p.offers([]string{"approvals", "deny", ""}, pending+first, listed)
	p.offers([]string{"approvals", "show", ""}, pending+first, denied+second, listed)
	p.offers([]string{"approvals", "show", pending, ""}, nothing)

	p.offers([]string{"token", "revoke", ""}, "ci\t"+tokens["ci"]+" *:read", listed)
	p.offers([]string{"token", "rm", "c"}, "ci\t"+tokens["ci"]+" *:read", tokens["ci"]+"\tci", listed)

	if diff := cmp.Diff(before, content(t, p.root)); diff != "" {
		t.Errorf("completion changed files, such as the audit log:\n%s", diff)
	}

	elsewhere := newPerson(t) // the data of one folder from another, which stays empty
	data := filepath.Join(p.root, ".remit")
	elsewhere.offers([]string{"tasks", "done", "--user", "ada", "--data", data, ""}, bell, milk, listed)
	elsewhere.offers([]string{"tasks", "done", "--user", "ada", "--database", "sqlite://" + data + "/remit.db", ""}, bell, milk, listed)
	if diff := cmp.Diff(map[string]string{elsewhere.root: "folder"}, content(t, elsewhere.root)); diff != "" {
		t.Errorf("completion left files:\n%s", diff)
	}
	if err := os.Symlink(data, filepath.Join(elsewhere.root, ".remit")); err != nil {
		t.Skip(err)
	}
	// As "remit tasks" refuses a link.
	elsewhere.offers([]string{"tasks", "done", "--user", "ada", ""}, listed)
}

// brokenLists stands for a database that does not answer, or answers with an error.
type brokenLists struct {
	cli.Lists
	err error // nil: it does not answer
}

func (b brokenLists) Tasks(ctx context.Context, _ string, _ tasks.Filter, _ int) ([]tasks.Task, error) {
	if b.err == nil {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return []tasks.Task{{ID: 1, Title: "half a list"}}, b.err
}

func (b brokenLists) Approvals(ctx context.Context, _ approval.ListOptions) ([]approval.Request, error) {
	_, err := b.Tasks(ctx, "", tasks.Filter{}, 0)
	return nil, err
}

// TestCompletionWithBrokenData checks that completion prints no error on stdout, and ends if the
// data does not answer.
func TestCompletionWithBrokenData(t *testing.T) {
	for _, err := range []error{errors.New("the database failed"), nil} {
		synctest.Test(t, func(t *testing.T) {
			lists := func(cli.Settings) cli.Lists { return brokenLists{err: err} }
			for _, line := range [][]string{{"tasks", "done", ""}, {"approvals", "show", ""}} {
				if diff := cmp.Diff([]string{listed}, completes(t, lists, line...)); diff != "" {
					t.Errorf("complete %q (-want +got):\n%s", line, diff)
				}
			}
		})
	}
	p := newPerson(t)
	p.has(".remit/remit.db", "this is not a database")
	p.offers([]string{"tasks", "done", ""}, listed)
	p.has("remit.yaml", "aprove: ask\n")
	p.offers([]string{"tasks", "done", ""}, listed)
	p.offers([]string{"call", ""}, listed)
}

// toolsOf returns the names of the tools of a set. The tests do not list them, so that adding a
// tool changes no test.
func toolsOf(t *testing.T, set string) (names []string) {
	t.Helper()
	known, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range known {
		for _, c := range s.Contracts {
			if s.Name == set {
				names = append(names, c.Name)
			}
		}
	}
	return names
}

// offersTools checks that completion offers exactly these words if the toolset booster is served,
// and that the tools among them have their description.
func (p *person) offersTools(line []string, want ...string) {
	p.t.Helper()
	got := completes(p.t, app.Lists, append([]string{"--root", p.root, "--toolsets", "booster"}, line...)...)
	for _, tool := range []string{
		"hello\tReturns a greeting message. Use for testing MCP connectivity.",
		"read_repo_file\tRead a file from the repository. Limited to safe paths.",
		"write_memory_entry\tAppend an entry to a memory file. Only supports append operations. A person approves each entry.",
	} {
		if !slices.Contains(got, tool) {
			p.t.Errorf("complete %q: %q is missing in %q", line, tool, got)
		}
	}
	var words []string
	for _, offered := range got {
		word, _, _ := strings.Cut(offered, "\t")
		words = append(words, word)
	}
	if diff := cmp.Diff(append(want, listed), words); diff != "" {
		p.t.Errorf("complete %q (-want +got):\n%s", line, diff)
	}
}

// TestCompletionOfNames checks the names of tools, clients and commands.
func TestCompletionOfNames(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	tools := toolsOf(t, "booster")
	for _, line := range [][]string{{"call", ""}, {"tools", "show", ""}, {"audit", "list", "--tool", ""}} {
		p.offersTools(line, tools...)
	}
	p.offersTools([]string{"tools", ""}, append([]string{"list", "show"}, tools...)...)
	p.offers([]string{"tools", "hello", ""}, nothing)
	p.offers([]string{"tools", "show", "hello", ""}, nothing)
	p.offers([]string{"call", "hello", ""}, "name=", ":6")

	if got := completes(t, nil, "install", ""); got[0] != "claude-code\tClaude Code" || got[len(got)-1] != listed {
		t.Errorf("clients: %q", got)
	}
	p.offers([]string{"install", "cursor", ""}, nothing)
	p.offers([]string{"help", "approvals", ""}, "allow\tAllow the calls that are like a request, for a limited time",
		"approve\tAllow a call once", "deny\tDeny a call", "list\tList the requests that wait for a decision",
		"revoke\tEnd a rule at once and for good", "rules\tList the standing permissions and denials in force", "show\tShow one request in full",
		"withdraw\tTake back an approval that no call has used", nothing)
	p.offers([]string{"man", "audit", ""}, "list\tList the latest calls, newest first", "show\tShow a call, its approval and its repeat",
		"verify\tCheck that no audit record was altered, removed or inserted", nothing)
	p.offers([]string{"help", "tasks", "add", ""}, nothing)
}

// TestCompletionOfValues checks the values of flags, and where names of files are offered.
func TestCompletionOfValues(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	for line, want := range map[string]string{
		"--approve": "ask auto deny " + listed, "--identity": "auto on off " + listed, "--watch": "on off " + listed,
		"--rate-limits": "on off " + listed, "--embeddings-only": "on off " + listed, "--embeddings": "local " + listed,
		"--log-level":          "debug info warn error " + listed,
		"export --format":      "mcp openai responses anthropic gemini openapi markdown " + listed,
		"search --type":        "pattern rule decision issue all " + listed,
		"tasks --status":       "open completed " + listed,
		"tasks list --status":  "open completed " + listed,
		"tasks add --priority": "low medium high " + listed,
		"tasks edit 1 --clear": "due description " + isList,
		"token link --role":    "viewer approver admin " + listed,
		"audit list --outcome": "ok replayed asked begun undone partly doubt invalid denied not_found conflict too_large limited pending unavailable internal " + listed,
		"--root":               anyFolder, "--data": anyFolder, "man --dir": anyFolder, "contract lint": anyFolder, "contract new": anyFolder,
		"--config": anyFile, "--tls-cert": anyFile, "--tls-key": anyFile, "books export -o": anyFile, "eval --set": anyFile,
		"books import": anyFile, "contract diff": anyFile, "contract diff old.yaml": anyFile, "files": anyFile, "files a b": anyFile,
		"grep TODO": anyFile, "grep TODO a": anyFile,
		"grep": nothing, "contract new folder": nothing, "contract diff old.yaml new.yaml": nothing, "books import folder": nothing,
		"--addr": nothing, "tasks add": nothing, "tasks --user": nothing, "search": nothing, "books new": nothing,
	} {
		p.offers(append(strings.Fields(line), ""), strings.Fields(want)...)
	}
	p.offers([]string{"--toolsets", ""}, "books\tBooks", "booster\tAI Practitioner Booster", "context\tContext",
		"learning-os\tLearning OS", "tasks\tTasks", isList)
	p.offers([]string{"--toolsets", "tasks,context,bo"}, "tasks,context,books\tBooks", "tasks,context,booster\tAI Practitioner Booster",
		"tasks,context,learning-os\tLearning OS", isList)
	p.offers([]string{"tasks", "edit", "1", "--clear=due,"}, "due,description", isList)
	p.offers([]string{"search", "issue", "--type", ""}, "pattern", "rule", "decision", "issue", "all", listed)
	scopes := completes(t, nil, "token", "create", "--scopes", "tasks:read,")
	if strings.Join(scopes[:3], " ") != "tasks:read,*:read tasks:read,*:write tasks:read,books:read" || scopes[len(scopes)-2] != "tasks:read,tasks:write" {
		t.Errorf("scopes: %q", scopes)
	}
}

// TestOfferedValuesAreValid checks that the commands accept every value that completion offers for
// a setting.
func TestOfferedValuesAreValid(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	for _, flag := range []string{"--approve", "--identity", "--watch", "--rate-limits", "--embeddings-only", "--embeddings", "--log-level", "--toolsets"} {
		words := completes(t, nil, flag, "")
		for _, word := range words[:len(words)-1] {
			value, _, _ := strings.Cut(word, "\t")
			p.runs(cli.ExitOK, "config", "print", flag, value)
		}
	}
	for _, role := range completes(t, nil, "token", "link", "--role", "")[:3] {
		p.runs(cli.ExitOK, "token", "link", "--role", role)
	}
}
