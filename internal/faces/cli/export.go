package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"remit/internal/contract"
	"remit/internal/contract/export"
	"remit/internal/engine"
)

func (p *Program) exportCommand() *cobra.Command {
	var format string
	var strict bool
	c := &cobra.Command{
		Use:   "export",
		Short: "Print the tools as models take them: for OpenAI, Anthropic, Gemini",
		Long: "Print the definitions of the tools as JSON, in the form that a model's API takes them.\n\n" +
			"  mcp         as an MCP client lists them\n" +
			"  openai      tools of OpenAI's Chat Completions\n" +
			"  responses   tools of OpenAI's Responses, and of its Agents SDK\n" +
			"  anthropic   tools of Anthropic's Messages\n" +
			"  gemini      one tool of Gemini, with a declaration for each function\n\n" +
			"What a form has no keyword for stands in the description; stderr says what it cannot be told at all.\n" +
			"With --strict the model cannot but keep to the schema. That is so for tools whose schema loses nothing by it;\n" +
			"the others are not strict, and stderr says why. Null stands for an argument that is left out.\n" +
			"Carry out what the model calls with POST /tools/{name} of \"remit serve\", or with \"remit call\".",
		Example: "  remit export --format openai --strict > tools.json\n" +
			"  remit export --format anthropic --toolsets booster\n" +
			"  remit export",
		Args: cobra.NoArgs,
		RunE: p.with(func(_ *cobra.Command, w Workspace, _ []string) error {
			f, err := parseFormat(format, strict)
			if err != nil {
				return err
			}
			return p.export(w.Engine(), f, strict)
		}),
	}
	c.Flags().StringVar(&format, "format", string(export.MCP), "one of "+strings.Join(formatNames(), ", "))
	c.Flags().BoolVar(&strict, "strict", false, "strict where nothing is lost by it (openai, responses, anthropic)")
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formatNames(), cobra.ShellCompDirectiveNoFileComp)) // the flag was just added
	return c
}

func formatNames() []string {
	var names []string
	for _, f := range export.Formats() {
		names = append(names, string(f))
	}
	return names
}

// parseFormat refuses a format that there is not, or not strict.
func parseFormat(name string, strict bool) (export.Format, error) {
	f, known := export.Format(name), formatNames()
	near := contract.Nearest(name, known)
	switch {
	case !slices.Contains(known, name) && near != "":
		return "", usageError{fmt.Errorf("there is no format %q; did you mean %q?", name, near)}
	case !slices.Contains(known, name):
		return "", usageError{fmt.Errorf("there is no format %q; there are %s", name, strings.Join(known, ", "))}
	case strict && !f.CanBeStrict():
		return "", usageError{fmt.Errorf("%s has no strict form; leave out --strict", f)}
	}
	return f, nil
}

func (p *Program) export(e *engine.Engine, f export.Format, strict bool) error {
	var contracts []*contract.Contract
	for _, t := range e.Tools() {
		contracts = append(contracts, t.Contract)
	}
	list, notes := export.Tools(f, strict, contracts)
	for _, note := range notes {
		fmt.Fprintln(p.Stderr, note)
	}
	return writeJSON(p.Stdout, list)
}
