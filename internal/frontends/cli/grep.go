package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"remit/internal/toolsets/codebase"
	"remit/internal/visible"
)

// CodeSearcher searches the text of the project. codebase.Lines implements it.
type CodeSearcher interface {
	Grep(ctx context.Context, q codebase.LineQuery, each func(codebase.Found) bool) (codebase.Summary, error)
	Files(ctx context.Context, glob string, each func(path string) bool) (complete bool, err error)
}

// grepCommands implements the commands grep and files.
type grepCommands struct {
	*Program
	ignoreCase, caseSensitive bool
	fixed, word               bool
	filesOnly, count          bool
	column, numbers           bool
	null                      bool
	globs                     []string
	chosen                    bool // a path or --glob was given
	surrounding, limit        int
}

// grepCommand returns the command that finds matching lines.
func (p *Program) grepCommand() *cobra.Command {
	g := &grepCommands{Program: p}
	c := &cobra.Command{
		Use:               "grep PATTERN [PATH...]",
		ValidArgsFunction: files(1, anyNumber),
		RunE:              func(cmd *cobra.Command, args []string) error { return g.exit(g.grep(cmd, args)) },
	}
	f := c.Flags()
	f.BoolVarP(&g.ignoreCase, "ignore-case", "i", false, "ignore case")
	f.BoolVarP(&g.caseSensitive, "case-sensitive", "s", false, "match case (default); overrides -i")
	f.BoolVarP(&g.fixed, "fixed-strings", "F", false, "take the pattern as literal text, not as a regular expression")
	f.BoolVarP(&g.word, "word-regexp", "w", false, "match only whole words")
	f.StringArrayVarP(&g.globs, "glob", "g", nil, "search only files with this name or path, such as '*.go'; can be repeated")
	f.IntVarP(&g.surrounding, "context", "C", 0, "show this many lines before and after each match")
	f.BoolVarP(&g.filesOnly, "files-with-matches", "l", false, "print only the names of files with matches")
	f.BoolVarP(&g.count, "count", "c", false, "print only the number of matching lines of each file")
	f.IntVarP(&g.limit, "max", "m", 0, "print at most this many lines (files, with -l or -c); 0 prints all")
	f.BoolVar(&g.column, "column", false, "print the column of the first match in each line, in bytes")
	f.BoolVarP(&g.numbers, "line-number", "n", false, "print line numbers (always on; accepted for compatibility)")
	f.BoolVar(&p.asJSON, "json", false, "print one JSON object per line")
	return c
}

// grep runs the search and prints the matches.
func (g *grepCommands) grep(cmd *cobra.Command, args []string) error {
	query, err := g.query(args)
	if err != nil {
		return usageError{err}
	}
	printer := g.printer(query)
	words := g.wordFinder(query)
	var summary codebase.Summary
	err = g.onCode(cmd, func(ctx context.Context, code CodeSearcher) error {
		over := g.notice("still searching; press Ctrl-C to stop")
		defer over()
		found, err := code.Grep(ctx, query, func(f codebase.Found) bool {
			over()
			words.place(f.Lines)
			return printer.file(f)
		})
		if err != nil {
			return errors.Join(err, printer.Flush())
		}
		summary = found
		return printer.end(found)
	})
	if err != nil {
		return g.explained(err, args[0])
	}
	return g.verdict(summary)
}

// query converts the command line to a query.
func (g *grepCommands) query(args []string) (codebase.LineQuery, error) {
	switch {
	case len(args) == 0:
		return codebase.LineQuery{}, errors.New("a pattern is missing; usage: remit grep PATTERN [PATH...]")
	case g.filesOnly && g.count:
		return codebase.LineQuery{}, errors.New("-l and -c cannot be combined; give one of them")
	case g.surrounding < 0 || g.limit < 0:
		return codebase.LineQuery{}, errors.New("--context and --max must not be negative")
	}
	glob, err := globFor(args[1:], g.globs)
	if err != nil {
		return codebase.LineQuery{}, err
	}
	g.chosen = glob != ""
	q := codebase.LineQuery{Pattern: g.expression(args[0]), IgnoreCase: g.ignoreCase && !g.caseSensitive, Glob: glob, Limit: g.limit}
	if q.CountOnly = g.filesOnly || g.count; !q.CountOnly {
		q.Context = g.surrounding
	}
	return q, nil
}

