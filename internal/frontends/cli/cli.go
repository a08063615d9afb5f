// Package cli is the command line: cobra commands over the engine.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/engine/approval"
	"remit/internal/engine/audit"
	"remit/internal/engine/audit/auditindex"
	"remit/internal/engine/identity"
	"remit/internal/toolsets/books"
	"remit/internal/toolsets/codebase/knowledge"
)

// Exit codes of every command.
const (
	ExitOK      = 0
	ExitFailed  = 1 // the tool or the command said no
	ExitUsage   = 2 // the command line is wrong
	ExitPending = 3 // a person has yet to approve
)

// Workspace is an opened workspace, as far as commands need it.
type Workspace interface {
	Engine() *engine.Engine
	// Approvals opens the store of approvals, the first time it is asked for.
	Approvals(ctx context.Context) (approval.Store, error)
	// Records reads the audit records.
	Records() audit.Reader
	// Calls finds calls in the audit records.
	Calls() *auditindex.Index
	// Code gives the text of the project, which is read when it is first searched.
	Code() Code
	// Knowledge gives what the project knows, whose index is opened when it is first used.
	Knowledge() *knowledge.Index
	// Identity gives the tokens of agents, and lets people in at the console.
	Identity() Identity
	// Library gives the books; their store is opened when it is first needed.
	Library() *books.Library
	// Reach tries the database, if anything is kept there: an error is what only its
	// operator can mend. Calls open it by themselves, but say less of what is wrong.
	Reach(ctx context.Context) error
	// ServeStdio speaks MCP until in ends.
	ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error
	// Serve answers HTTP until ctx ends; ready is told the address.
	Serve(ctx context.Context, ready func(url string)) error
	Close() error
}

// Program is what the commands stand on; package app fills it in.
type Program struct {
	Version string
	Open    func(ctx context.Context, s Settings, log *slog.Logger) (Workspace, error)
	Catalog func(names ...string) ([]*contract.Set, error) // the hidden sets only if named
	Logger  func(w io.Writer, level slog.Level) *slog.Logger
	// Evaluate measures how well questions find their answers. name is for messages; no set is those in the program.
	Evaluate func(ctx context.Context, name string, set io.Reader, tell func(Progress)) ([]Evaluation, error)
	Now      func() time.Time // in the time zone of the person who types

	Args   []string
	Env    func(string) (string, bool)
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer

	asJSON bool // the flag --json of the command that runs
}

// usageError is a command line that cannot be carried out as it stands.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

// failure ends a command with an exit code; what there is to say has been said.
type failure struct{ code int }

func (f failure) Error() string { return fmt.Sprintf("exit %d", f.code) }

// failedIf ends a command with a failure that the output tells of, unless it could not be written.
func failedIf(failed bool, err error) error {
	if err == nil && failed {
		return failure{ExitFailed}
	}
	return err
}

// Main runs one command line and returns the exit code.
func (p *Program) Main(ctx context.Context) int {
	root := p.command()
	root.SetArgs(p.Args)
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	err := root.ExecuteContext(ctx)
	var done failure
	var usage usageError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &done):
		return done.code
	case errors.Is(err, syscall.EPIPE): // whoever read along, such as head, has seen enough
		return ExitFailed
	case errors.As(err, &usage), isCobraUsage(err):
		fmt.Fprintf(p.Stderr, "remit: %s\nRun \"remit --help\" for the commands, \"remit COMMAND --help\" for one of them.\n", message(err))
		return ExitUsage
	default:
		fmt.Fprintf(p.Stderr, "remit: %s\n", message(err))
		return ExitFailed
	}
}

// message leaves out the kind that contract.Error puts in front for logs.
func message(err error) string {
	if e, ok := errors.AsType[*contract.Error](err); ok {
		return e.Message
	}
	return err.Error()
}

// isCobraUsage tells cobra's own complaints about the command line, which it
// gives as plain text.
func isCobraUsage(err error) bool {
	starts := []string{
		"unknown command", "unknown flag", "unknown shorthand", "accepts ", "requires ", "flag needs", "invalid argument", "required flag",
	}
	return slices.ContainsFunc(starts, func(start string) bool { return strings.HasPrefix(err.Error(), start) })
}

