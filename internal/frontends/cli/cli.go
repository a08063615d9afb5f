// Package cli implements the command line: it parses commands and settings, calls the engine and
// prints results for people and scripts. It opens no store itself; package app passes in an opened
// Workspace.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
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
	"remit/internal/toolsets/books"
	"remit/internal/toolsets/codebase/knowledge"
	"remit/internal/toolsets/learning"
)

// Exit codes of every command.
const (
	ExitOK      = 0
	ExitFailed  = 1 // the tool or the command failed
	ExitUsage   = 2 // the command line is wrong
	ExitPending = 3 // the call waits for approval
)

// Workspace is the part of an opened workspace that the commands use.
type Workspace interface {
	Engine() *engine.Engine
	// Approvals returns the store of approvals. The first call opens it.
	Approvals(ctx context.Context) (approval.Store, error)
	// Desk returns where people decide about requests.
	Desk() *approval.Desk
	// AuditRecords returns a reader of the audit records.
	AuditRecords() audit.Reader
	// CheckTip returns an error if audit records are missing at the end.
	CheckTip(ctx context.Context) error
	// RecordCheck returns a function that checks the signatures in audit records, one after the
	// other.
	RecordCheck(ctx context.Context) func(record []byte) error
	// NewProof prepares to compare tasks, memory files and books with the records, before these are
	// read.
	NewProof(ctx context.Context) (Proof, error)
	// CallIndex returns the index of the recorded calls.
	CallIndex() *auditindex.Index
	// Code returns the text of the project. The first search reads it.
	Code() CodeSearcher
	// Knowledge returns the index for the search by meaning. The first use opens it.
	Knowledge() *knowledge.Index
	// Journal returns the entries of the memory files.
	Journal() *learning.Journal
	// Identity returns the tokens of agents and the sign-in of people at the console.
	Identity() Identity
	// Library returns the books. The first use opens their store.
	Library() *books.Library
	// HasData reports whether something is stored in the database.
	HasData() bool
	// PingDatabase checks that the database can be used, if the workspace stores anything there.
	// Calls open the database themselves, but this error tells the operator more about the cause.
	PingDatabase(ctx context.Context) error
	// CanRecover returns why a workspace cannot be recovered in this way, before anybody is asked.
	CanRecover(ctx context.Context, how Recovery) error
	// Recover makes a workspace usable again whose data is in doubt, in the way that a person has
	// chosen at a terminal.
	Recover(ctx context.Context, how Recovery) error
	// ServeStdio serves MCP until in ends.
	ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error
	// Serve serves HTTP until ctx is done. It calls ready with the address it listens on.
	Serve(ctx context.Context, ready func(url string)) error
	Close() error
}

// Opener opens the workspace in this process.
type Opener func(ctx context.Context) (Workspace, error)

// Program holds what the commands need. Package app fills it in.
type Program struct {
	Version string
	Open    func(ctx context.Context, s Settings, log *slog.Logger) (Workspace, error)
	// Connect returns a connection to a CommandServer of the workspace in another process that may
	// act for a process with these settings, or nil if there is none.
	Connect func(ctx context.Context, s Settings, log *slog.Logger) ServerConn
	// Bridge serves MCP on a pair of streams with a server in another process. It returns false if
	// there is none that may act for a process with these settings. If the server ends, Bridge
	// opens the workspace in this process.
	Bridge func(ctx context.Context, s Settings, log *slog.Logger, open Opener, in io.Reader, out io.Writer) (bool, error)
	// AskRoots asks a stdio client that has roots for them, before the workspace of its session is
	// opened.
	AskRoots func(ctx context.Context, s Settings, open Opener, in io.Reader, out io.Writer) (*ClientRoots, error)

	Lists   func(s Settings) Lists
	Catalog func(names ...string) ([]*contract.Set, error) // hidden sets are included only if named
	Logger  func(w io.Writer, o LogOptions) (*slog.Logger, error)
	// Evaluate measures the quality of the search on a test set, or on the built-in ones if set is
	// nil. name is for messages.
	Evaluate func(ctx context.Context, name string, set io.Reader, report func(Progress)) ([]Evaluation, error)
	Now      func() time.Time // in the user's time zone
	// Trust returns the store of what people have trusted, in the folder that --keys names.
	Trust func(keys string, env func(string) (string, bool)) TrustStore
	// Backups backs up, restores and moves the data of workspaces.
	Backups Backups
	// AskPerson shows a text to a person and returns the line that they type. If it is nil, the
	// person at the controlling terminal of the process is asked.
	AskPerson func(ctx context.Context, text string) (string, error)

	// Executable returns the path of this program. If it is nil, hints name the program remit.
	Executable func() (string, error)

	Args   []string
	Env    func(string) (string, bool)
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer

	asJSON   bool // the flag --json of the running command
	saidRoot bool // that the workspace was found above the current folder
	// The folder that the client of a stdio session works in; "" for the current folder.
	clientFolder string
}

