package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func (p *Program) stdioCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "stdio",
		Short: "Serve one MCP client on stdin and stdout",
		Long: "Serve one MCP client on stdin and stdout. Logs go to stderr.\n" +
			"The client starts this command itself; it ends when the client closes stdin.",
		Example: "  remit stdio --root ~/course --toolsets booster\n" +
			"  claude mcp add remit -- remit stdio --root ~/course",
		Args: cobra.NoArgs,
		RunE: p.with(func(cmd *cobra.Command, w Workspace, _ []string) error {
			return w.ServeStdio(cmd.Context(), p.Stdin, p.Stdout)
		}),
	}
}

// wantsHelp tells whether the command line asks for help; at worst it is a value that looks so.
func (p *Program) wantsHelp() bool {
	return slices.ContainsFunc(p.Args, func(arg string) bool { return strings.HasPrefix(arg, "-h") || strings.HasPrefix(arg, "--help") })
}

// addStdioAlone adds the one command that clients wait for to start, and no other. Its
// flags are its own, because cobra copies those of a parent twice; nothing but help
// shows the difference.
func (p *Program) addStdioAlone(root *cobra.Command) {
	root.CompletionOptions.DisableDefaultCmd = true
	stdio := p.stdioCommand()
	addSettingFlags(stdio.Flags())
	root.AddCommand(stdio)
}
