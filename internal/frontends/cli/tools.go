package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"remit/internal/contract"
	"remit/internal/contract/catalog"
	"remit/internal/engine"
)

func (p *Program) toolsCommand() *cobra.Command {
	run := p.with(func(_ *cobra.Command, w Workspace, args []string) error {
		if len(args) == 1 {
			return p.showTool(w.Engine(), args[0])
		}
		return p.listTools(w.Engine())
	})
	c := &cobra.Command{Use: "tools [TOOL]", Args: cobra.MaximumNArgs(1), ValidArgsFunction: arguments(1, p.toolNames), RunE: run}
	c.PersistentFlags().BoolVar(&p.asJSON, "json", false, "print the contracts as JSON")
	c.AddCommand(
		&cobra.Command{Use: "list", Aliases: []string{"ls"}, Args: cobra.NoArgs, RunE: run},
		&cobra.Command{Use: "show TOOL", Args: exactArgs(1), ValidArgsFunction: c.ValidArgsFunction, RunE: run},
	)
	return c
}

func (p *Program) listTools(e *engine.Engine) error {
	return p.show(contractsOf(e), func() {
		var t table
		t.add("TOOLSET", "TOOL", "VERSION", "PROMISES", "DESCRIPTION")
		for _, tool := range e.Tools() {
			t.add(tool.Set, tool.Name, tool.Version.String(), promises(tool), tool.Description)
		}
		t.write(p.Stdout)
	})
}

func contractsOf(e *engine.Engine) []*contract.Contract {
	return convert(e.Tools(), func(t *engine.Tool) *contract.Contract { return t.Contract })
}

// promises summarizes what a tool may do.
func promises(t *engine.Tool) string {
	words := []string{"reads"}
	if !t.Hints.ReadOnly {
		words[0] = "writes"
	}
	if t.Approval.Required {
		words = append(words, "approval")
	}
	if !t.Rate.IsZero() {
		words = append(words, t.Rate.String())
	}
	return strings.Join(words, ", ")
}

func (p *Program) showTool(e *engine.Engine, name string) error {
	tool, err := e.Find(name)
	if err != nil {
		return usageError{err}
	}
	return p.show(tool.Contract, func() { fmt.Fprintf(p.Stdout, "%s\n", catalog.Page(tool.Contract)) })
}