// expression converts the pattern to a regular expression for the search. An invalid pattern is
// returned unchanged, so that the search reports the position of the error.
func (g *grepCommands) expression(pattern string) string {
	if g.fixed {
		pattern = regexp.QuoteMeta(pattern)
	}
	if _, err := syntax.Parse(pattern, syntax.Perl); g.word && err == nil {
		return wordBegins + pattern + wordEnds
	}
	return pattern
}

// wordBegins and wordEnds enclose a whole word. \b would not work, because the word may begin or
// end with a character that is not a letter.
const wordBegins, wordEnds = `(?:^|\W)(?:`, `)(?:$|\W)`

// printer returns the printer for the chosen output format.
func (g *grepCommands) printer(q codebase.LineQuery) grepPrinter {
	out := newOutput(g.Stdout, isTerminal(g.Stdout), g.colours())
	switch {
	case g.asJSON:
		return &jsonPrinter{output: out, tally: q.CountOnly}
	case q.CountOnly:
		return &tallyPrinter{output: out, count: g.count}
	}
	return &linePrinter{output: out, columns: g.column, around: q.Context, marks: g.marker(q, out.colour)}
}

// verdict prints on stderr what the output lacks, and returns the error with the exit code.
func (g *grepCommands) verdict(s codebase.Summary) error {
	things, all := "lines", s.Matches
	if g.filesOnly || g.count {
		things, all = "files", s.Matched
	}
	if s.Files == 0 && s.Reason == "" && g.chosen {
		fmt.Fprintln(g.Stderr, "remit: no text file matches that path or name; \"remit files\" lists all files")
	}
	if g.limit > 0 && all > g.limit && !g.asJSON {
		fmt.Fprintf(g.Stderr, "Only the first %d of %d %s are shown.\n", g.limit, all, things)
	}
	if s.Incomplete {
		fmt.Fprintf(g.Stderr, "remit: the search is incomplete: %s\n", visible.Line(s.Reason))
	}
	switch {
	case s.Matches > 0:
		return nil
	case s.Incomplete:
		return failure{ExitUsage}
	}
	return failure{ExitFailed}
}

// onCode opens the workspace and runs body with its text.
func (g *grepCommands) onCode(cmd *cobra.Command, body func(context.Context, CodeSearcher) error) error {
	return g.with(func(cmd *cobra.Command, w Workspace, _ []string) error { return body(cmd.Context(), w.Code()) })(cmd, nil)
}

// exit converts an error to the exit codes of grep: 2 is a failure, 1 means that nothing was found.
func (g *grepCommands) exit(err error) error {
	var done failure
	var usage usageError
	switch {
	case err == nil, errors.As(err, &done), errors.As(err, &usage):
		return err
	case isBrokenPipe(err):
		return nil // the reader has ended
	case errors.Is(err, context.Canceled):
		err = errors.New("interrupted")
	}
	fmt.Fprintf(g.Stderr, "remit: %s\n", visible.Line(message(err)))
	return failure{ExitUsage}
}

// noticeAfter is the delay before notice prints its message.
const noticeAfter = 2 * time.Second

// notice prints a message on a terminal after a delay, unless cancel is called before.
func (p *Program) notice(what string) (cancel func()) {
	if !isTerminal(p.Stderr) {
		return func() {}
	}
	printed := make(chan struct{})
	timer := time.AfterFunc(noticeAfter, func() {
		fmt.Fprintf(p.Stderr, "remit: %s\n", what)
		close(printed)
	})
	return sync.OnceFunc(func() {
		if !timer.Stop() {
			<-printed
		}
	})
}
