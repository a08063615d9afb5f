package cli

import "github.com/spf13/cobra"

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
