package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// filesCommand lists files.
func (p *Program) filesCommand() *cobra.Command {
	g := &grepCommands{Program: p}
	c := &cobra.Command{
		Use:  "files [PATH...]",
		RunE: func(cmd *cobra.Command, args []string) error { return g.exit(g.files(cmd, args)) },
	}
	c.Flags().BoolVar(&p.asJSON, "json", false, "print a JSON array")
	c.Flags().BoolVarP(&g.null, "null", "0", false, "end each name with a zero byte, as xargs -0 takes them")
	return c
}

// files lists and prints.
func (g *grepCommands) files(cmd *cobra.Command, args []string) error {
	glob, err := globOf(args, nil)
	if err == nil && g.asJSON && g.null {
		err = errors.New("give --json or --null")
	}
	if err != nil {
		return usageError{err}
	}
	list := &fileList{output: newOutput(g.Stdout, isTerminal(g.Stdout), g.colours()), asJSON: g.asJSON, null: g.null, names: []string{}}
	complete := false
	err = g.onCode(cmd, func(ctx context.Context, code Code) error {
		over := g.notice("still listing; Ctrl-C ends it")
		defer over()
		whole, err := code.Files(ctx, glob, func(path string) bool {
			over()
			return list.add(path)
		})
		complete = whole
		return err
	})
	if err = errors.Join(err, list.end()); err != nil {
		return err
	}
	if !complete {
		fmt.Fprintln(g.Stderr, "remit: not every folder could be read, so files may be missing")
	}
	if list.count == 0 {
		return failure{ExitFailed}
	}
	return nil
}

// fileList prints names.
type fileList struct {
	*output
	asJSON, null bool
	names        []string // for JSON, which is printed at the end
	count        int
}

// add prints a name, and tells whether there is still somebody who reads.
func (l *fileList) add(path string) bool {
	l.count++
	switch {
	case l.asJSON:
		l.names = append(l.names, path)
	case l.null:
		l.print(path, "\x00")
	default:
		l.print(quotedName(path), "\n")
	}
	return l.broken() == nil
}

// end prints what is left.
func (l *fileList) end() error {
	if l.asJSON {
		return errors.Join(writeJSON(l, l.names), l.Flush())
	}
	return l.Flush()
}
