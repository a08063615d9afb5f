package cli

import (
	"slices"
	"strings"
	"testing"
)

// TestAliases checks that the names that people try run the command of that meaning, and that the
// help lists them.
func TestAliases(t *testing.T) {
	for typed, want := range map[string]string{
		"tasks ls": "tasks list", "tasks complete": "tasks done", "tasks delete": "tasks rm", "tasks remove": "tasks rm",
		"tasks new": "tasks add", "tasks create": "tasks add", "tasks update": "tasks edit",
		"approvals ls": "approvals list", "approvals reject": "approvals deny",
		"books ls": "books list", "books create": "books new", "books add": "books new", "books history": "books log",
		"books check": "books validate", "token ls": "token list", "token rm": "token revoke", "token delete": "token revoke",
		"token remove": "token revoke", "token new": "token create", "token add": "token create", "token logout": "token signout",
		"audit ls": "audit list", "audit check": "audit verify", "tools ls": "tools list",
		"config show": "config print", "config list": "config print", "config ls": "config print",
		"contract check": "contract lint", "contract validate": "contract lint", "contract create": "contract new",
	} {
		path := strings.Fields(typed)
		help, _ := helpOf(t, ExitOK, append(path, "--help")...)
		if !strings.Contains(help, "\n  remit "+want) {
			t.Errorf("%q does not run %q:\n%s", typed, want, help)
		}
		_, list, _ := strings.Cut(help, "\nAliases: ")
		list, _, _ = strings.Cut(list, "\n")
		if !slices.Contains(strings.Split(list, ", "), path[1]) {
			t.Errorf("the help of %q lists the aliases %q", typed, list)
		}
		if page, _ := helpOf(t, ExitOK, append([]string{"man"}, path...)...); !strings.Contains(page, "\nAliases: "+list+"\n") {
			t.Errorf("the manual page of %q does not list %q:\n%s", typed, list, page)
		}
	}
}

// TestNamesAreUnique checks that no alias hides another command of the same group.
func TestNamesAreUnique(t *testing.T) {
	for _, c := range withSubcommands((&Program{}).command()) {
		seen := map[string]bool{}
		for _, sub := range c.Commands() {
			for _, name := range append([]string{sub.Name()}, sub.Aliases...) {
				if seen[name] {
					t.Errorf("%s has two commands %q", c.CommandPath(), name)
				}
				seen[name] = true
			}
		}
	}
}

// TestSuggestions checks what an unknown command suggests, and that it points to the help of its
// group.
func TestSuggestions(t *testing.T) {
	for typed, want := range map[string]string{
		"ls": `did you mean "files"?`, "start": `did you mean "serve"?`, "run": `did you mean "serve"?`,
		"mcp": `did you mean "stdio"?`, "check": `did you mean "doctor"?`, "ask": `did you mean "search"?`,
		"task": `did you mean "tasks"?`, "tokens": `did you mean "token"?`, "se": `did you mean "search" or "serve"?`,
		"tasks lst": `did you mean "list"?`, "tasks delte": `did you mean "delete"?`,
		"books unarchive": `did you mean "archive"?`, "books val": `did you mean "validate"?`,
		"completion bsh": `did you mean "bash"?`, "tasks foo": "", "completion foo": "", "tasks ": "",
	} {
		path := strings.Split(typed, " ")
		group := strings.Join(append([]string{"remit"}, path[:len(path)-1]...), " ")
		line := strings.TrimSpace("remit " + typed)
		want = strings.TrimSuffix(`remit: unknown command "`+line+`"; `+want, "; ") + "\nRun \"" + group + " --help\" for help.\n"
		if out, errOut := helpOf(t, ExitUsage, path...); out != "" || errOut != want {
			t.Errorf("%q:\n%s%swant:\n%s", typed, out, errOut, want)
		}
	}
}
