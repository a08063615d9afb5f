package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"remit/internal/app"
	"remit/internal/contract/catalog"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/frontends/cli"
)

// person runs commands in a workspace of their own.
type person struct {
	t    *testing.T
	root string
	now  time.Time
	// How long the person reads a question.
	reads time.Duration
}

func newPerson(t *testing.T) *person {
	t.Helper()
	return &person{t: t, root: t.TempDir(), now: time.Date(2026, 11, 16, 23, 30, 0, 0, time.FixedZone("", -5*60*60)), reads: time.Second}
}

// types runs a command on tasks and returns its output. The command must end with the exit code.
func (p *person) types(code int, args ...string) (out, errOut string) {
	p.t.Helper()
	return p.runs(code, append(args, "--user", "ada")...)
}

// lookupEnv returns the variables of a command: where its keys are, and nothing else.
func (p *person) lookupEnv(name string) (string, bool) {
	if name == "REMIT_KEYS" {
		return p.root + "-keys", true
	}
	return "", false
}

func (p *person) runs(code int, args ...string) (out, errOut string) {
	p.t.Helper()
	var stdout, stderr bytes.Buffer
	program := &cli.Program{
		Version: "test",
		Open: func(ctx context.Context, s cli.Settings, log *slog.Logger) (cli.Workspace, error) {
			return app.Open(ctx, s, log)
		},
		Catalog: catalog.Load,
		Logger: func(w io.Writer, o cli.LogOptions) (*slog.Logger, error) {
			return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: o.Level})), nil
		},
		Now:       func() time.Time { return p.now },
		AskPerson: p.consent,
		Args:      append(args, "--root", p.root),
		Env:       p.lookupEnv,
		Stdin:     strings.NewReader(""),
		Stdout:    &stdout, Stderr: &stderr,
	}
	if got := program.Main(p.t.Context()); got != code {
		p.t.Fatalf("remit %q ended with %d, want %d\n%s%s", args, got, code, stdout.String(), stderr.String())
	}
	return stdout.String(), stderr.String()
}

// consent answers a question at the terminal as it asks to be answered, after a while.
func (p *person) consent(_ context.Context, text string) (string, error) {
	p.now = p.now.Add(p.reads)
	if _, rest, asked := strings.Cut(text, "Type "); asked {
		answer, _, _ := strings.Cut(rest, ",")
		return answer, nil
	}
	return "y", nil
}

func (p *person) sees(want string, args ...string) {
	p.t.Helper()
	if out, _ := p.types(cli.ExitOK, args...); !strings.Contains(out, want) {
		p.t.Errorf("remit %q does not say %q:\n%s", args, want, out)
	}
}

// TestTasksGoByTheLocalDay checks that "today" depends on the user's time zone, not on UTC.
func TestTasksGoByTheLocalDay(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.sees("due 2026-11-16 today)", "tasks", "add", "Buy milk", "--due", "today")
	p.sees("due 2026-11-23)", "tasks", "add", "Sweep", "--due", "mon")
	p.sees("2026-11-16 today ", "tasks")
	p.sees("Buy milk", "tasks", "--due-before", "tomorrow")
	p.sees("No task of ada matches", "tasks", "--due-before", "today")
	p.now = p.now.UTC() // the same moment elsewhere is a day later
	p.sees("2026-11-16 overdue ", "tasks")
	p.sees("Buy milk", "tasks", "--due-before", "today")
	p.types(cli.ExitOK, "tasks", "done", "1")
	p.sees("2026-11-16  completed", "tasks", "--search", "milk", "--all")
}

func TestTitlesCannotSteerTheTerminal(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	const title = "Ring\r\x1b[31m the\u009b2J \u202ebell"
	for _, args := range [][]string{{"tasks", "add", title}, {"tasks"}, {"tasks", "edit", "1", "--due", "today"}, {"tasks", "done", "1"}} {
		out, _ := p.types(cli.ExitOK, args...)
		if !strings.Contains(out, `Ring\r\x1b[31m the\u009b2J \u202ebell`) || strings.ContainsAny(out, "\r\x1b\u009b\u202e") {
			t.Errorf("remit %q says %q", args, out)
		}
	}
	if out, _ := p.runs(cli.ExitOK, "audit", "list"); !strings.Contains(out, `the\u009b2J`) || strings.ContainsAny(out, "\u009b\u202e") {
		t.Errorf("the audit list says %q", out)
	}
	if _, errOut := p.types(cli.ExitFailed, "tasks", "done", "\x1b[31m"); strings.Contains(errOut, "\x1b") {
		t.Errorf("an error says %q", errOut)
	}
}

// TestTasksShowAllPages checks that a list of several pages is printed completely.
func TestTasksShowAllPages(t *testing.T) {
	t.Parallel()
	const many = 150
	p := newPerson(t)
	p.types(cli.ExitOK, "tasks", "add", "Task 1")
	p.addMany(2, many)
	var list struct {
		Tasks []struct {
			Title string `json:"title"`
		} `json:"tasks"`
		Total      int    `json:"total"`
		NextCursor string `json:"nextCursor"`
	}
	out, _ := p.types(cli.ExitOK, "tasks", "--json")
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err)
	}
	if len(out) <= 128<<10 {
		t.Fatalf("%d bytes fit into one answer: the test shows nothing", len(out))
	}
	if len(list.Tasks) != many || list.Total != many || list.NextCursor != "" {
		t.Fatalf("%d tasks of %d, and more after %q", len(list.Tasks), list.Total, list.NextCursor)
	}
	for i, task := range list.Tasks {
		if want := fmt.Sprint("Task ", many-i); task.Title != want {
			t.Fatalf("task %d is %q, want %q", i, task.Title, want)
		}
	}
	if out, _ := p.types(cli.ExitOK, "tasks", "--limit", "140"); strings.Count(out, "Task ") != 140 || !strings.Contains(out, "Only the newest 140 of 150 are shown.") {
		t.Errorf("--limit 140 shows\n%s", out)
	}
}

// addMany adds tasks with long descriptions.
func (p *person) addMany(first, last int) {
	p.t.Helper()
	settings := cli.Settings{
		Root: p.root, Data: p.root + "/.remit", Toolsets: []string{"tasks"}, Approve: "ask",
		Database: "sqlite://" + p.root + "/.remit/remit.db", Config: p.root + "/remit.yaml", Keys: p.root + "-keys",
	}
	w, err := app.Open(p.t.Context(), settings, slog.New(slog.DiscardHandler))
	if err != nil {
		p.t.Fatal(err)
	}
	for i := first; i <= last; i++ {
		args := jsontree.Obj(jsontree.M("user_id", jsontree.Str("ada")), jsontree.M("title", jsontree.Str(fmt.Sprint("Task ", i))),
			jsontree.M("description", jsontree.Str(strings.Repeat("x", 1000))))
		result, err := w.Engine().Call(p.t.Context(), engine.Call{Tool: "add_task", Args: args, Principal: cli.LocalPrincipal, Frontend: "test"})
		if err != nil || result.Err != nil {
			p.t.Fatalf("add task %d: %v, %s", i, err, result.Body)
		}
	}
	if err := w.Close(); err != nil {
		p.t.Fatal(err)
	}
}
