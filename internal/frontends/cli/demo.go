package cli

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"remit/internal/contract"
)

//go:embed all:demo
var demoFiles embed.FS

// demoCommands fill the workspace of the demo after its files are there. The last one leaves a
// request that waits for approval.
func demoCommands() [][]string {
	remember := func(timestamp, kind, text string) []string {
		entry := fmt.Sprintf(`entry={"timestamp":%q,"type":%q,"decision":%q}`, timestamp, kind, text)
		return []string{"call", "write_memory_entry", "file=decisions.jsonl", entry}
	}
	return [][]string{
		{"tasks", "add", "Answer the question about refunds", "--due", "today", "--priority", "high"},
		{"tasks", "add", "Write the second lesson", "--due", "+3d"},
		{"tasks", "add", "Add a test for rounding"},
		append(remember("2026-01-05T09:00:00Z", "stack", "We store orders in SQLite, because one machine is enough"), "--approve", "auto"),
		append(remember("2026-01-06T14:30:00Z", "rule", "Prices are integers in cents, never floating-point numbers"), "--approve", "auto"),
		{"books", "import", "course", "--book", "first-steps", "--approve", "auto"},
		{"index"},
		remember("2026-01-09T10:30:00Z", "stack", "Move the orders to PostgreSQL"),
	}
}

// demo is a workspace that is removed at the end.
type demo struct {
	*Program
	top string // holds the workspace, its keys and a script
}

func (d *demo) workspace() string { return filepath.Join(d.top, "shop") }
func (d *demo) keys() string      { return filepath.Join(d.top, "keys") }

func (p *Program) demoCommand() *cobra.Command {
	var keep bool
	c := &cobra.Command{
		Use:  "demo",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, s := range settingsTable {
				if f := cmd.Flags().Lookup(s.flag()); f.Changed && s.key != "addr" {
					return usageError{fmt.Errorf("demo makes a workspace of its own, so --%s has no effect; leave it out", s.flag())}
				}
			}
			addr, _ := cmd.Flags().GetString("addr") // it is a setting
			if !cmd.Flags().Changed("addr") {
				addr = "127.0.0.1:0" // another server may use the default
			}
			return p.runDemo(cmd.Context(), addr, keep)
		},
	}
	c.Flags().BoolVar(&keep, "keep", false, "keep the workspace, and do not serve it")
	return c
}

func (p *Program) runDemo(ctx context.Context, addr string, keep bool) error {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	top, err := os.MkdirTemp("", "remit-demo-")
	if err != nil {
		return fmt.Errorf("create the workspace of the demo: %w", err)
	}
	d := &demo{p, realPath(top)}
	err = untilSignals(ctx, signals, func(ctx context.Context) error {
		if err := d.fill(ctx); err != nil {
			return err
		}
		d.printTour(keep)
		if keep {
			return nil
		}
		_, err := d.run(ctx, p.Stdout, p.Stderr, "serve", "--addr", addr)
		return err
	})
	if keep && err == nil {
		return nil
	}
	removed := d.remove()
	if removed == nil {
		fmt.Fprintf(p.Stderr, "The workspace of the demo was removed.\n")
	}
	return errors.Join(err, removed)
}

// untilSignals runs body. The first signal ends its context; the second one does not wait for body,
// which may still answer requests.
func untilSignals(ctx context.Context, signals <-chan os.Signal, body func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- body(ctx) }()
	for range 2 {
		select {
		case err := <-done:
			return err
		case <-signals:
			cancel()
		}
	}
	return errors.New("interrupted twice; requests that still ran were aborted")
}

// remove removes the demo. A server that still runs finds none of its files.
func (d *demo) remove() error {
	away := d.top + ".removed"
	if err := os.Rename(d.top, away); err != nil {
		away = d.top
	}
	return os.RemoveAll(away)
}

