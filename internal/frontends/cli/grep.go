package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"remit/internal/toolsets/codebase"
	"remit/internal/visible"
)

// CodeSearcher searches the text of the project. codebase.Lines implements it.
type CodeSearcher interface {
	Grep(ctx context.Context, q codebase.LineQuery, each func(codebase.Found) bool) (codebase.Summary, error)
	Files(ctx context.Context, s codebase.Selection, each func(path string) bool) (complete bool, err error)
	Missing(ctx context.Context, s codebase.Selection) ([]string, error)
}

// grepCommands implements the commands grep and files.
type grepCommands struct {
	*Program
	codebase.LineQuery

	caseSensitive, smartCase, fixed       bool
	filesOnly, count, countMatches        bool
	column, numbers, noNumbers, noNames   bool
	onlyMatching, quiet, stats, listTypes bool
	null                                  bool
	context                               int
	sortBy, reverseBy, colour             string
	changed                               func(flag string) bool // whether a flag was given
	begun                                 time.Time
	found                                 grepStats
	failed                                bool // a PATH names nothing, or something cannot be read
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
	g.changed = f.Changed
	f.StringArrayVarP(&g.Patterns, "regexp", "e", nil, "search for this pattern; can be repeated; all arguments are then paths")
	f.BoolVarP(&g.IgnoreCase, "ignore-case", "i", false, "ignore case")
	f.BoolVarP(&g.caseSensitive, "case-sensitive", "s", false, "match case (default); overrides -i and -S")
	f.BoolVarP(&g.smartCase, "smart-case", "S", false, "ignore case unless a pattern has an upper-case letter")
	f.BoolVarP(&g.fixed, "fixed-strings", "F", false, "take patterns as literal text, not as regular expressions")
	f.BoolVarP(&g.Word, "word-regexp", "w", false, "match only whole words")
	f.BoolVarP(&g.WholeLine, "line-regexp", "x", false, "match only whole lines")
	f.BoolVarP(&g.Invert, "invert-match", "v", false, "find the lines that do not match")
	f.BoolVarP(&g.Multiline, "multiline", "U", false, "let a match span several lines")
	f.StringArrayVarP(&g.Globs, "glob", "g", nil, "search only files with this name or path, such as '*.go'; '!*.go' excludes; can be repeated")
	f.StringArrayVarP(&g.Types, "type", "t", nil, "search only files of this type, such as go or md; can be repeated")
	f.StringArrayVarP(&g.NotTypes, "type-not", "T", nil, "do not search files of this type; can be repeated")
	f.BoolVar(&g.listTypes, "type-list", false, "list the file types and their names")
	f.IntVarP(&g.PerFile, "max-count", "m", 0, "find at most this many lines in each file")
	f.IntVar(&g.Limit, "max", 0, "print at most this many lines (files, with -l or -c) in all; 0 prints all")
	g.outputFlags(f)
	c.SetFlagErrorFunc(g.flagError)
	return c
}

// outputFlags adds the flags that say what is printed.
func (g *grepCommands) outputFlags(f *pflag.FlagSet) {
	f.IntVarP(&g.After, "after-context", "A", 0, "show this many lines after each match")
	f.IntVarP(&g.Before, "before-context", "B", 0, "show this many lines before each match")
	f.IntVarP(&g.context, "context", "C", 0, "show this many lines before and after each match")
	f.BoolVarP(&g.onlyMatching, "only-matching", "o", false, "print only the matches, each on a line of its own")
	f.BoolVarP(&g.filesOnly, "files-with-matches", "l", false, "print only the names of files with matches")
	f.BoolVarP(&g.count, "count", "c", false, "print only the number of matching lines of each file")
	f.BoolVar(&g.countMatches, "count-matches", false, "print only the number of matches of each file")
	f.BoolVarP(&g.quiet, "quiet", "q", false, "print nothing; stop at the first match")
	f.BoolVar(&g.stats, "stats", false, "print statistics of the search at the end")
	f.StringVar(&g.sortBy, "sort", "path", "order files by path or modified (oldest first)")
	f.StringVar(&g.reverseBy, "sortr", "", "order files by path or modified, in reverse")
	f.StringVar(&g.colour, "color", "auto", "use colors: auto, always or never")
	f.BoolVar(&g.column, "column", false, "print the column of the first match in each line, in bytes")
	f.BoolVarP(&g.numbers, "line-number", "n", false, "print line numbers (default)")
	f.BoolVarP(&g.noNumbers, "no-line-number", "N", false, "print no line numbers")
	f.BoolVarP(&g.noNames, "no-filename", "I", false, "print no names of files")
	f.BoolP("with-filename", "H", false, "print the names of files (default)")
	f.Bool("no-heading", false, "print the name of the file in each line (default, except on a terminal)")
	f.Bool("hidden", false, "search hidden files (default)")
	f.BoolVar(&g.asJSON, "json", false, "print messages in ripgrep's JSON format, one per line")
}

