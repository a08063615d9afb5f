package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"remit/internal/engine/identity"
)

func (p *Program) stdioCommand() *cobra.Command {
	return &cobra.Command{
		Use:        "stdio",
		SuggestFor: []string{"mcp"},
		Args:       cobra.NoArgs,
		RunE: p.with(func(cmd *cobra.Command, w Workspace, _ []string) error {
			return w.ServeStdio(cmd.Context(), p.Stdin, p.Stdout)
		}),
	}
}

func (p *Program) serveCommand() *cobra.Command {
	return &cobra.Command{
		Use:        "serve",
		SuggestFor: []string{"start", "run"},
		Args:       cobra.NoArgs,
		RunE: p.with(func(cmd *cobra.Command, w Workspace, _ []string) error {
			return w.Serve(cmd.Context(), func(url string) {
				fmt.Fprintf(p.Stderr, "Remit %s serves %s (MCP at %s/mcp). Press Ctrl-C to stop.\n%s", p.Version, url, url, p.consoleLine(w))
			})
		}),
	}
}

// signInLinkValidity limits how long the sign-in link that serve prints is valid, because terminals
// keep it.
const signInLinkValidity = time.Hour

// consoleLine returns the line about the console. Only a terminal gets a sign-in link: whatever
// captures the output, such as a log or the agent that started the server, must not become an
// admin.
func (p *Program) consoleLine(w Workspace) string {
	if !isTerminal(p.Stderr) {
		return fmt.Sprintf("Console: %s (to sign in, run \"remit token link\" at a terminal)\n", w.Identity().ConsoleURL("/"))
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
	return fmt.Sprintf("Console: %s (valid once, for an hour; \"remit token link\" creates another)\n",
		identities.ConsoleURL("/console/login?token="+token))
}
