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
	"remit/internal/toolsets/tasks"
	"remit/internal/visible"
)

// tasksCommand returns the command that lists tasks, with its subcommands.
func (p *Program) tasksCommand() *cobra.Command {
	t := &taskCommands{Program: p}
	c := t.list("tasks")
	runsWithoutSubcommand(c)
	c.PersistentFlags().StringVar(&t.user, "user", "", "user whose tasks to use (default: your login name)")
	c.PersistentFlags().BoolVar(&p.asJSON, "json", false, "print the result of the tool as JSON")
	c.AddCommand(t.list("list"), t.add(), t.edit(), t.showing(), t.done(), t.reopen(), t.release(), t.remove(), t.restore(), t.undo(),
		t.export(), t.importing())
	return c
}

// taskCommands implements the commands for tasks. Each command calls tools like any other caller
// and prints the results for people.
type taskCommands struct {
	*Program
	user    string
	session *session
	isNew   bool // nothing is stored yet
}

// undoTools is the hidden toolset with the tools that take changes back.
const undoTools = "tasks-undo"

// run returns a runFunc that runs body on a workspace that serves the tasks toolset, and others.
func (t *taskCommands) run(body func(cmd *cobra.Command, args []string) error, more ...string) runFunc {
	return t.withSession(func(cmd *cobra.Command, s *session, args []string) error {
		if err := s.pingDatabase(cmd.Context()); err != nil {
			return err
		}
		t.session, t.isNew = s, !s.hasData()
		if !cmd.Flags().Changed("user") {
			t.user = loginName()
		}
		return body(cmd, args)
	}, append([]string{"tasks"}, more...)...)
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
	request string // that a pending call waits for
}

func (r *refusal) Error() string { return r.message }

// call calls a tool for the user and returns the data of its result. An error of the tool is a
// *refusal.
func (t *taskCommands) call(ctx context.Context, tool string, arguments ...jsontree.Member) (jsontree.Value, error) {
	data, _, err := t.callOnce(ctx, "", tool, arguments...)
	return data, err
}

// callOnce is call with an idempotency key. replayed means that the call was made before.
func (t *taskCommands) callOnce(
	ctx context.Context, key, tool string, arguments ...jsontree.Member,
) (data jsontree.Value, replayed bool, err error) {
	args := jsontree.Obj(append([]jsontree.Member{jsontree.M("user_id", jsontree.Str(t.user))}, arguments...)...)
	body, replayed, err := t.session.callTool(ctx, engine.Call{Tool: tool, Args: args, Key: key})
	if err != nil {
		return body, false, err
	}
	return body.Field("data"), replayed, nil
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
		if r.kind == contract.Pending {
			t.printDeciding(r.request)
		} else {
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
		return fmt.Sprintf("Run \"remit tasks --all --user %[1]s\" to list all tasks, or \"remit tasks restore --user %[1]s\" "+
			"to list deleted ones.", visible.Line(t.user))
	case contract.Invalid:
		return fmt.Sprintf("Run %q for help.", cmd.CommandPath()+" --help")
	default:
		return ""
	}
}

// taskView holds the printed fields of a task. Some tools return only a few of them.
type taskView struct {
	ID          int64        `json:"id"`
	Title       string       `json:"title"`
	Description string       `json:"description"`
	Completed   bool         `json:"completed"`
	Priority    string       `json:"priority"`
	Due         string       `json:"due_date"` // "" if it has none
	Created     string       `json:"created_at"`
	Updated     string       `json:"updated_at"`
	Deleted     string       `json:"deleted_at"`
	DependsOn   []int64      `json:"depends_on"`
	BlockedBy   []int64      `json:"blocked_by"`
	Claim       *tasks.Claim `json:"claim"`
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

// status returns completed, claimed, blocked or open.
func (s *taskView) status() string {
	switch {
	case s.Completed:
		return "completed"
	case s.Claim != nil:
		return "claimed"
	case len(s.BlockedBy) > 0:
		return "blocked"
	default:
		return "open"
	}
}
