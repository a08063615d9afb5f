package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"remit/internal/toolsets/codebase"
	"remit/internal/visible"
)

// query completes the query with what the command line says.
func (g *grepCommands) query(cmd *cobra.Command, args []string) error {
	if len(g.Patterns) == 0 {
		if len(args) == 0 {
			return errors.New("a pattern is missing; usage: remit grep PATTERN [PATH...]")
		}
		g.Patterns, args = args[:1], args[1:]
	}
	if err := g.selectPaths(cmd, args); err != nil {
		return err
	}
	if err := g.checkFlags(); err != nil {
		return err
	}
	upper := slices.ContainsFunc(g.Patterns, func(p string) bool { return strings.ContainsFunc(p, unicode.IsUpper) })
	g.IgnoreCase = (g.IgnoreCase || g.smartCase && !upper) && !g.caseSensitive
	if g.fixed {
		g.Patterns = convert(g.Patterns, regexp.QuoteMeta)
	}
	if !g.changed("after-context") {
		g.After = g.context
	}
	if !g.changed("before-context") {
		g.Before = g.context
	}
	g.ByTime, g.Reverse = cmp.Or(g.reverseBy, g.sortBy) == "modified", g.reverseBy != ""
	g.countMatches = g.countMatches || g.count && (g.onlyMatching || g.Multiline)
	g.Bytes = g.stats || g.asJSON
	if g.filesOnly || g.count || g.countMatches {
		g.Before, g.After = 0, 0
		g.CountOnly = !g.stats && !g.countMatches
	}
	return nil
}

// checkFlags returns an error for flags whose values are invalid or that cannot be combined.
func (g *grepCommands) checkFlags() error {
	orders, colours := []string{"path", "modified", "none"}, []string{"auto", "always", "never"}
	modes := 0
	for _, on := range []bool{g.filesOnly, g.count || g.countMatches, g.asJSON} {
		if on {
			modes++
		}
	}
	switch {
	case modes > 1:
		return errors.New("-l, -c and --json cannot be combined; give one of them")
	case min(g.context, g.Before, g.After, g.Limit, g.PerFile) < 0:
		return errors.New("-A, -B, -C, --max-count and --max must not be negative")
	case !slices.Contains(orders, g.sortBy) || g.reverseBy != "" && !slices.Contains(orders, g.reverseBy):
		return errors.New("--sort and --sortr take path, modified or none")
	case !slices.Contains(colours, g.colour):
		return errors.New("--color takes auto, always or never")
	case g.Limit > 0 && (g.sortBy == "modified" || g.reverseBy != "" || g.countMatches):
		return errors.New("--max needs the order of paths and lines; leave out --sort, --sortr and --count-matches, or use head")
	}
	return nil
}

// checkPaths prints an error for each PATH that names nothing that is searched, and without a PATH
// for a current folder below the root that has nothing that is searched, such as node_modules.
func (g *grepCommands) checkPaths(ctx context.Context, code CodeSearcher) error {
	if len(g.Paths) == 0 && g.Folder != "" {
		missing, err := code.Missing(ctx, codebase.Selection{Folder: g.Folder, Paths: []string{"."}})
		if len(missing) > 0 {
			g.failed = true
			fmt.Fprintln(g.Stderr, "remit: this folder has no file that is searched: it is empty, ignored or denied; with --root . it is a workspace of its own")
		}
		return err
	}
	missing, err := code.Missing(ctx, g.Selection)
	for _, p := range missing {
		g.failed = true
		fmt.Fprintf(g.Stderr, g.hint("remit: %s: no such file, or none that is searched; \"remit files\" lists all files\n"), visible.Line(p))
	}
	return err
}

// explained prints where a pattern is wrong. It returns other errors unchanged.
func (g *grepCommands) explained(err error) error {
	var wrong *codebase.PatternError
	if !errors.As(err, &wrong) {
		return err
	}
	fmt.Fprintf(g.Stderr, "remit: the pattern is wrong at column %d: %s\n%s",
		wrong.Column, visible.Line(wrong.Reason), caret(wrong.Pattern, wrong.Column))
	return failure{ExitUsage}
}

// caret returns the pattern with a caret under the character at column, or "" if the pattern is too
// long for a line.
func caret(pattern string, column int) string {
	runes := []rune(pattern)
	at := min(max(column-1, 0), len(runes))
	text, before := visible.Line(pattern), visible.Line(string(runes[:at]))
	if columns(text) > 76 {
		return ""
	}
	return fmt.Sprintf("  %s\n  %s^\n", text, strings.Repeat(" ", columns(before)))
}

// selectPaths selects the PATH arguments, which are relative to the current folder or absolute.
func (g *grepCommands) selectPaths(cmd *cobra.Command, args []string) error {
	root, here, err := g.here(cmd)
	if err != nil {
		return err
	}
	g.Folder, g.Paths = here, nil
	for _, given := range args {
		clean := filepath.ToSlash(filepath.Clean(given))
		if within, err := filepath.Rel(realPath(root), realPath(given)); filepath.IsAbs(given) && err == nil {
			clean = fromHere(here, filepath.ToSlash(within))
		}
		if within := path.Join(here, clean); path.IsAbs(clean) || within == ".." || strings.HasPrefix(within, "../") {
			return fmt.Errorf("%s is outside the workspace; name another workspace with --root", visible.Line(given))
		}
		g.Paths = append(g.Paths, clean)
	}
	return nil
}
