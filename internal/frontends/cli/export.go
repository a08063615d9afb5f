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
		Use:  "export",
		Args: cobra.NoArgs,
		RunE: p.with(func(cmd *cobra.Command, w Workspace, _ []string) error {
			f, err := parseFormat(format, strict)
			if err != nil {
				return err
			}
			if f != export.OpenAPI && cmd.Flags().Changed("url") {
				return usageError{fmt.Errorf("--url can only be used with --format openapi, not with %s", f)}
			}
			service := export.Service{Version: p.Version}
			if err := webAddress(&service.URL)(url); err != nil || service.URL == "" {
				return usageError{errors.New("--url must be a URL such as https://remit.example.com, with no user, query or fragment")}
			}
			return p.export(w.Engine(), f, strict, service)
		}),
	}
	c.Flags().StringVar(&format, "format", string(export.MCP), "output format: "+strings.Join(formatNames(), ", "))
	c.Flags().StringVar(&url, "url", "http://127.0.0.1:8722", "address of the server, for --format openapi")
	c.Flags().BoolVar(&strict, "strict", false, "use strict schemas where possible (openai, responses, anthropic)")
	return c
}

func formatNames() []string {
	return convert(slices.Concat(export.Formats(), export.Documents()), func(f export.Format) string { return string(f) })
}

// parseFormat rejects unknown formats, and --strict for formats that do not support it.
func parseFormat(name string, strict bool) (export.Format, error) {
	f, known := export.Format(name), formatNames()
	switch {
	case !slices.Contains(known, name):
		return "", unknownValue("format", name, known)
	case strict && !f.CanBeStrict():
		return "", usageError{fmt.Errorf("format %s has no strict mode; leave out --strict", f)}
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

// reference prints the Markdown reference of the tools.
func (p *Program) reference(contracts []*contract.Contract) error {
	known, err := p.Catalog(convert(contracts, func(c *contract.Contract) string { return c.Set })...)
	if err != nil {
		return err
	}
	_, err = p.Stdout.Write(export.Reference(known, contracts))
	return err
}
