package cli

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/approval"
)

// tasksCommand lists tasks, and holds the commands that change them.
func (p *Program) tasksCommand() *cobra.Command {
	t := &taskCommands{Program: p}
	c := t.list("tasks")
	runsByItself(c)
	c.PersistentFlags().StringVar(&t.user, "user", "", "whose tasks; your login name if not given")
	c.PersistentFlags().BoolVar(&p.asJSON, "json", false, "print what the tool answers as JSON")
	c.AddCommand(t.list("list"), t.add(), t.done(), t.edit(), t.remove())
	return c
}

// taskCommands are the commands that people have for tasks. Each makes calls like
// any other caller, and tells in words what they came to.
type taskCommands struct {
	*Program
	user   string
	engine *engine.Engine
}

// run makes a body run on a workspace that serves the tasks tools.
func (t *taskCommands) run(body func(cmd *cobra.Command, args []string) error) runFunc {
	return t.with(func(cmd *cobra.Command, w Workspace, args []string) error {
		if err := w.Reach(cmd.Context()); err != nil {
			return err
		}
		t.engine = w.Engine()
		if !cmd.Flags().Changed("user") {
			t.user = loginName()
		}
		return body(cmd, args)
	}, "tasks")
}

// loginName is who a person is on this machine, without the domain that Windows
// puts in front.
func loginName() string {
	u, err := user.Current()
	if err != nil || u.Username == "" {
		return Local
	}
	return u.Username[strings.LastIndexByte(u.Username, '\\')+1:]
}

// refusal is what a tool did not do, as its caller is told.
type refusal struct {
	kind    contract.Kind
	message string
}

func (r *refusal) Error() string { return r.message }

// call calls a tool for the user and gives the data that it answers with. An error
// of the tool is a *refusal.
func (t *taskCommands) call(ctx context.Context, tool string, arguments ...jsontree.Member) (jsontree.Value, error) {
	args := jsontree.Obj(append([]jsontree.Member{jsontree.M("user_id", jsontree.Str(t.user))}, arguments...)...)
	args.Raw = args.Append(nil)
	call := engine.Call{Tool: tool, Args: args, Principal: Local, Face: "cli", Client: "remit/" + t.Version}
	call.Peer = terminal{t.Program}
	result, err := t.engine.Call(ctx, call)
	switch {
	case err != nil && contract.AsError(err).Kind != contract.NotFound:
		return jsontree.Value{}, err
	case err != nil: // it is in the toolset, so somebody took it out
		return jsontree.Value{}, fmt.Errorf("%s is not served here: the configuration file hides it", tool)
	}
	body, err := jsontree.Parse(result.Body)
	if err != nil {
		return body, fmt.Errorf("read the answer of %s: %w", tool, err)
	}
	if result.Err != nil {
		return body, &refusal{kind: result.Err.Kind, message: body.At("error", "message").Text}
	}
	return body.Field("data"), nil
}

// told says on stderr what was refused and what to do next, and gives the error
// that ends the command: a failure, unless all of them only wait for approval.
func (t *taskCommands) told(cmd *cobra.Command, errs ...error) error {
	end := failure{ExitPending}
	var next string
	for _, err := range errs {
		var r *refusal
		if !errors.As(err, &r) {
			return err
		}
		fmt.Fprintf(t.Stderr, "remit: %s\n", approval.Plain(err.Error()))
		if r.kind != contract.Pending {
			end, next = failure{ExitFailed}, t.nextStep(cmd, r.kind)
		}
	}
	if next != "" {
		fmt.Fprintln(t.Stderr, next)
	}
	return end
}

// nextStep is what a person does about a failure whose message does not say so.
func (t *taskCommands) nextStep(cmd *cobra.Command, kind contract.Kind) string {
	switch kind {
	case contract.NotFound:
		return fmt.Sprintf("Run \"remit tasks --all --user %s\" for the tasks that there are.", approval.Plain(t.user))
	case contract.Invalid:
		return fmt.Sprintf("Run %q for what it takes.", cmd.CommandPath()+" --help")
	default:
		return ""
	}
}

// shownTask is as much of a task as people are shown. Not every answer has all.
type shownTask struct {
	ID        int64  `json:"id"`
	Title     string `json:"title"`
	Completed bool   `json:"completed"`
	Priority  string `json:"priority"`
	Due       string `json:"due_date"` // empty if it has none
}

func shown(data jsontree.Value) (shownTask, error) {
	var s shownTask
	if err := data.Decode(&s); err != nil {
		return s, fmt.Errorf("read a task: %w", err)
	}
	s.Title = approval.Plain(s.Title)
	return s, nil
}

// due is the day a task is due, with a word on how near that is if it is open.
func (s *shownTask) due(now time.Time) string {
	if s.Completed || s.Due == "" {
		return s.Due
	}
	return strings.TrimSpace(s.Due + " " + nearness(s.Due, now))
}

// overdue tells whether the day has passed and the task is still open.
func (s *shownTask) overdue(now time.Time) bool {
	return !s.Completed && s.Due != "" && nearness(s.Due, now) == "overdue"
}

func (s *shownTask) status() string {
	if s.Completed {
		return "completed"
	}
	return "open"
}