func (p *Program) command() *cobra.Command {
	root := &cobra.Command{
		Use:           "remit",
		Version:       p.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	runsByItself(root)
	root.SetVersionTemplate("remit {{.Version}}\n")
	root.SetFlagErrorFunc(p.flagError)
	root.SetHelpCommand(helpCommand())
	addSettingFlags(root.PersistentFlags())
	p.completeFlags(root)
	root.AddCommand(
		p.serveCommand(), p.stdioCommand(), p.callCommand(), p.toolsCommand(), p.tasksCommand(), p.booksCommand(),
		p.grepCommand(), p.filesCommand(), p.searchCommand(), p.indexCommand(), p.evalCommand(), p.exportCommand(),
		group("approvals", p.approvalsList(), p.approvalsShow(), p.decideCommand("approve", true), p.decideCommand("deny", false)),
		group("token", p.tokenCreate(), p.tokenList(), p.tokenRevoke(), p.tokenLink(), p.tokenSessions(), p.tokenSignout()),
		group("audit", p.auditList(), p.auditVerify()),
		group("contract", p.contractLint(), p.contractNew(), p.contractDiff()),
		group("config", p.configPrint()),
		p.initCommand(), p.installCommand(), p.doctorCommand(), p.manCommand(), p.versionCommand(),
	)
	root.InitDefaultHelpCmd() // so that it is explained too
	explain(root, helpSections())
	return root
}

// completeFlags lets a shell complete the values that a setting may have.
func (p *Program) completeFlags(root *cobra.Command) {
	values := map[string][]string{
		"approve":     {"ask", "auto", "deny"},
		"rate-limits": {"on", "off"},
		"log-level":   {"debug", "info", "warn", "error"},
	}
	for name, words := range values {
		_ = root.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // the flag was just added
	}
	_ = root.RegisterFlagCompletionFunc("toolsets", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		sets, err := p.Catalog()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return convert(sets, func(set *contract.Set) string { return set.Name + "\t" + set.Title }), cobra.ShellCompDirectiveNoFileComp
	})
}

// flagError names the flag that was probably meant.
func (p *Program) flagError(cmd *cobra.Command, err error) error {
	_, name, found := strings.Cut(err.Error(), "unknown flag: --")
	if !found {
		return usageError{err}
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	near := contract.Nearest(name, known)
	if name == "port" || name == "host" || name == "bind" || name == "listen" {
		near = "addr" // what other servers call it
	}
	if near != "" {
		return usageError{fmt.Errorf("unknown flag --%s; did you mean --%s?", name, near)}
	}
	return usageError{fmt.Errorf("unknown flag --%s", name)}
}

// runsByItself lets a command that has others beneath it run without one of them: what
// follows it can only be the name of one, misspelt. A command that does nothing shows its help.
func runsByItself(c *cobra.Command) {
	run := c.RunE
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > 0:
			return unknownCommand(cmd, args[0])
		case run == nil:
			return cmd.Help()
		}
		return run(cmd, args)
	}
}

func unknownCommand(cmd *cobra.Command, name string) error {
	err := fmt.Errorf("unknown command %q", strings.TrimSpace(cmd.CommandPath()+" "+name))
	if near := contract.Nearest(name, convert(cmd.Commands(), (*cobra.Command).Name)); near != "" {
		err = fmt.Errorf("%w; did you mean %q?", err, near)
	}
	return usageError{err}
}

// noSuch says what was probably meant by a word that is none of those that are known.
func noSuch(what, word string, known []string) error {
	if near := contract.Nearest(word, known); near != "" {
		return usageError{fmt.Errorf("there is no %s %q; did you mean %q?", what, word, near)}
	}
	return usageError{fmt.Errorf("there is no %s %q; there are %s", what, word, strings.Join(known, ", "))}
}

// exactly asks for n arguments, and says which when there are others.
func exactly(n int) cobra.PositionalArgs { return between(n, n) }

// some asks for at least one argument, and says what is missing.
func some(missing string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usageError{errors.New(missing)}
		}
		return nil
	}
}