// usageError reports a wrong command line or configuration.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

// failure ends a command with an exit code. The message has been printed already.
type failure struct{ code int }

func (f failure) Error() string { return fmt.Sprintf("exit %d", f.code) }

// failedIf returns a failure if failed is true. err is the error of writing the output that
// explains the failure, and takes precedence.
func failedIf(failed bool, err error) error {
	if err == nil && failed {
		return failure{ExitFailed}
	}
	return err
}

// Main runs one command line and returns the exit code.
func (p *Program) Main(ctx context.Context) int {
	p.Stdout, p.Stderr = escaping(p.Stdout), escaping(p.Stderr)
	outputFailure := p.checkOutput()
	root := p.command()
	root.InitDefaultCompletionCmd(p.Args...)
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		runsWithoutSubcommand(completion) // cobra's own exits with 0 for an unknown shell
	}
	root.SetArgs(p.Args)
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = outputFailure()
	}
	var done failure
	var usage usageError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &done):
		return done.code
	case errors.Is(err, syscall.EPIPE): // the reader of a pipe, such as head, has ended
		return ExitFailed
	case errors.As(err, &usage), isCobraUsage(err):
		fmt.Fprintln(p.Stderr, p.errorHint(fmt.Sprintf("remit: %s\nRun \"%s --help\" for help.", message(err), cmd.CommandPath())))
		return ExitUsage
	default:
		fmt.Fprintf(p.Stderr, "remit: %s\n", p.errorHint(message(err)))
		return ExitFailed
	}
}

// message returns the text of an error without the kind that contract.Error adds for logs.
func message(err error) string {
	e, ok := errors.AsType[*contract.Error](err)
	if !ok {
		return err.Error()
	}
	if d, ok := errors.AsType[detailedError](err); ok {
		return e.Message + d.Detail()
	}
	return e.Message
}

// detailedError is an error with details for the operator that no other caller may see.
type detailedError interface {
	error
	Detail() string
}

// isCobraUsage reports whether err is one of cobra's own usage errors, which have no type.
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
		RunE:          p.showOverview,
	}
	runsWithoutSubcommand(root)
	root.SetVersionTemplate("remit {{.Version}}\n")
	root.SetFlagErrorFunc(p.flagError)
	root.SetUsageFunc(usage)
	root.SetHelpCommand(helpCommand())
	addSettingFlags(root.PersistentFlags())
	root.AddCommand(
		p.serveCommand(), p.stdioCommand(), p.callCommand(), p.toolsCommand(), p.tasksCommand(), p.memoryCommand(), p.booksCommand(),
		p.grepCommand(), p.filesCommand(), p.searchCommand(), p.indexCommand(), p.evalCommand(), p.exportCommand(),
		group("approvals", p.approvalsList(), p.approvalsShow(), p.decideCommand("approve", true), p.decideCommand("deny", false, "reject"),
			p.approvalsWithdraw(), p.approvalsAllow(), p.approvalsRules(), p.approvalsRevoke()),
		group("token", p.tokenCreate(), p.tokenList(), p.tokenRevoke(), p.tokenReset(), p.tokenLink(), p.tokenSessions(), p.tokenSignout()),
		group("audit", p.auditList(), p.auditShow(), p.auditVerify()),
		group("contract", p.contractLint(), p.contractNew(), p.contractDiff()),
		group("config", p.configPrint(), p.configGet(), p.configSet(), p.configUnset(), p.configCheck(), p.configEdit()),
		p.backupCommand(), p.restoreCommand(), p.migrateCommand(), p.trustCommand(), p.initCommand(), p.installCommand(), p.uninstallCommand(), p.demoCommand(),
		p.doctorCommand(), p.statusCommand(), p.manCommand(), p.versionCommand(),
	)
	root.InitDefaultHelpCmd() // before explain, which adds its text
	explain(root, helpSections())
	p.complete(root)
	return root
}

// flagError suggests the flag that was probably meant.
func (p *Program) flagError(cmd *cobra.Command, err error) error {
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		want := map[string]string{"int": "a whole number", "bool": "true or false"}[wrong.GetFlag().Value.Type()]
		if want != "" {
			err = fmt.Errorf("--%s must be %s, not %q", wrong.GetFlag().Name, want, wrong.GetValue())
		}
	}
	_, name, found := strings.Cut(err.Error(), "unknown flag: --")
	if !found {
		return usageError{err}
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	near := contract.Nearest(name, known)
	if name == "port" || name == "host" || name == "bind" || name == "listen" {
		near = "addr" // other servers use these names
	}
	if near != "" {
		return usageError{fmt.Errorf("unknown flag --%s; did you mean --%s?", name, near)}
	}
	return usageError{fmt.Errorf("unknown flag --%s", name)}
}

