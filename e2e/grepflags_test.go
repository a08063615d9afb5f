package e2e

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// grepFlags are command lines that mean the same for remit grep and ripgrep. Blanks separate
// arguments.
var grepFlags = []string{
	"func", "-i FUNC", "-S func", "-S Func", "-i -s func", "-w err", "-x }", "-F a.b", "-F -e x[0] -e ()",
	"-A1 unmarshal", "-B2 unmarshal", "-C1 unmarshal", "-A2 -B1 unmarshal", "-C3 -A0 unmarshal", "-C99999999999 -i token",
	"-v [a-z]", "-vc e", "-vl e", "-vx }", "-vo [a-z]", "-v -C1 e",
	"-o \\w+Error", "-o -w err|ok", "-o -i token", "-o --column yaml", "--column yaml",
	"-l yaml", "-c yaml", "--count-matches yaml", "-c -o yaml", "-q yaml", "-q nothing_of_the_kind", "nothing_of_the_kind",
	"-m2 func", "-m1 -c func", "-m1 -o err", "-m0 func", "-t go yaml", "-T go yaml", "-t md -t yaml yaml", "-t cobol yaml",
	"-g *.go yaml", "-g !*_test.go yaml", "-g *.go -g !*_test.go yaml", "-g !*.go -g *_test.go yaml", "-g !parser yaml", "-g /*.go yaml",
	"-e yaml -e json README.md parser", "yaml nosuch README.md", "-q yaml nosuch README.md", "yaml nosuch",
	"-U \\{\\n\\t\\treturn", "-U -o \\)\\s+\\}", "-U -v \\{\\n", "-U -l \\n\\n\\n", "-U -C1 import.\\(\\n", "-U yaml",
	"--json yaml -g *.md", "--json -C1 -w err", "--json -v e -t md", "--json -o err", "--json -U err\\n", "--json odd",
	"--stats -t go func", "--stats -l func", "--stats -q func", "--stats -v e", "--sortr path -l yaml",
	"-N yaml", "-I yaml", "-IN -o yaml", "-I -c yaml", "--column -v yaml", "(", "a\\nb", "-t nothing_of_the_kind x", "--color never yaml",
	"-w é\\w*", "-o \\bé\\w*", "-o \\w+\\b", "odd", "-o odd.", "-v odd -g odd*", "\\S+$ -g odd*",
}

// TestGrepFlagsAsRipgrep checks that remit grep prints what ripgrep prints, and ends with the same
// exit code, for many combinations of flags.
func TestGrepFlagsAsRipgrep(t *testing.T) {
	t.Parallel()
	rg := ripgrep(t)
	s := copyTree(t, codeTrees(t)["yaml"])
	// ripgrep has another order for names such as a/ and a-b/.
	s.check(os.RemoveAll(s.path("testdata")))
	s.write("odd.txt", "odd \xff bytes é\xc3\xa9cole l'été\r\n\r\nodd end\r\nno line end: odd")
	s.write("odd16.txt", "\xff\xfeo\x00d\x00d\x00\n\x00\xe9\x00")
	s.write("odd8.txt", "\xef\xbb\xbfodd\n")
	for _, flags := range grepFlags {
		t.Run(flags, func(t *testing.T) {
			args := strings.Fields(flags)
			theirs := append([]string{"--no-config", "--hidden", "--no-require-git", "--no-heading", "-n", "-H", "--glob", "!.remit"}, args...)
			if !strings.Contains(flags, "--sort") {
				theirs = append(theirs, "--sort", "path")
			}
			cmd := exec.Command(rg, theirs...)
			cmd.Dir = s.root
			out, err := cmd.Output()
			if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
				t.Fatal(err)
			}
			ours := program(t, s, "", append([]string{"grep"}, args...)...)
			if got, want := ours.code, cmd.ProcessState.ExitCode(); got != want {
				t.Errorf("exit code %d, ripgrep %d: %s", got, want, ours.errOut)
			}
			compareOutput(t, withoutTimes(ours.out), withoutTimes(string(out)))
		})
	}
	list, err := exec.Command(rg, "--no-config", "--type-list").Output()
	s.check(err)
	if ours := program(t, s, "", "grep", "--type-list"); !bytes.Equal(list, []byte(ours.out)) {
		t.Error("the list of file types is not ripgrep's")
	}
}

// withoutTimes removes what differs between two runs, and the order of keys in the summary.
func withoutTimes(out string) string {
	for _, c := range [][2]string{
		{`"(elapsed|elapsed_total)":\{[^}]*\},?`, ""},
		{`(?m)^\d+\.\d+ seconds.*$`, "seconds"},
		{`(?m)^\d+ bytes printed$`, "bytes"}, // ripgrep does not count them with -l
		{`(?m)^.*"type":"summary".*$`, "summary"},
	} {
		out = regexp.MustCompile(c[0]).ReplaceAllString(out, c[1])
	}
	return out
}

// compareOutput reports the first line that differs.
func compareOutput(t *testing.T, got, want string) {
	t.Helper()
	ours, theirs := strings.SplitAfter(got, "\n"), strings.SplitAfter(want, "\n")
	for i := range min(len(ours), len(theirs)) {
		if ours[i] != theirs[i] {
			t.Fatalf("line %d is\n%q, ripgrep prints\n%q", i+1, ours[i], theirs[i])
		}
	}
	if len(ours) != len(theirs) {
		t.Fatalf("%d lines, ripgrep prints %d", len(ours), len(theirs))
	}
}
