package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func (p *Program) manCommand() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "man [COMMAND]",
		Short: "Print or write the manual pages",
		Long: "Print the manual page of a command, or write those of all commands into a folder.\n\n" +
			"The same program writes the same pages: their date is that of SOURCE_DATE_EPOCH, and left out without it.",
		Example: "  remit man approvals approve | man -l -\n" +
			"  remit man --dir ~/.local/share/man/man1         then: man remit-call",
		RunE: func(cmd *cobra.Command, args []string) error {
			date, err := p.manDate()
			if err != nil {
				return usageError{err}
			}
			m := manual{version: p.Version, date: date}
			found, rest, err := cmd.Root().Find(args)
			switch {
			case err != nil || len(rest) > 0:
				return unknownCommand(found, strings.Join(rest, " "))
			case dir != "" && len(args) > 0:
				return usageError{fmt.Errorf("--dir writes the pages of all commands; leave out %s", strings.Join(args, " "))}
			case dir != "":
				return m.write(dir, found)
			}
			_, err = p.Stdout.Write(m.page(found))
			return err
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "folder to write all pages into")
	return c
}

// manDate is the day that the pages tell; "" if nobody says.
func (p *Program) manDate() (string, error) {
	text, ok := p.Env("SOURCE_DATE_EPOCH")
	if !ok || text == "" {
		return "", nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds < 0 {
		return "", fmt.Errorf("SOURCE_DATE_EPOCH is %q; it must be seconds since 1970", text)
	}
	return time.Unix(seconds, 0).UTC().Format(time.DateOnly), nil
}

// manual writes manual pages as roff. The writer of cobra would bring a parser of
// Markdown into the program, which takes its time at every start.
type manual struct{ version, date string }

// write makes a page of each command, those beneath it too.
func (m manual) write(dir string, c *cobra.Command) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of the pages: %w", err)
	}
	for _, each := range withSubcommands(c) {
		if err := os.WriteFile(filepath.Join(dir, pageName(each)+".1"), m.page(each), 0o644); err != nil {
			return fmt.Errorf("write a page: %w", err)
		}
	}
	return nil
}

// withSubcommands lists a command and all that people are told of beneath it.
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

// page writes the page of one command.
func (m manual) page(c *cobra.Command) []byte {
	r := &roff{}
	r.request("TH", strings.ToUpper(pageName(c)), "1", m.date, "remit "+m.version, "Remit")
	r.request("SH", "NAME")
	r.line(escaped(pageName(c)) + ` \- ` + escaped(c.Short))
	r.request("SH", "SYNOPSIS")
	r.line(`\fB` + escaped(c.CommandPath()) + `\fR` + escaped(strings.TrimPrefix(c.UseLine(), c.CommandPath())))
	r.request("SH", "DESCRIPTION")
	if c.Long != "" {
		r.text(c.Long)
	} else {
		r.text(c.Short + ".")
	}
	r.commands(c)
	r.flags("OPTIONS", c.LocalFlags())
	if c.HasParent() {
		r.request("PP")
		r.line(`The settings that all commands share, such as \fB\-\-root\fR, are in \fBremit\fR(1).`)
	}
	if c.Example != "" {
		r.request("SH", "EXAMPLES")
		r.verbatim(strings.Split(c.Example, "\n"))
	}
	r.exitStatus()
	r.seeAlso(c)
	return []byte(r.String())
}

// roff is a page as it is written.
type roff struct{ strings.Builder }

// request writes a line that commands the formatter.
func (r *roff) request(name string, args ...string) {
	r.WriteString("." + name)
	for _, arg := range args {
		r.WriteString(` "` + escaped(arg) + `"`)
	}
	r.WriteByte('\n')
}

// line writes a line that is escaped already.
func (r *roff) line(words string) { r.WriteString(words + "\n") }

// text writes paragraphs; lines that are indented stay as they are.
func (r *roff) text(words string) {
	for i, paragraph := range strings.Split(strings.TrimSpace(words), "\n\n") {
		if i > 0 {
			r.request("PP")
		}
		lines := strings.Split(paragraph, "\n")
		for len(lines) > 0 {
			indented := strings.HasPrefix(lines[0], " ") || strings.HasPrefix(lines[0], "\t")
			n := 1
			for n < len(lines) && indented == (strings.HasPrefix(lines[n], " ") || strings.HasPrefix(lines[n], "\t")) {
				n++
			}
			if indented {
				r.verbatim(lines[:n])
			} else {
				r.line(escaped(strings.Join(lines[:n], "\n")))
			}
			lines = lines[n:]
		}
	}
}

func (r *roff) verbatim(lines []string) {
	r.request("RS", "2n")
	r.request("nf")
	for _, l := range lines {
		r.line(escaped(strings.TrimPrefix(strings.TrimRight(l, " "), "  ")))
	}
	r.request("fi")
	r.request("RE")
}

func (r *roff) commands(c *cobra.Command) {
	if !c.HasAvailableSubCommands() {
		return
	}
	r.request("SH", "COMMANDS")
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			r.item(`\fB`+escaped(pageName(sub))+`\fR(1)`, sub.Short)
		}
	}
}

func (r *roff) item(term, about string) {
	r.request("TP")
	r.line(term)
	r.line(escaped(about))
}

// flags writes flags in the order of their names.
func (r *roff) flags(title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	r.request("SH", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		term := `\fB` + escaped("--"+f.Name) + `\fR`
		if f.Shorthand != "" {
			term = `\fB` + escaped("-"+f.Shorthand) + `\fR, ` + term
		}
		kind, about := pflag.UnquoteUsage(f)
		if kind != "" {
			term += ` \fI` + escaped(strings.ToUpper(kind)) + `\fR`
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && f.DefValue != "0" {
			about += "; by default " + f.DefValue
		}
		r.item(term, about)
	})
}

func (r *roff) exitStatus() {
	r.request("SH", "EXIT STATUS")
	r.item("0", "Done.")
	r.item("1", "The tool or the command said no.")
	r.item("2", "The command line or the configuration is wrong.")
	r.item("3", "A person has yet to approve.")
}

func (r *roff) seeAlso(c *cobra.Command) {
	if !c.HasParent() {
		return
	}
	r.request("SH", "SEE ALSO")
	var pages []string
	for parent := c.Parent(); parent != nil; parent = parent.Parent() {
		pages = append(pages, `\fB`+escaped(pageName(parent))+`\fR(1)`)
	}
	r.line(strings.Join(pages, ", "))
}

// escaped writes text so that a formatter shows it as it is, and can be copied from.
func escaped(words string) string {
	var b strings.Builder
	atStart := true
	for _, c := range words {
		if atStart && (c == '.' || c == '\'') {
			b.WriteString(`\&`)
		}
		atStart = c == '\n'
		switch c {
		case '\\':
			b.WriteString(`\e`)
		case '-':
			b.WriteString(`\-`)
		case '\'':
			b.WriteString(`\(aq`)
		case '"':
			b.WriteString(`\(dq`)
		case '`':
			b.WriteString(`\(ga`)
		case '^':
			b.WriteString(`\(ha`)
		case '~':
			b.WriteString(`\(ti`)
		default:
			if c > '~' {
				fmt.Fprintf(&b, `\[u%04X]`, c)
			} else {
				b.WriteRune(c)
			}
		}
	}
	return b.String()
}
