package cli

import (
	_ "embed"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"remit/internal/frontends/cli/clients"
)

//go:embed help.txt
var helpText string

// helpSections returns the sections of help.txt by the name of their command.
func helpSections() map[string]string {
	known := strings.NewReplacer("{clients}", strings.Join(clients.Names(), ", "), "{days}", dayForms,
		"{past days}", pastForms)
	sections := map[string]string{}
	// The file begins with a note about itself.
	_, all, _ := strings.Cut(known.Replace(helpText), "\n== ")
	for section := range strings.SplitSeq(all, "\n== ") {
		name, text, _ := strings.Cut(section, "\n")
		sections[name] = text
	}
	return sections
}

// explain sets the help texts of a command and its subcommands.
func explain(c *cobra.Command, sections map[string]string) {
	short, rest, _ := strings.Cut(sections[c.CommandPath()], "\n")
	long, examples, _ := strings.Cut(rest, "\nExamples:\n")
	c.Short, c.Long, c.Example = short, strings.Trim(long, "\n"), strings.Trim(examples, "\n")
	for _, sub := range c.Commands() {
		explain(sub, sections)
	}
}

// helpCommand returns the command that shows the help of another. Unlike cobra's own, it fails for
// an unknown command.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "help [COMMAND]",
		ValidArgsFunction: completeCommand,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(found, strings.Join(rest, " "))
			}
			found.InitDefaultHelpFlag() // so that "help X" and "X --help" print the same
			found.InitDefaultVersionFlag()
			return found.Help()
		},
	}
}

// usage writes the usage of a command. Unlike cobra's own, it shows the flags of the command itself
// and those of its parents below the root. The global flags, which are many, are shown only for the
// root, by group.
func usage(c *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if c.Runnable() {
		fmt.Fprintf(&b, "  %s\n", c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s [command]\n", c.CommandPath())
	}
	if len(c.Aliases) > 0 {
		fmt.Fprintf(&b, "\nAliases: %s\n", strings.Join(c.Aliases, ", "))
	}
	if c.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", c.Example)
	}
	if c.HasAvailableSubCommands() {
		b.WriteString("\nAvailable Commands:\n")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				fmt.Fprintf(&b, "  %-*s %s\n", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	if own := ownFlags(c); own.HasAvailableFlags() {
		fmt.Fprintf(&b, "\nFlags:\n%s", own.FlagUsages())
	}
	writeGlobalFlags(&b, c)
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nRun \"%s COMMAND --help\" for the help of a command.\n", c.CommandPath())
	}
	_, err := io.WriteString(c.OutOrStderr(), b.String())
	return err
}

// ownFlags returns the flags of a command that are not global.
func ownFlags(c *cobra.Command) *pflag.FlagSet {
	global, own := c.Root().PersistentFlags(), pflag.NewFlagSet(c.Name(), pflag.ContinueOnError)
	add := func(f *pflag.Flag) {
		if global.Lookup(f.Name) != f {
			own.AddFlag(f)
		}
	}
	c.LocalFlags().VisitAll(add)
	c.InheritedFlags().VisitAll(add)
	return own
}

// writeGlobalFlags writes the global flags of the root command by group. For other commands it
// writes where to find them.
func writeGlobalFlags(b *strings.Builder, c *cobra.Command) {
	if c.HasParent() {
		b.WriteString("\nGlobal flags such as --root and --toolsets: see \"remit --help\".\n")
		return
	}
	for _, group := range flagGroups() {
		flags := pflag.NewFlagSet(string(group), pflag.ContinueOnError)
		for _, s := range settingsTable {
			if s.group == group {
				flags.AddFlag(c.PersistentFlags().Lookup(s.flag()))
			}
		}
		fmt.Fprintf(b, "\n%s:\n%s", group, flags.FlagUsages())
	}
}
