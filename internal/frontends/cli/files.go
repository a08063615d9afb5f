package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// filesCommand returns the command that lists the files of the project.
func (p *Program) filesCommand() *cobra.Command {
	g := &grepCommands{Program: p}
	c := &cobra.Command{
		Use:               "files [PATH...]",
		SuggestFor:        []string{"ls"},
		ValidArgsFunction: files(0, anyNumber),
		RunE:              func(cmd *cobra.Command, args []string) error { return g.exit(g.files(cmd, args)) },
	}
	c.Flags().BoolVar(&p.asJSON, "json", false, "print a JSON array")
	c.Flags().BoolVarP(&g.null, "null", "0", false, "end each name with a zero byte, for xargs -0")
	return c
}

// files prints the names of the files that match args.
func (g *grepCommands) files(cmd *cobra.Command, args []string) error {
	err := g.selectPaths(cmd, args)
	if err == nil && g.asJSON && g.null {
		err = errors.New("--json and --null cannot be combined; give one of them")
	}
	if err != nil {
		return usageError{err}
	}
	out := newOutput(g.Stdout, isTerminal(g.Stdout), g.colours())
	names, count, complete := []string{}, 0, false
	err = g.onCode(cmd, func(ctx context.Context, code CodeSearcher) (err error) {
		over := g.notice("still listing; press Ctrl-C to stop")
		defer over()
		if err := g.checkPaths(ctx, code); err != nil {
			return err
		}
		complete, err = code.Files(ctx, g.Selection, func(path string) bool {
			over()
			count++
			path = fromHere(g.Folder, path)
			switch {
			case g.asJSON:
				names = append(names, path) // printed at the end
			case g.null:
				out.print(path, "\x00")
			default:
				out.print(quotePath(path), "\n")
			}
			return out.broken() == nil
		})
		return err
	})
	if g.asJSON {
		err = errors.Join(err, writeJSON(out, names))
	}
	if err = errors.Join(err, out.Flush()); err != nil {
		return err
	}
	if !complete {
		g.failed = true
		fmt.Fprintln(g.Stderr, "remit: some folders could not be read, so files may be missing")
	}
	switch {
	case count == 0:
		return failure{ExitFailed}
	case g.failed:
		return failure{ExitUsage}
	}
	return nil
}
