package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"remit/internal/contract"
	"remit/internal/contract/export"
	"remit/internal/engine"
)

func (p *Program) exportCommand() *cobra.Command {
	var format, url string
	var strict bool
	c := &cobra.Command{
		Use:   "export",
		Short: "Print the tools as models take them, as OpenAPI or as Markdown",
		Long: "Print the definitions of the tools, in the form that a model's API takes them or as a document.\n\n" +
			"  mcp         as an MCP client lists them\n" +
			"  openai      tools of OpenAI's Chat Completions\n" +
			"  responses   tools of OpenAI's Responses, and of its Agents SDK\n" +
			"  anthropic   tools of Anthropic's Messages\n" +
			"  gemini      one tool of Gemini, with a declaration for each function\n" +
			"  openapi     a document of OpenAPI 3.1 for POST /tools/{name} of \"remit serve\"; --url says where that is\n" +
			"  markdown    the reference of the tools, for people\n\n" +
			"What a form has no keyword for stands in the description; stderr says what it cannot be told at all.\n" +
			"With --strict the model cannot but keep to the schema. That is so for tools whose schema loses nothing by it;\n" +
			"the others are not strict, and stderr says why. Null stands for an argument that is left out.\n" +
			"Carry out what the model calls with POST /tools/{name} of \"remit serve\", or with \"remit call\".",
		Example: "  remit export --format openai --strict > tools.json\n" +
			"  remit export --format anthropic --toolsets booster\n" +
			"  remit export --format openapi --url https://remit.example.com > openapi.json\n" +
			"  remit export",
		Args: cobra.NoArgs,
		RunE: p.with(func(cmd *cobra.Command, w Workspace, _ []string) error {
			f, err := parseFormat(format, strict)
			if err != nil {
				return err
			}
			if f != export.OpenAPI && cmd.Flags().Changed("url") {
				return usageError{fmt.Errorf("--url goes with --format openapi alone, not with %s", f)}
			}
			service := export.Service{Version: p.Version}
			if err := webAddress(&service.URL)(url); err != nil || service.URL == "" {
				return usageError{errors.New("--url must be an address such as https://remit.example.com, with nothing but a path behind it")}
			}
			return p.export(w.Engine(), f, strict, service)
		}),
	}
	c.Flags().StringVar(&format, "format", string(export.MCP), "one of "+strings.Join(formatNames(), ", "))
	c.Flags().StringVar(&url, "url", "http://127.0.0.1:8722", "where the tools are served, for openapi")
	c.Flags().BoolVar(&strict, "strict", false, "strict where nothing is lost by it (openai, responses, anthropic)")
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formatNames(), cobra.ShellCompDirectiveNoFileComp)) // the flag was just added
	return c
}

func formatNames() []string {
	return convert(slices.Concat(export.Formats(), export.Documents()), func(f export.Format) string { return string(f) })
}

// parseFormat refuses a format that there is not, or not strict.
func parseFormat(name string, strict bool) (export.Format, error) {
	f, known := export.Format(name), formatNames()
	switch {
	case !slices.Contains(known, name):
		return "", noSuch("format", name, known)
	case strict && !f.CanBeStrict():
		return "", usageError{fmt.Errorf("%s has no strict form; leave out --strict", f)}
	}
	return f, nil
}

func (p *Program) export(e *engine.Engine, f export.Format, strict bool, service export.Service) error {
	contracts := contractsOf(e)
	switch f {
	case export.OpenAPI:
		document, err := service.Describe(contracts)
		if err != nil {
			return err
		}
		return writeJSON(p.Stdout, document)
	case export.Markdown:
		return p.reference(contracts)
	}
	list, notes := export.Tools(f, strict, contracts)
	for _, note := range notes {
		fmt.Fprintln(p.Stderr, note)
	}
	return writeJSON(p.Stdout, list)
}

// reference prints the tools for people.
func (p *Program) reference(contracts []*contract.Contract) error {
	known, err := p.Catalog(convert(contracts, func(c *contract.Contract) string { return c.Set })...)
	if err != nil {
		return err
	}
	_, err = p.Stdout.Write(export.Reference(known, contracts))
	return err
}
