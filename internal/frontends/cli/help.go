package cli

import (
	_ "embed"
	"strings"

	"github.com/spf13/cobra"

	"remit/internal/frontends/cli/clients"
)

//go:embed help.txt
var helpText string

// helpSections are the sections of help.txt by the name of their command.
func helpSections() map[string]string {
	known := strings.NewReplacer("{clients}", strings.Join(clients.Names(), ", "), "{days}", dayForms)
	sections := map[string]string{}
	_, all, _ := strings.Cut(known.Replace(helpText), "\n== ") // before the first the file says what it is
	for section := range strings.SplitSeq(all, "\n== ") {
		name, text, _ := strings.Cut(section, "\n")
		sections[name] = text
	}
	return sections
}

// explain gives a command, and those beneath it, what help.txt says of them.
func explain(c *cobra.Command, sections map[string]string) {
	short, rest, _ := strings.Cut(sections[c.CommandPath()], "\n")
	long, examples, _ := strings.Cut(rest, "\nExamples:\n")
	c.Short, c.Long, c.Example = short, strings.Trim(long, "\n"), strings.Trim(examples, "\n")
	for _, sub := range c.Commands() {
		explain(sub, sections)
	}
}

// helpCommand shows the help of a command; unlike cobra's own it says no to one
// that is not there.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]",
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(found, strings.Join(rest, " "))
			}
			found.InitDefaultHelpFlag() // so that both ways to help show the same
			found.InitDefaultVersionFlag()
			return found.Help()
		},
	}
}
