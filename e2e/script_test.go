package e2e

import (
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the scripts in testdata/scripts, which test the command line.
func TestScripts(t *testing.T) {
	t.Parallel()
	contracts, err := filepath.Abs("../internal/toolsets")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/scripts",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("TOOLSETS", contracts)
			env.Setenv("PATH", filepath.Dir(remitBin)+string(filepath.ListSeparator)+env.Getenv("PATH"))
			env.Vars = append(env.Vars, noRaceSleep, longDeadlines, keysFolder)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":   exits,
			"capture": capture,
			"person":  scriptPerson,
		},
	})
}

// exits runs a command that must end with the given exit code: exits CODE COMMAND...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// capture sets a variable to what the group of a pattern matches in stdout: capture NAME PATTERN.
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture NAME PATTERN")
	}
	found := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(found) != 2 {
		ts.Fatalf("stdout does not match %s", args[1])
	}
	ts.Setenv(args[0], found[1])
}

// TestEveryCommandHasHelpWithExample checks that each command has a help text with usage and an
// example.
func TestEveryCommandHasHelpWithExample(t *testing.T) {
	t.Parallel()
	s := newWorkspace(t, nil)
	seen := 0
	var walk func(path []string)
	walk = func(path []string) {
		seen++
		t.Run(strings.Join(append([]string{"remit"}, path...), " "), func(t *testing.T) {
			byFlag := program(t, s, "", append(path, "--help")...)
			byCommand := program(t, s, "", append([]string{"help"}, path...)...)
			if byFlag.code != 0 || byFlag.errOut != "" || byFlag.out != byCommand.out {
				t.Errorf("exit %d: %s\n--help and help differ, or fail", byFlag.code, byFlag.errOut)
			}
			if !strings.Contains(byFlag.out, "\nUsage:\n") {
				t.Errorf("no usage:\n%s", byFlag.out)
			}
			if cobraOwn := len(path) > 0 && (path[0] == "completion" || path[0] == "help"); !cobraOwn && !strings.Contains(byFlag.out, "\nExamples:\n") {
				t.Errorf("no example:\n%s", byFlag.out)
			}
			for line := range strings.SplitSeq(byFlag.out, "\n") {
				if len(line) > 160 {
					t.Errorf("a line of %d characters: %s", len(line), line)
				}
			}
		})
		for _, name := range subcommands(program(t, s, "", append(path, "--help")...).out) {
			walk(append(path[:len(path):len(path)], name))
		}
	}
	walk(nil)
	if seen < 20 {
		t.Errorf("only %d commands found; does subcommands still parse the help text?", seen)
	}
}

// subcommands returns the commands that a help text lists.
func subcommands(help string) []string {
	_, list, found := strings.Cut(help, "\nAvailable Commands:\n")
	if !found {
		return nil
	}
	var names []string
	for line := range strings.SplitSeq(list, "\n") {
		if !strings.HasPrefix(line, "  ") {
			break
		}
		names = append(names, strings.Fields(line)[0])
	}
	return names
}
