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
	"remit/internal/visible"
)

// tasksCommand returns the command that lists tasks, with its subcommands.
func (p *Program) tasksCommand() *cobra.Command {
	t := &taskCommands{Program: p}
	c := t.list("tasks")
	runsWithoutSubcommand(c)
	c.PersistentFlags().StringVar(&t.user, "user", "", "user whose tasks to use (default: your login name)")
	c.PersistentFlags().BoolVar(&p.asJSON, "json", false, "print the result of the tool as JSON")
	c.AddCommand(t.list("list"), t.add(), t.done(), t.edit(), t.remove())
	return c
}

// taskCommands implements the commands for tasks. Each command calls tools like any other caller
// and prints the results for people.
type taskCommands struct {
	*Program
	user   string
	engine *engine.Engine
}

// run returns a runFunc that runs body on a workspace that serves the tasks toolset.
func (t *taskCommands) run(body func(cmd *cobra.Command, args []string) error) runFunc {
	return t.with(func(cmd *cobra.Command, w Workspace, args []string) error {
		if err := w.PingDatabase(cmd.Context()); err != nil {
			return err
		}
		t.engine = w.Engine()
		if !cmd.Flags().Changed("user") {
			t.user = loginName()
		}
		return body(cmd, args)
	}, "tasks")
}

// loginName returns the user's login name, without the domain that Windows puts in front.
func loginName() string {
	u, err := user.Current()
	if err != nil || u.Username == "" {
		return LocalPrincipal
	}
	return u.Username[strings.LastIndexByte(u.Username, '\\')+1:]
}

// refusal is an error that a tool returned.
type refusal struct {
	kind    contract.Kind
	message string
}

func (r *refusal) Error() string { return r.message }

// call calls a tool for the user and returns the data of its result. An error of the tool is a
// *refusal.
func (t *taskCommands) call(ctx context.Context, tool string, arguments ...jsontree.Member) (jsontree.Value, error) {
	args := jsontree.Obj(append([]jsontree.Member{jsontree.M("user_id", jsontree.Str(t.user))}, arguments...)...)
	args.Raw = args.Append(nil)
	call := engine.Call{Tool: tool, Args: args, Principal: LocalPrincipal, Frontend: "cli", Client: "remit/" + t.Version}
	call.Peer = terminal{t.Program}
	result, err := t.engine.Call(ctx, call)
	switch {
	case err != nil && contract.AsError(err).Kind != contract.NotFound:
		return jsontree.Value{}, err
	case err != nil: // it is part of the toolset, so a rule hides it
		return jsontree.Value{}, fmt.Errorf("%s is not available: the configuration file hides it", tool)
	}
	body, err := jsontree.ParseTrusted(result.Body)
	if err != nil {
		return body, fmt.Errorf("read the answer of %s: %w", tool, err)
	}
	if result.Err != nil {
		return body, &refusal{kind: result.Err.Kind, message: body.At("error", "message").Text}
	}
	return body.Field("data"), nil
}

// reported prints each refusal and the next step on stderr. It returns the error that ends the
// command: ExitPending if all calls wait for approval, otherwise ExitFailed.
func (t *taskCommands) reported(cmd *cobra.Command, errs ...error) error {
	end := failure{ExitPending}
	var next string
	for _, err := range errs {
		var r *refusal
		if !errors.As(err, &r) {
			return err
		}
		fmt.Fprintf(t.Stderr, "remit: %s\n", visible.Line(err.Error()))
		if r.kind != contract.Pending {
			end, next = failure{ExitFailed}, t.nextStep(cmd, r.kind)
		}
	}
	if next != "" {
		fmt.Fprintln(t.Stderr, next)
	}
	return end
}

// nextStep returns advice for an error whose message has none.
func (t *taskCommands) nextStep(cmd *cobra.Command, kind contract.Kind) string {
	switch kind {
	case contract.NotFound:
		return fmt.Sprintf("Run \"remit tasks --all --user %s\" to list all tasks.", visible.Line(t.user))
	case contract.Invalid:
		return fmt.Sprintf("Run %q for help.", cmd.CommandPath()+" --help")
	default:
		return ""
	}
}

// taskView holds the printed fields of a task. Some tools return only a few of them.
type taskView struct {
	ID        int64  `json:"id"`
	Title     string `json:"title"`
	Completed bool   `json:"completed"`
	Priority  string `json:"priority"`
	Due       string `json:"due_date"` // "" if it has none
}

func parseTask(data jsontree.Value) (taskView, error) {
	var s taskView
	if err := data.Decode(&s); err != nil {
		return s, fmt.Errorf("read a task: %w", err)
	}
	s.Title = visible.Line(s.Title)
	return s, nil
}

// due returns the due day of a task. For an open task it adds overdue, today or tomorrow.
func (s *taskView) due(now time.Time) string {
	if s.Completed || s.Due == "" {
		return s.Due
	}
	return strings.TrimSpace(s.Due + " " + dueLabel(s.Due, now))
}

// overdue reports whether the task is open and its due day has passed.
func (s *taskView) overdue(now time.Time) bool {
	return !s.Completed && s.Due != "" && dueLabel(s.Due, now) == "overdue"
}

func (s *taskView) status() string {
	if s.Completed {
		return "completed"
	}
	return "open"
}
