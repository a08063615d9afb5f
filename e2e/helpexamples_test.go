package e2e

import (
	"regexp"
	"strings"
	"testing"
)

// helpExamples are the commands whose examples a test runs, in the order of the help, each in a
// workspace of its own. The examples of other commands need a service, a server or a terminal.
var helpExamples = []struct {
	command string
	files   map[string]string
	before  string            // what the examples assume
	each    map[string]string // what a single example assumes
	replace []string          // pairs of texts: what stands for something of the reader
	without string            // examples that cannot run here
}{
	{
		command: "audit",
		before:  "remit call hello name=Ada\nID=$(remit audit list --format csv | sed -n 's/.*\\(20[0-9-]*\\.[0-9a-z]*\\.[0-9a-z]*\\).*/\\1/p' | head -1)",
		replace: []string{"2026-01-09.3k.1f0c7a52", "$ID", "k3v9q2xa7m", "$ID"},
		without: "--follow",
	},
	{
		command: "books",
		files: map[string]string{
			"home/courses/python/lessons/intro.md": "# Introduction\n\nA list comprehension, and decorators.\n",
			"home/backup/.keep":                    "",
		},
		before: "have() { remit books show $1 >/dev/null 2>&1; }\nremit books new pyton",
		each: map[string]string{
			"remit books restore python lessons/intro.md":                                    "echo '# Two' >home/courses/python/lessons/intro.md; remit books import ~/courses/python",
			"remit books edit python --title \"Python for Agents\"":                          "remit books archive python --undo",
			"remit books import course-main.zip --book python --title \"Python for Agents\"": "mv python.zip course-main.zip",
			"remit books rename pyton python":                                                "have pyton || remit books restore pyton; remit books rm python --yes",
			"remit books restore pyton":                                                      "have pyton || remit books new pyton; remit books rm pyton --yes",
			"remit books rm pyton":                                                           "have pyton || remit books restore pyton",
			"remit books restore python lessons/intro.md --version a591a6d40bf4":             "echo '# Three' >home/courses/python/lessons/intro.md; remit books import ~/courses/python",
			"remit books new python-basics --title \"Python from the ground up\"":            "remit books rm python-basics --yes",
			"remit books rm pyton --yes":                                                     "have pyton || remit books restore pyton",
		},
		replace: []string{
			"rm pyton --yes", "rm pyton --yes", "rm pyton", "rm pyton --yes",
			" --version a591a6d40bf4", " --version $(remit books log python lessons/intro.md --json | sed -n 's/.*\"new\": *\"\\([0-9a-f]*\\).*/\\1/p' | tail -1)",
		},
		without: "ssh|jq",
	},
	{
		command: "config", files: map[string]string{"etc/remit/remit.yaml": "approve: deny\n"},
		each:    map[string]string{"remit config get tools.hello.rate": "remit config set tools.hello.rate 10/min"},
		replace: []string{"/etc/", "etc/", "code --wait", "true"},
	},
	{
		command: "files", files: map[string]string{"docs/a.md": "a\n", "main.go": "package main\n"},
	},
	{
		command: "grep",
		files: map[string]string{
			"src/a.go": "package a\n\n// TODO: v1.2.3 FIXME\nfunc newHandler() {\n\ta.b()\n\tdefer done(\n\t)\n}\n", "docs/b.md": "a todo\n",
			"notes.txt": "# head\ntext\n",
		},
	},
	{
		command: "memory",
		before:  "remit memory add 'Python is our language'; remit memory add 'Go is our language'; remit memory add 'The retry policy is one attempt, without a database'",
		replace: []string{"3f9a2c1b4d5e", "$(remit memory list --json | sed -n 's/.*\"id\": *\"\\([0-9a-f]*\\)\".*/\\1/p' | head -1)"},
	},
	{
		command: "tasks",
		before:  "for n in $(seq 15); do remit tasks add Task $n; done",
		each: map[string]string{
			"remit tasks import tasks.json":               "remit tasks export >tasks.json",
			"remit tasks reopen 12":                       "remit tasks done 12",
			"remit tasks reopen 12 14 15":                 "remit tasks done 12 14 15",
			"remit tasks release 12":                      "remit tasks reopen 12 || true; remit call claim_task user_id=$(id -un) task_id=12",
			"remit tasks release 12 --force":              "remit tasks reopen 12 || true; remit call claim_task user_id=$(id -un) task_id=12",
			"remit tasks restore 12":                      "remit tasks rm 12",
			"remit tasks rm 12 14 15":                     "remit tasks restore 12",
			"remit tasks show 12":                         "remit tasks restore 12 14 15 || true",
			"remit tasks done 12":                         "remit tasks reopen 12 || true",
			"remit tasks done 12 14 15":                   "remit tasks reopen 12 || true",
			"remit tasks undo 12":                         "remit tasks edit 12 --title Other",
			"remit tasks edit 12 --clear due,description": "remit tasks edit 12 --due today --description Text",
		},
		without: "jq",
	},
	{
		command: "backup", files: map[string]string{"home/backups/.keep": "", "secret": "a passphrase\n"},
		without: "--with-keys project", // asks for a passphrase
	},
	{
		command: "doctor", files: map[string]string{"home/course/lesson.md": "# One\n"},
	},
	{command: "export"},
	{command: "index"},
	{
		command: "init",
		replace: []string{"remit init --yes", "remit init --yes", "remit init", "remit init --yes; rm remit.yaml"},
	},
	{command: "install", files: map[string]string{"home/.keep": ""}},
	{
		command: "search",
		before:  "for text in 'SQLite is our datastore' 'Retry policy: a token refresh is tried once'; do remit memory add \"$text\" --module auth; done",
		without: "--type issue|--module auth", // find nothing
	},
	{command: "status", without: "/srv/"},
	{command: "tools"},
	{
		command: "uninstall", files: map[string]string{"home/.keep": ""},
		before: "remit install claude-code; remit install codex --user; remit install cursor --name remit-web",
	},
}

// TestHelpExamples runs the examples that the help of commands shows.
func TestHelpExamples(t *testing.T) {
	t.Parallel()
	for _, c := range helpExamples {
		t.Run(c.command, func(t *testing.T) {
			t.Parallel()
			s := newWorkspace(t, c.files)
			script := []string{c.before}
			for _, example := range s.examplesOf(c.command) {
				if c.without != "" && regexp.MustCompile(c.without).MatchString(example) {
					continue
				}
				script = append(script, c.each[example], strings.NewReplacer(c.replace...).Replace(example))
			}
			if len(script) < 3 {
				t.Fatal("the help has no examples")
			}
			s.shell(strings.Join(script, "\n"), "HOME="+s.path("home"), "REMIT_APPROVE=auto", "EDITOR=true")
		})
	}
}

// examplesOf returns the examples in the help of a command and its subcommands.
func (s *workspace) examplesOf(command ...string) (examples []string) {
	s.t.Helper()
	help := s.remit(append(command, "--help")...).out
	section := func(name string) []string {
		_, after, _ := strings.Cut(help, "\n"+name+":\n")
		lines, _, _ := strings.Cut(after, "\n\n")
		return strings.Split(lines, "\n")
	}
	for _, line := range section("Examples") {
		// Two spaces separate a command from its explanation.
		example, _, _ := strings.Cut(strings.TrimSpace(line), "  ")
		examples = append(examples, example)
	}
	for _, line := range section("Available Commands") {
		if name, _, found := strings.Cut(strings.TrimSpace(line), " "); found {
			examples = append(examples, s.examplesOf(append(command, name)...)...)
		}
	}
	return examples
}