// runsWithoutSubcommand makes a command with subcommands run on its own. An argument can only be a
// misspelt subcommand. A command without an action of its own shows its help.
func runsWithoutSubcommand(c *cobra.Command) {
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

// unknownCommand returns an error for an unknown subcommand. It suggests the commands that cobra
// finds (they begin with the name, or list it in SuggestFor), or else the one with the most similar
// name or alias.
func unknownCommand(cmd *cobra.Command, name string) error {
	err := fmt.Errorf("unknown command %q", strings.TrimSpace(cmd.CommandPath()+" "+name))
	var near []string
	if name != "" {
		near = slices.Compact(cmd.SuggestionsFor(name))
	}
	if len(near) == 0 {
		names := convert(cmd.Commands(), (*cobra.Command).Name)
		for _, sub := range cmd.Commands() {
			names = append(names, sub.Aliases...)
		}
		if word := contract.Nearest(name, names); word != "" {
			near = []string{word}
		}
	}
	if len(near) > 0 {
		quoted := convert(near, strconv.Quote)
		err = fmt.Errorf("%w; did you mean %s?", err, strings.Join(quoted, " or "))
	}
	return usageError{err}
}

// unknownValue returns an error for an unknown word. It suggests the word that was probably meant,
// or lists the known ones.
func unknownValue(what, word string, known []string) error {
	if near := contract.Nearest(word, known); near != "" {
		return usageError{fmt.Errorf("unknown %s %q; did you mean %q?", what, word, near)}
	}
	return usageError{fmt.Errorf("unknown %s %q; use one of %s", what, word, strings.Join(known, ", "))}
}

// exactArgs requires n arguments. Its error shows how the command is used.
func exactArgs(n int) cobra.PositionalArgs { return argsBetween(n, n) }

// atLeastOneArg requires at least one argument. missing is the message of its error.
func atLeastOneArg(missing string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usageError{errors.New(missing)}
		}
		return nil
	}
}

func argsBetween(minArgs, maxArgs int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < minArgs || len(args) > maxArgs {
			return usageError{fmt.Errorf("got %s; usage: %s %s", contract.Count(len(args), "argument"), cmd.Parent().CommandPath(), cmd.Use)}
		}
		return nil
	}
}

// group returns a command that only has subcommands.
func group(use string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use}
	runsWithoutSubcommand(c)
	c.AddCommand(commands...)
	return c
}

// prepare resolves the settings of a command and opens its log. If toolsets are given, they replace
// those of the settings: a command that calls certain tools must have them.
func (p *Program) prepare(cmd *cobra.Command, toolsets ...string) (Settings, *slog.Logger, error) {
	settings, err := p.settings(cmd)
	if err != nil {
		return settings, nil, usageError{err}
	}
	isServer := cmd.Name() == "serve" || cmd.Name() == "stdio"
	if isServer {
		if settings, err = p.settleTrust(cmd, settings); err != nil {
			return settings, nil, err
		}
	}
	if len(toolsets) > 0 {
		settings.Toolsets = toolsets
	}
	if err := settings.checkAccess(cmd); err != nil {
		return settings, nil, err
	}
	if !isServer {
		settings.Watch = false // setting up file notifications takes too long for a short command
	}
	settings.Transient = cmd.Name() == "search"
	if cmd.Name() == "serve" && settings.Origin("log_level") == FromDefault {
		settings.LogLevel = slog.LevelInfo // the log is the only view of what a server does
	}
	if cmd.Name() == "serve" {
		settings.Reload = func() (Settings, error) { return p.settings(cmd) }
		settings.OnHangup = !isTerminal(p.Stderr) // at a terminal, SIGHUP ends the server
		settings.Level = &slog.LevelVar{}
		settings.Level.Set(settings.LogLevel)
	}
	log, err := p.Logger(p.Stderr, settings.logOptions())
	if err != nil {
		return settings, nil, err
	}
	p.trustNotice(&settings, isServer)
	return settings, log, nil
}

// open opens the workspace that the settings name. The toolsets are those of prepare.
func (p *Program) open(cmd *cobra.Command, toolsets ...string) (Workspace, error) {
	settings, log, err := p.prepare(cmd, toolsets...)
	if err != nil {
		return nil, err
	}
	return p.openWith(cmd.Context(), &settings, log)
}

func (p *Program) openWith(ctx context.Context, s *Settings, log *slog.Logger) (Workspace, error) {
	w, err := p.Open(ctx, *s, log)
	if err != nil {
		return nil, s.locate(err)
	}
	return w, nil
}

// runFunc is the type of cobra.Command.RunE.
type runFunc = func(cmd *cobra.Command, args []string) error

// with returns a runFunc that opens the workspace, runs body and closes the workspace. The toolsets
// are those of open.
func (p *Program) with(body func(cmd *cobra.Command, w Workspace, args []string) error, toolsets ...string) runFunc {
	return func(cmd *cobra.Command, args []string) error {
		w, err := p.open(cmd, toolsets...)
		if err != nil {
			return err
		}
		return errors.Join(body(cmd, w, args), w.Close())
	}
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