// grep runs the search and prints the matches.
func (g *grepCommands) grep(cmd *cobra.Command, args []string) error {
	g.begun = time.Now()
	if g.listTypes {
		_, err := io.WriteString(g.Stdout, codebase.FileTypes())
		return err
	}
	if err := g.query(cmd, args); err != nil {
		return usageError{err}
	}
	if g.changed("max-count") && g.PerFile == 0 {
		return failure{ExitFailed} // as ripgrep
	}
	var summary codebase.Summary
	err := g.onCode(cmd, func(ctx context.Context, code CodeSearcher) (err error) {
		over := g.notice("still searching; press Ctrl-C to stop")
		defer over()
		if err := g.checkPaths(ctx, code); err != nil {
			return err
		}
		summary, err = g.search(ctx, code, over)
		return err
	})
	if err != nil {
		return g.explained(err)
	}
	return g.verdict(summary)
}

// search prints the matches while they are found.
func (g *grepCommands) search(ctx context.Context, code CodeSearcher, over func()) (codebase.Summary, error) {
	out := newOutput(g.Stdout, isTerminal(g.Stdout), g.colours() && g.colour != "never" || g.colour == "always")
	printer, begun, ended := g.printer(out), time.Now(), false
	summary, err := code.Grep(ctx, g.LineQuery, func(f codebase.Found) bool {
		over()
		f.Path = fromHere(g.Folder, f.Path)
		if f.Error != "" {
			g.failed = true
			fmt.Fprintf(g.Stderr, "remit: %s: %s\n", visible.Line(f.Path), visible.Line(f.Error))
			return true
		}
		g.found.add(f)
		ended = !printer.file(f)
		return !ended
	})
	if err != nil {
		return summary, errors.Join(err, printer.Flush())
	}
	if ended && g.quiet {
		summary.Incomplete = false
	}
	g.found.Searches, g.found.WithMatch, g.found.Searched = summary.Files, summary.Matched, summary.Bytes
	g.found.Elapsed = durationFor(time.Since(begun))
	if err := printer.end(summary); err != nil {
		return summary, err
	}
	if g.stats && !g.asJSON {
		g.found.Printed = out.bytes
		out.print(g.found.text(time.Since(g.begun)))
	}
	return summary, out.Flush()
}

// printer returns the printer for the chosen output format.
func (g *grepCommands) printer(out *output) grepPrinter {
	switch {
	case g.asJSON:
		return newJSONPrinter(jsonPrinter{output: out, quiet: g.quiet, summary: func() (grepStats, time.Duration) {
			return g.found, time.Since(g.begun)
		}})
	case g.quiet:
		return &quietPrinter{output: out, all: g.stats}
	case g.filesOnly || g.count || g.countMatches:
		return &tallyPrinter{output: out, count: !g.filesOnly, noNames: g.noNames, matches: g.countMatches && !g.Invert}
	}
	return newLinePrinter(linePrinter{
		output: out, columns: g.column, context: g.Before+g.After > 0, onlyMatching: g.onlyMatching, noNames: g.noNames, noNumbers: g.noNumbers,
	})
}

// verdict prints on stderr what the output lacks, and returns the error with the exit code.
func (g *grepCommands) verdict(s codebase.Summary) error {
	things, all := "lines", s.Matches
	if g.filesOnly || g.count {
		things, all = "files", s.Matched
	}
	selects := len(g.Paths)+len(g.Globs)+len(g.Types)+len(g.NotTypes) > 0
	if s.Files == 0 && s.Reason == "" && selects && !g.failed {
		g.failed = true
		fmt.Fprintln(g.Stderr, g.hint("remit: no text file matches that path, name or type; \"remit files\" lists all files"))
	}
	if g.Limit > 0 && all > g.Limit && !g.asJSON && !g.quiet {
		fmt.Fprintf(g.Stderr, "Only the first %d of %d %s are shown.\n", g.Limit, all, things)
	}
	if s.Incomplete {
		fmt.Fprintf(g.Stderr, "remit: the search is incomplete: %s\n", visible.Line(s.Reason))
	}
	switch {
	case (s.Incomplete || g.failed) && (s.Matches == 0 || !g.quiet):
		return failure{ExitUsage}
	case s.Matches == 0:
		return failure{ExitFailed}
	}
	return nil
}

// onCode runs body with the text of the project.
func (g *grepCommands) onCode(cmd *cobra.Command, body func(context.Context, CodeSearcher) error) error {
	return g.withSession(func(cmd *cobra.Command, s *session, _ []string) error { return body(cmd.Context(), s) })(cmd, nil)
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
