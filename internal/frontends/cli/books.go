package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"remit/internal/contract"
	"remit/internal/engine/audit"
	"remit/internal/toolsets/books"
	"remit/internal/visible"
)

// booksCommand returns the command that lists books, with its subcommands.
func (p *Program) booksCommand() *cobra.Command {
	b := &bookCommands{p}
	c := b.list("books")
	runsWithoutSubcommand(c)
	c.PersistentFlags().BoolVar(&p.asJSON, "json", false, "print the result as JSON")
	c.AddCommand(b.list("list"), b.importing(), b.export(), b.validate(), b.create(), b.log(), b.restore(),
		b.showBook(), b.search(), b.edit(), b.archive(), b.rename(), b.remove())
	return c
}

// bookCommands implements the commands for books.
type bookCommands struct{ *Program }

// run returns a runFunc that runs body with the library of the workspace.
func (b *bookCommands) run(body func(cmd *cobra.Command, l *books.Library, args []string) error) runFunc {
	return b.with(func(cmd *cobra.Command, w Workspace, args []string) error {
		return b.reported(body(cmd, w.Library(), args))
	})
}

// change is like run, for commands that write without calling a tool. body must call permit before
// it writes. name is how the change is recorded.
func (b *bookCommands) change(name string, body func(cmd *cobra.Command, c *bookChange, args []string) error) runFunc {
	return func(cmd *cobra.Command, args []string) error {
		settings, err := b.settings(cmd)
		if err != nil {
			return usageError{err}
		}
		return b.with(func(cmd *cobra.Command, w Workspace, args []string) error {
			c := &bookChange{Program: b.Program, workspace: w, settings: settings, record: action(name)}
			c.effect = audit.NewEffect(c.record, recorder{w.Identity()})
			cmd.SetContext(audit.WithEffect(cmd.Context(), c.effect))
			return b.reported(c.recorded(cmd.Context(), body(cmd, c, args)))
		}, "books")(cmd, args)
	}
}

// reported prints an error with the details that its message leaves out: similar paths, and the
// error of the store. Callers over the network do not see those, but the person at the command line
// may.
func (b *bookCommands) reported(err error) error {
	var e *contract.Error
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted")
	}
	if !errors.As(err, &e) {
		return err
	}
	message := e.Message
	id, ok := strings.CutPrefix(message, "Content not found: books/")
	if ok && e.Kind == contract.NotFound && !strings.Contains(id, "/") {
		message = fmt.Sprintf("There is no book %q; \"remit books\" lists them", id)
	}
	if archived, ok := strings.CutSuffix(message, " is archived, so it cannot be changed; its status is in registry.yaml"); ok {
		id := strings.TrimPrefix(archived, "The book ")
		message = fmt.Sprintf("The book %[1]s is archived, so it cannot be changed; make it active first: remit books archive %[1]s --undo", id)
	}
	if errors.Is(e.Cause, fs.ErrPermission) {
		return fmt.Errorf("the books cannot be read or written: %w; run \"remit doctor\"", fs.ErrPermission)
	}
	fmt.Fprintf(b.Stderr, "remit: %s\n", visible.Line(message))
	if e.Cause != nil && (e.Kind == contract.Unavailable || e.Kind == contract.Internal) {
		fmt.Fprintf(b.Stderr, "Error of the store: %s\n", visible.Line(e.Cause.Error()))
	}
	if near, ok := e.Details["suggested_paths"].([]string); ok && len(near) > 0 {
		fmt.Fprintf(b.Stderr, "Similar paths: %s\n", visible.Line(strings.Join(near, ", ")))
	}
	return failure{ExitFailed}
}
