package cli

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func (p *Program) manCommand() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:               "man [COMMAND]",
		ValidArgsFunction: completeCommand,
		RunE: func(cmd *cobra.Command, args []string) error {
			date, err := p.manDate()
			if err != nil {
				return usageError{err}
			}
			found, rest, err := cmd.Root().Find(args)
			switch {
			case err != nil || len(rest) > 0:
				return unknownCommand(found, strings.Join(rest, " "))
			case dir != "" && len(args) > 0:
				return usageError{fmt.Errorf("--dir writes the pages of all commands; leave out %s", strings.Join(args, " "))}
			case dir != "":
				return p.pages(dir, found, date)
			}
			return p.page(p.Stdout, found, date)
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "write all pages to this folder")
	return c
}

// manDate returns the date for the pages from SOURCE_DATE_EPOCH, or "" if that is not set.
func (p *Program) manDate() (string, error) {
	text, ok := p.Env("SOURCE_DATE_EPOCH")
	if !ok || text == "" {
		return "", nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds < 0 {
		return "", fmt.Errorf("SOURCE_DATE_EPOCH is %q; it must be the seconds since 1970", text)
	}
	return time.Unix(seconds, 0).UTC().Format(time.DateOnly), nil
}

//go:embed man.tmpl
var manTemplate string

// page writes the manual page of one command with man.tmpl. ADR 4 says why cobra/doc is not used.
func (p *Program) page(w io.Writer, c *cobra.Command, date string) error {
	page, err := template.New("man").Funcs(template.FuncMap{
		"roff": escaped, "upper": strings.ToUpper, "join": strings.Join, "name": pageName, "paragraphs": paragraphs, "flags": visibleFlags,
		"kind": func(f *pflag.Flag) string {
			kind, _ := pflag.UnquoteUsage(f)
			return strings.ToUpper(kind)
		},
		"about":        aboutFlag,
		"hasExitCodes": func(long string) bool { return strings.Contains(long, "Exit codes: ") },
		"parents": func(c *cobra.Command) (list []*cobra.Command) {
			c.VisitParents(func(parent *cobra.Command) { list = append(list, parent) })
			return list
		},
	}).Parse(manTemplate)
	if err != nil {
		return err
	}
	return page.Execute(w, struct {
		*cobra.Command
		Version, Date string
	}{c, p.Version, date})
}

// pages writes the pages of a command and all its subcommands to a folder.
func (p *Program) pages(dir string, c *cobra.Command, date string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of the pages: %w", err)
	}
	for _, each := range withSubcommands(c) {
		var page bytes.Buffer
		if err := p.page(&page, each, date); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, pageName(each)+".1"), page.Bytes(), 0o644); err != nil {
			return fmt.Errorf("write a page: %w", err)
		}
	}
	return nil
}

// withSubcommands returns a command and all its visible subcommands.
func withSubcommands(c *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			list = append(list, withSubcommands(sub)...)
		}
	}
	return list
}

func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// paragraphs converts text to roff. Paragraphs are filled; indented lines are kept as they are.
func paragraphs(text string) string {
	var b strings.Builder
	verbatim := false
	for line := range strings.SplitSeq(strings.Trim(text, "\n")+"\n", "\n") {
		indented := strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "\t")
		switch {
		case indented && !verbatim:
			b.WriteString(".RS \"2n\"\n.nf\n")
		case verbatim && !indented:
			b.WriteString(".fi\n.RE\n")
		}
		if verbatim = indented; line != "" {
			b.WriteString(escaped(strings.TrimPrefix(strings.TrimRight(line, " "), "  ")) + "\n")
		} else {
			b.WriteString(".PP\n")
		}
	}
	return strings.TrimSuffix(b.String(), ".PP\n")
}

// visibleFlags returns the command's own flags that are not hidden, sorted by name.
func visibleFlags(c *cobra.Command) (list []*pflag.Flag) {
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			list = append(list, f)
		}
	})
	return list
}

func aboutFlag(f *pflag.Flag) string {
	_, about := pflag.UnquoteUsage(f)
	if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && f.DefValue != "0" {
		about += "; by default " + f.DefValue
	}
	return about
}

// roffEscapes escapes characters that a formatter would replace, and line starts that it would take
// as requests.
var roffEscapes = strings.NewReplacer(`\`, `\e`, "\n.", "\n\\&.", "\n'", "\n\\(aq",
	"-", `\-`, "'", `\(aq`, `"`, `\(dq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`)

// escaped returns text in a form that a formatter prints unchanged, so that it can be copied from
// the page.
func escaped(text string) string {
	var b strings.Builder
	for _, c := range roffEscapes.Replace("\n" + text)[1:] {
		if c > '~' {
			fmt.Fprintf(&b, `\[u%04X]`, c)
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}
