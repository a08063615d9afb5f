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

	"remit/internal/engine/approval"
	"remit/internal/toolsets/codebase"
)

// Code is the text of the project, as codebase.Lines searches it.
type Code interface {
	Grep(ctx context.Context, q codebase.LineQuery, each func(codebase.Found) bool) (codebase.Summary, error)
	Files(ctx context.Context, glob string, each func(path string) bool) (complete bool, err error)
}

// grepCommands are the commands that people have for the text of the project.
type grepCommands struct {
	*Program
	ignoreCase, caseSensitive bool
	fixed, word               bool
	filesOnly, count          bool
	column, numbers           bool
	null                      bool
	globs                     []string
	chosen                    bool // some files are meant, not all
	surrounding, most         int
}

// grepCommand finds lines.
func (p *Program) grepCommand() *cobra.Command {
	g := &grepCommands{Program: p}
	c := &cobra.Command{
		Use:  "grep PATTERN [PATH...]",
		RunE: func(cmd *cobra.Command, args []string) error { return g.exit(g.grep(cmd, args)) },
	}
	f := c.Flags()
	f.BoolVarP(&g.ignoreCase, "ignore-case", "i", false, "upper and lower case are the same")
	f.BoolVarP(&g.caseSensitive, "case-sensitive", "s", false, "they are not, which is the default; wins over -i")
	f.BoolVarP(&g.fixed, "fixed-strings", "F", false, "the pattern is the text itself, no expression")
	f.BoolVarP(&g.word, "word-regexp", "w", false, "only whole words")
	f.StringArrayVarP(&g.globs, "glob", "g", nil, "only files with this name or path, such as '*.go'; may be given again")
	f.IntVarP(&g.surrounding, "context", "C", 0, "show so many lines before and after each")
	f.BoolVarP(&g.filesOnly, "files-with-matches", "l", false, "only the names of files")
	f.BoolVarP(&g.count, "count", "c", false, "only how many lines each file has")
	f.IntVarP(&g.most, "max", "m", 0, "show so many lines in all (files, with -l or -c); 0 is all")
	f.BoolVar(&g.column, "column", false, "show where in the line the first match begins, in bytes")
	f.BoolVarP(&g.numbers, "line-number", "n", false, "show the numbers of lines; they are always shown")
	f.BoolVar(&p.asJSON, "json", false, "print a JSON object a line")
	return c
}

// grep searches and prints.
func (g *grepCommands) grep(cmd *cobra.Command, args []string) error {
	query, err := g.query(args)
	if err != nil {
		return usageError{err}
	}
	printer := g.printer(query)
	words := g.wordFinder(query)
	var summary codebase.Summary
	err = g.onCode(cmd, func(ctx context.Context, code Code) error {
		over := g.notice("still searching; Ctrl-C ends it")
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

// query makes a query of what was typed.
func (g *grepCommands) query(args []string) (codebase.LineQuery, error) {
	switch {
	case len(args) == 0:
		return codebase.LineQuery{}, errors.New("a pattern is missing; the command is: remit grep PATTERN [PATH...]")
	case g.filesOnly && g.count:
		return codebase.LineQuery{}, errors.New("-l shows names alone, -c how many lines as well; give one of them")
	case g.surrounding < 0 || g.most < 0:
		return codebase.LineQuery{}, errors.New("--context and --max are not negative")
	}
	glob, err := globOf(args[1:], g.globs)
	if err != nil {
		return codebase.LineQuery{}, err
	}
	g.chosen = glob != ""
	q := codebase.LineQuery{Pattern: g.expression(args[0]), IgnoreCase: g.ignoreCase && !g.caseSensitive, Glob: glob, Limit: g.most}
	if q.Tally = g.filesOnly || g.count; !q.Tally {
		q.Context = g.surrounding
	}
	return q, nil
}

// expression is the pattern as the search takes it. One that is wrong stays as it is, so that the search says where.
func (g *grepCommands) expression(pattern string) string {
	if g.fixed {
		pattern = regexp.QuoteMeta(pattern)
	}
	if _, err := syntax.Parse(pattern, syntax.Perl); g.word && err == nil {
		return wordBegins + pattern + wordEnds
	}
	return pattern
}

// What stands around a whole word: it need not begin or end with a letter itself, so \b would not do.
const wordBegins, wordEnds = `(?:^|\W)(?:`, `)(?:$|\W)`

// printer is how what is found is shown.
func (g *grepCommands) printer(q codebase.LineQuery) grepPrinter {
	out := newOutput(g.Stdout, isTerminal(g.Stdout), g.colours())
	switch {
	case g.asJSON:
		return &jsonPrinter{output: out, tally: q.Tally}
	case q.Tally:
		return &tallyPrinter{output: out, count: g.count}
	}
	return &linePrinter{output: out, columns: g.column, around: q.Context, marks: g.marker(q, out.colour)}
}

// verdict says on stderr what is missing, and gives the exit code.
func (g *grepCommands) verdict(s codebase.Summary) error {
	things, all := "lines", s.Matches
	if g.filesOnly || g.count {
		things, all = "files", s.Matched
	}
	if s.Files == 0 && s.Reason == "" && g.chosen {
		fmt.Fprintln(g.Stderr, "remit: there is no text file of that path or name; \"remit files\" lists them")
	}
	if g.most > 0 && all > g.most && !g.asJSON {
		fmt.Fprintf(g.Stderr, "Only the first %d of %d %s are shown.\n", g.most, all, things)
	}
	if s.Incomplete {
		fmt.Fprintf(g.Stderr, "remit: not everything was searched: %s\n", approval.Plain(s.Reason))
	}
	switch {
	case s.Matches > 0:
		return nil
	case s.Incomplete:
		return failure{ExitUsage}
	}
	return failure{ExitFailed}
}

// onCode runs a body on the text of the workspace.
func (g *grepCommands) onCode(cmd *cobra.Command, body func(context.Context, Code) error) error {
	return g.with(func(cmd *cobra.Command, w Workspace, _ []string) error { return body(cmd.Context(), w.Code()) })(cmd, nil)
}

// exit makes of an error what ends the command: here 1 is not a failure.
func (g *grepCommands) exit(err error) error {
	var done failure
	var usage usageError
	switch {
	case err == nil, errors.As(err, &done), errors.As(err, &usage):
		return err
	case isBrokenPipe(err):
		return nil // whoever read has seen enough
	case errors.Is(err, context.Canceled):
		err = errors.New("interrupted")
	}
	fmt.Fprintf(g.Stderr, "remit: %s\n", approval.Plain(message(err)))
	return failure{ExitUsage}
}

// noticeAfter is how long a person sees nothing before they are told that something happens.
const noticeAfter = 2 * time.Second

// notice tells a person at a terminal after a while that there is still something going on, until it is taken back.
func (p *Program) notice(what string) (takeBack func()) {
	if !isTerminal(p.Stderr) {
		return func() {}
	}
	said := make(chan struct{})
	timer := time.AfterFunc(noticeAfter, func() {
		fmt.Fprintf(p.Stderr, "remit: %s\n", what)
		close(said)
	})
	return sync.OnceFunc(func() {
		if !timer.Stop() {
			<-said
		}
	})
}
