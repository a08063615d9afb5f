package cli

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"remit/internal/toolsets/books"
	"remit/internal/visible"
)

func (b *bookCommands) search() *cobra.Command {
	var in books.GrepIn
	var isRegexp bool
	c := &cobra.Command{
		Use: "search TEXT", Aliases: []string{"grep"}, SuggestFor: []string{"find"},
		Args: atLeastOneArg("the text is missing: remit books search TEXT"),
	}
	c.RunE = b.run(func(cmd *cobra.Command, l *books.Library, args []string) error {
		if in.MaxResults < 1 {
			return usageError{fmt.Errorf("--limit must be at least 1, not %d", in.MaxResults)}
		}
		if in.Pattern = strings.Join(args, " "); !isRegexp {
			in.Pattern = "(?i)" + regexp.QuoteMeta(in.Pattern)
		}
		in.AllBooks = in.BookID == ""
		found, err := l.Search(cmd.Context(), in)
		if err != nil {
			return err
		}
		if found.Truncation().Truncated {
			fmt.Fprintf(b.Stderr, "Only the first %d lines are shown; --limit shows more.\n", in.MaxResults)
		}
		return failedIf(len(found.Result) == 0, b.show(found.Result, func() { b.printFound(found.Result) }))
	})
	c.Flags().StringVar(&in.BookID, "book", "", "search only this book (default: all books)")
	c.Flags().BoolVarP(&isRegexp, "regex", "e", false, "TEXT is a regular expression (RE2), and letter case matters")
	c.Flags().IntVarP(&in.MaxResults, "limit", "n", 100, "show at most this many lines")
	return c
}

func (b *bookCommands) printFound(lines []books.Match) {
	if len(lines) == 0 {
		fmt.Fprintln(b.Stderr, "Nothing found.")
	}
	for _, m := range lines {
		fmt.Fprintf(b.Stdout, "%s:%d: %s\n", m.FilePath, m.LineNumber, visible.Line(strings.TrimSpace(m.MatchedLine)))
	}
}