func between(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return usageError{fmt.Errorf("%d arguments were given; the command is: %s %s", len(args), cmd.Parent().CommandPath(), cmd.Use)}
		}
		return nil
	}
}

// group makes a command that only holds others.
func group(use string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use}
	runsByItself(c)
	c.AddCommand(commands...)
	return c
}

// open opens the workspace that the settings name. A command that calls tools of
// its own names their toolsets, which are then served in place of those that the
// settings choose.
func (p *Program) open(cmd *cobra.Command, toolsets ...string) (Workspace, error) {
	settings, err := resolveSettings(cmd.Flags(), p.Env)
	if err != nil {
		return nil, usageError{err}
	}
	if len(toolsets) > 0 {
		settings.Toolsets = toolsets
	}
	if cmd.Name() != "serve" && cmd.Name() != "stdio" {
		settings.Watch = false // to be told what changes takes a while to set up, and pays only for who stays
	}
	if cmd.Name() == "serve" && settings.Origin("log_level") == FromDefault {
		settings.LogLevel = slog.LevelInfo // nobody else sees what a server does
	}
	log := p.Logger(p.Stderr, settings.LogLevel)
	if loosened := settings.Loosened(); len(loosened) > 0 {
		log.Warn("the configuration file loosens what Remit guards", "file", settings.Config, "settings", strings.Join(loosened, ", "))
	}
	w, err := p.Open(cmd.Context(), settings, log)
	if err != nil {
		return nil, settings.placed(err)
	}
	return w, nil
}

// runFunc carries a command out, as cobra calls it.
type runFunc = func(cmd *cobra.Command, args []string) error

// with runs a command's body on an opened workspace, and closes it. The toolsets are as for open.
func (p *Program) with(body func(cmd *cobra.Command, w Workspace, args []string) error, toolsets ...string) runFunc {
	return func(cmd *cobra.Command, args []string) error {
		w, err := p.open(cmd, toolsets...)
		if err != nil {
			return err
		}
		return errors.Join(body(cmd, w, args), w.Close())
	}
}

func (p *Program) configPrint() *cobra.Command {
	return p.withJSON("print as JSON", &cobra.Command{
		Use:  "print",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := resolveSettings(cmd.Flags(), p.Env)
			if err != nil {
				return usageError{err}
			}
			return p.show(settings.values, func() {
				var t table
				t.add("SETTING", "FROM", "VALUE")
				for _, v := range settings.values {
					t.add(v.Key, string(v.Origin), v.Value)
				}
				t.write(p.Stdout)
			})
		},
	})
}

func (p *Program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:  "version",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			fmt.Fprintln(p.Stdout, "remit", p.Version)
			return nil
		},
	}
}

func (p *Program) stdioCommand() *cobra.Command {
	return &cobra.Command{
		Use:  "stdio",
		Args: cobra.NoArgs,
		RunE: p.with(func(cmd *cobra.Command, w Workspace, _ []string) error {
			return w.ServeStdio(cmd.Context(), p.Stdin, p.Stdout)
		}),
	}
}

func (p *Program) serveCommand() *cobra.Command {
	return &cobra.Command{
		Use:  "serve",
		Args: cobra.NoArgs,
		RunE: p.with(func(cmd *cobra.Command, w Workspace, _ []string) error {
			return w.Serve(cmd.Context(), func(url string) {
				fmt.Fprintf(p.Stderr, "Remit %s serves %s (MCP at %s/mcp). Ctrl-C ends it.\n%s", p.Version, url, url, p.welcome(w))
			})
		}),
	}
}

// welcomeFor is how long the link is good that serve prints: logs keep what is printed.
const welcomeFor = time.Hour

// welcome is the line with the link that signs whoever reads it in at the console, once.
func (p *Program) welcome(w Workspace) string {
	identities := w.Identity()
	token, err := identities.SignIn().Link(identity.Person{Name: loginName(), Role: identity.Admin}, welcomeFor)
	if err != nil {
		return fmt.Sprintf("Console: nobody can sign in (%s)\n", message(err))
	}
	return fmt.Sprintf("Console: %s (good once, within an hour; \"remit token link\" gives another)\n", identities.ConsoleURL("/console/login?token="+token))
}
