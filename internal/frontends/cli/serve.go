package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"remit/internal/engine/identity"
)

func (p *Program) stdioCommand() *cobra.Command {
	return &cobra.Command{
		Use:        "stdio",
		SuggestFor: []string{"mcp"},
		Args:       cobra.NoArgs,
		RunE:       func(cmd *cobra.Command, _ []string) error { return p.stdio(cmd) },
	}
}

// stdio serves MCP with the server of the workspace, or alone if there is none.
func (p *Program) stdio(cmd *cobra.Command) error {
	settings, log, err := p.prepare(cmd)
	if err != nil {
		return err
	}
	if isTerminal(p.Stdin) {
		fmt.Fprintln(p.Stderr, "remit: waiting for JSON-RPC messages of an MCP client on stdin; Ctrl-D ends; "+
			p.hint("\"remit install CLIENT\" sets up a client that starts this command"))
	}
	ctx, in, out := cmd.Context(), p.Stdin, p.Stdout
	open := func(ctx context.Context) (Workspace, error) { return p.openWith(ctx, &settings, log) }
	if settings.noProject && p.AskRoots != nil {
		answer, err := p.AskRoots(ctx, settings, open, in, out)
		if err != nil {
			return err
		}
		in, out = answer.In, answer.Out
		if p.clientFolder = p.chooseRoot(answer, settings.Root, log); p.clientFolder != "" {
			if settings, log, err = p.prepare(cmd); err != nil {
				return err
			}
			log.Info("the client named the folder of this session", "root", settings.Root)
		}
	}
	if p.Bridge != nil {
		if bridged, err := p.Bridge(ctx, settings, log, open, in, out); bridged {
			return err
		}
	}
	w, err := open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(w.ServeStdio(ctx, in, out), w.Close())
}

func (p *Program) serveCommand() *cobra.Command {
	return &cobra.Command{
		Use:        "serve",
		SuggestFor: []string{"start", "run"},
		Args:       cobra.NoArgs,
		RunE: p.with(func(cmd *cobra.Command, w Workspace, _ []string) error {
			settings, err := p.settings(cmd)
			if err != nil {
				return usageError{err}
			}
			others, listening := p.otherServers(cmd.Context(), &settings), false
			err = w.Serve(cmd.Context(), func(url string) {
				listening = true
				fmt.Fprintf(p.Stderr, "Remit %s serves %s (MCP at %s/mcp). Press Ctrl-C to stop.\n%s", p.Version, url, url, p.consoleLine(w))
			})
			for _, other := range others {
				if err != nil && !listening && strings.TrimPrefix(other.Address, "http://") == settings.Addr {
					return fmt.Errorf("a server of this workspace (pid %d) uses %s already; use that one, stop it first, "+
						"or choose another port with --addr 127.0.0.1:0", other.PID, other.Address)
				}
			}
			return err
		}),
	}
}

// otherServers returns the servers that run in the workspace already, and says so: several may
// share it, but a person rarely wants that.
func (p *Program) otherServers(ctx context.Context, s *Settings) []Process {
	running, err := p.Lists(*s).Processes(ctx)
	if err != nil {
		return nil // what is wrong with the data folder, serving says
	}
	others := slices.DeleteFunc(running, func(r Process) bool { return r.Command != "serve" || r.PID == os.Getpid() })
	for i := range others {
		fmt.Fprintf(p.Stderr, "remit: a server already runs in this workspace: %s; both share its data\n", p.describe(&others[i]))
	}
	return others
}

// signInLinkValidity limits how long the sign-in link that serve prints is valid, because terminals
// keep it.
const signInLinkValidity = time.Hour

// consoleLine returns the line about the console. Only a terminal gets a sign-in link: whatever
// captures the output, such as a log or the agent that started the server, must not become an
// admin.
func (p *Program) consoleLine(w Workspace) string {
	if !isTerminal(p.Stderr) {
		return fmt.Sprintf(p.hint("Console: %s (to sign in, run \"remit token link\" at a terminal)\n"), w.Identity().ConsoleURL("/"))
	}
	return p.signInLine(w)
}

// signInLine returns the line with a single-use sign-in link for the console.
func (p *Program) signInLine(w Workspace) string {
	identities := w.Identity()
	token, err := identities.SignIn().Link(identity.Person{Name: loginName(), Role: identity.Admin}, signInLinkValidity)
	if err != nil {
		return fmt.Sprintf("Console: cannot create a sign-in link (%s)\n", message(err))
	}
	return fmt.Sprintf(p.hint("Console: %s (valid once, for an hour; \"remit token link\" creates another)\n"),
		identities.ConsoleURL("/console/login?token="+token))
}