// fill writes the files of the demo and runs the commands that make the rest.
func (d *demo) fill(ctx context.Context) error {
	files, err := fs.Sub(demoFiles, "demo")
	if err == nil {
		err = os.CopyFS(d.workspace(), files)
	}
	if err == nil {
		err = os.Mkdir(d.keys(), 0o700)
	}
	if err == nil {
		err = d.writeCommand()
	}
	if err != nil {
		return fmt.Errorf("write the files of the demo: %w", err)
	}
	for _, args := range demoCommands() {
		var out strings.Builder
		if args[0] == "books" {
			args[2] = filepath.Join(d.workspace(), args[2])
		}
		if code, err := d.run(ctx, &out, &out, args...); err != nil && code != ExitPending {
			return fmt.Errorf("fill the workspace of the demo: remit %s: %s\n%s", strings.Join(args[:2], " "), message(err), &out)
		}
	}
	return nil
}

// run runs a command in the workspace of the demo. The environment of the user's own workspaces
// does not apply.
func (d *demo) run(ctx context.Context, out, errOut io.Writer, args ...string) (code int, err error) {
	own := *d.Program
	own.Args = slices.Concat(args, []string{"--root", d.workspace(), "--keys", d.keys()})
	own.Env = func(name string) (string, bool) {
		if strings.HasPrefix(name, "REMIT_") && name != "REMIT_DEADLINE_FACTOR" {
			return "", false
		}
		return d.Env(name)
	}
	own.Stdin, own.Stdout, own.Stderr = strings.NewReader(""), out, errOut
	root := own.command()
	root.SetArgs(own.Args)
	root.SetIn(own.Stdin)
	root.SetOut(out)
	root.SetErr(errOut)
	err = root.ExecuteContext(ctx)
	var done failure
	if errors.As(err, &done) {
		return done.code, err
	}
	return ExitOK, err
}

// command is the path of a script that runs Remit in the workspace of the demo.
func (d *demo) command() string {
	if runtime.GOOS == "windows" {
		return filepath.Join(d.top, "remit.cmd")
	}
	return filepath.Join(d.top, "remit")
}

// writeCommand writes the script, so that each command of the tour works by itself in any terminal.
func (d *demo) writeCommand() error {
	program, err := d.Executable()
	if err != nil {
		return err
	}
	here, start := d.workspace(), contract.ShellLine(program)
	// The program of go run is deleted when it ends.
	if name := d.ownName(); strings.HasPrefix(name, "go run ") {
		here, err = os.Getwd()
		start = name + " --root " + contract.ShellLine(d.workspace())
	}
	text := fmt.Sprintf("#!/bin/sh\nexport %s\ncd %s && exec %s \"$@\"\n",
		contract.ShellLine("REMIT_KEYS="+d.keys(), nameVariable+"="+d.command()), contract.ShellLine(here), start)
	if runtime.GOOS == "windows" {
		text = fmt.Sprintf("@set \"REMIT_KEYS=%s\"\r\n@set \"%s=%s\"\r\n@cd /d \"%s\" && \"%s\" %%*\r\n",
			d.keys(), nameVariable, d.command(), d.workspace(), program)
	}
	return errors.Join(err, os.WriteFile(d.command(), []byte(text), 0o700))
}

// printTour says what the workspace has and what to try there.
func (d *demo) printTour(keep bool) {
	fmt.Fprintf(d.Stdout, "The demo is a small shop in %s. It has code, tasks, memory, a course,\n"+
		"and a request of an agent that waits for approval. Try in another terminal:\n\n", d.workspace())
	for _, s := range []step{
		{"", "what the workspace has, and what to do next"},
		{" approvals list", "the request that waits"},
		{" approvals approve ID", "decide, with the id from the list"},
		{" tasks", "the tasks"},
		{" search why are prices integers", "search by meaning"},
		{" grep TODO", "search the text"},
		{" books", "the course"},
		{" audit verify", "what agents did, and that no record was changed"},
		{" install claude-code --keys " + contract.ShellLine(d.keys()), "let your own client work there"},
	} {
		fmt.Fprintf(d.Stdout, "  %s%-31s  # %s\n", contract.ShellLine(d.command()), s.command, s.why)
	}
	fmt.Fprintf(d.Stdout, "\n%s runs Remit there, from any folder.\n", d.command())
	if keep {
		fmt.Fprintf(d.Stdout, "Remove it with: rm -r %s\n", contract.ShellLine(d.top))
		return
	}
	fmt.Fprintln(d.Stdout, "The workspace is removed when this command ends.")
}
