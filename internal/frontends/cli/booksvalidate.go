package cli

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"remit/internal/contract"
	"remit/internal/toolsets/books"
)

func (b *bookCommands) validate() *cobra.Command {
	c := &cobra.Command{Use: "validate BOOK", Aliases: []string{"check"}, Args: exactArgs(1), ValidArgsFunction: b.completeBook()}
	c.RunE = b.run(func(cmd *cobra.Command, l *books.Library, args []string) error {
		bar := b.bar("Checking")
		findings, err := l.Validate(cmd.Context(), args[0], bar.updateBytes)
		bar.end()
		if err != nil {
			return err
		}
		return b.reportValidation(args[0], findings)
	})
	return c
}

// reportValidation prints the findings. It fails if one of them is an error.
func (b *bookCommands) reportValidation(book string, findings []books.Finding) error {
	errs := 0
	for _, f := range findings {
		if f.Level == "error" {
			errs++
		}
	}
	answer := struct {
		Book     string          `json:"book_id"`
		Errors   int             `json:"errors"`
		Warnings int             `json:"warnings"`
		Findings []books.Finding `json:"findings"`
	}{book, errs, len(findings) - errs, append([]books.Finding{}, findings...)}
	return failedIf(errs > 0, b.show(answer, func() { b.printFindings(book, findings, errs) }))
}

func (b *bookCommands) printFindings(book string, findings []books.Finding, errs int) {
	if len(findings) == 0 {
		fmt.Fprintf(b.Stdout, "%s has no errors or warnings.\n", book)
		return
	}
	lines := table{colour: b.colours()}
	lines.add("LEVEL", "WHERE", "RULE", "WHAT")
	for _, f := range findings {
		where := f.Path
		if f.Line > 0 {
			where += ":" + strconv.Itoa(f.Line)
		}
		if where == "" {
			where = "(the book)"
		}
		lines.add(f.Level, where, f.Rule, f.Message)
		lines.paint(0, map[string]paint{"error": red, "warning": yellow}[f.Level])
	}
	lines.write(b.Stdout)
	fmt.Fprintf(b.Stdout, "%s, %s in %s.\n", contract.Count(errs, "error"), contract.Count(len(findings)-errs, "warning"), book)
}
