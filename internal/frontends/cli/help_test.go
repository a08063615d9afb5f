package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestHelpSections checks that help.txt has exactly one section for each command, with a summary
// and an example.
func TestHelpSections(t *testing.T) {
	unused := helpSections()
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		if c.Short == "" || c.Example == "" {
			t.Errorf("%s has no line or no example in help.txt", c.CommandPath())
		}
		delete(unused, c.CommandPath())
		for _, sub := range c.Commands() {
			look(sub)
		}
	}
	look((&Program{}).command())
	for name := range unused {
		t.Errorf("help.txt has a section %q, but there is no such command", name)
	}
}

// TestFlagDefaults checks that every flag has the default that its help names. Two commands that
// share a variable and give it different defaults both get that of the second one.
func TestFlagDefaults(t *testing.T) {
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Value.String() != f.DefValue {
				t.Errorf("%s --%s is %s without the flag, not %s", c.CommandPath(), f.Name, f.Value, f.DefValue)
			}
		})
		for _, sub := range c.Commands() {
			look(sub)
		}
	}
	look((&Program{}).command())
}

// helpOf runs a command line that needs no workspace and returns its output.
func helpOf(t *testing.T, code int, args ...string) (out, errOut string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	p := &Program{Args: args, Env: func(string) (string, bool) { return "", false }, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr}
	if got := p.Main(t.Context()); got != code {
		t.Fatalf("%q: exit code %d, want %d: %s", args, got, code, stderr.String())
	}
	return stdout.String(), stderr.String()
}

// TestGlobalFlags checks that the help of the root lists every global flag once, in a group, and
// that other commands list only their own flags and say where the global ones are.
func TestGlobalFlags(t *testing.T) {
	root, _ := helpOf(t, ExitOK, "--help")
	for _, group := range flagGroups() {
		if strings.Count(root, "\n"+string(group)+":\n") != 1 {
			t.Errorf("%s is not a heading of:\n%s", group, root)
		}
	}
	add, _ := helpOf(t, ExitOK, "tasks", "add", "--help")
	for _, s := range settingsTable {
		line := "\n      --" + s.flag() + " "
		if strings.Count(root, line) != 1 || strings.Contains(add, line) {
			t.Errorf("--%s must be listed once by the root, and not by tasks add", s.flag())
		}
	}
	for _, want := range []string{"      --due string", "  -h, --help", "      --user string", "\nGlobal flags such as --root and --toolsets: see \"remit --help\".\n"} {
		if !strings.Contains(add, want) {
			t.Errorf("%q is missing in:\n%s", want, add)
		}
	}
	if again, _ := helpOf(t, ExitOK, "help", "tasks", "add"); again != add {
		t.Errorf("help and --help differ:\n%s\n%s", again, add)
	}
}

// TestUsageErrorsNameTheCommand checks that a usage error points to the help of the command itself.
func TestUsageErrorsNameTheCommand(t *testing.T) {
	for want, args := range map[string][]string{
		"remit":           {"nonsense"},
		"remit tasks":     {"tasks", "nonsense"},
		"remit tasks add": {"tasks", "add"},
		"remit grep":      {"grep", "--nonsense"},
		"remit version":   {"version", "nonsense"},
		"remit help":      {"help", "nonsense"},
	} {
		if _, errOut := helpOf(t, ExitUsage, args...); !strings.HasSuffix(errOut, "\nRun \""+want+" --help\" for help.\n") {
			t.Errorf("%q: %s", args, errOut)
		}
	}
}

// TestWrongFlagValues checks that a value of the wrong type is explained without Go's own words.
func TestWrongFlagValues(t *testing.T) {
	for _, tc := range [][]string{
		{"--after-context must be a whole number, not \"x\"", "grep", "-A", "x", "a"},
		{"--limit must be a whole number, not \"1.5\"", "memory", "--limit", "1.5"},
		{"--all must be true or false, not \"yes\"", "tasks", "--all=yes"},
	} {
		if _, errOut := helpOf(t, ExitUsage, tc[1:]...); !strings.HasPrefix(errOut, "remit: "+tc[0]+"\n") {
			t.Errorf("%q: %s", tc[1:], errOut)
		}
	}
}
