package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manRun runs "remit man" with an environment.
func manRun(t *testing.T, env map[string]string, args ...string) (out string, err error) {
	t.Helper()
	var stdout bytes.Buffer
	p := &Program{Version: "1.2.3", Stdout: &stdout, Env: func(key string) (string, bool) { v, ok := env[key]; return v, ok }}
	root := p.command()
	if !slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == "man" }) {
		root.AddCommand(p.manCommand())
	}
	root.SetArgs(append([]string{"man"}, args...))
	err = root.ExecuteContext(t.Context())
	return stdout.String(), err
}

// TestManPages checks that every command has a reproducible page without formatting errors.
func TestManPages(t *testing.T) {
	env := map[string]string{"SOURCE_DATE_EPOCH": "1767225600"}
	first, second := t.TempDir(), t.TempDir()
	for _, dir := range []string{first, second} {
		if out, err := manRun(t, env, "--dir", dir); err != nil || out != "" {
			t.Fatalf("%q, %v", out, err)
		}
	}
	root := (&Program{}).command()
	for _, c := range withSubcommands(root) {
		if _, err := os.Stat(filepath.Join(first, pageName(c)+".1")); err != nil {
			t.Errorf("%s has no page: %v", c.CommandPath(), err)
		}
	}
	entries, err := os.ReadDir(first)
	if err != nil || len(entries) < 30 {
		t.Fatalf("%d pages, %v", len(entries), err)
	}
	for _, entry := range entries {
		page, err := os.ReadFile(filepath.Join(first, entry.Name()))
		again, errAgain := os.ReadFile(filepath.Join(second, entry.Name()))
		if err != nil || errAgain != nil || !bytes.Equal(page, again) {
			t.Errorf("%s: written twice it differs: %v, %v", entry.Name(), err, errAgain)
		}
		if !bytes.Contains(page, []byte(` "1" "2026\-01\-01" "remit 1.2.3" "Remit"`)) {
			t.Errorf("%s begins %.100s", entry.Name(), page)
		}
		checkRoff(t, entry.Name(), page)
	}
}

// checkRoff checks a page with groff.
func checkRoff(t *testing.T, name string, page []byte) {
	t.Helper()
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Logf("%s is not checked, since groff is missing", name)
		return
	}
	cmd := exec.CommandContext(t.Context(), groff, "-man", "-ww", "-z", "-Tutf8")
	cmd.Stdin = bytes.NewReader(page)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%s: %v: %s", name, err, out)
	}
}

// formatted returns a formatted page.
func formatted(t *testing.T, page string) string {
	t.Helper()
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("groff is missing")
	}
	cmd := exec.CommandContext(t.Context(), groff, "-man", "-Tutf8", "-P-cbou", "-rLL=200n", "-rHY=0")
	cmd.Stdin = strings.NewReader(page)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestManPage checks that a page has the same text, options and examples as the help.
func TestManPage(t *testing.T) {
	page, err := manRun(t, nil, "export")
	if err != nil {
		t.Fatal(err)
	}
	text := formatted(t, page)
	root := (&Program{}).command()
	export, _, err := root.Find([]string{"export"})
	if err != nil {
		t.Fatal(err)
	}
	export.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !strings.Contains(text, "--"+f.Name) {
			t.Errorf("--%s is missing", f.Name)
		}
	})
	for _, want := range []string{
		"remit-export - " + export.Short, "remit export [flags]", "openai      tools for OpenAI's Chat Completions API",
		`of "remit serve"`, "POST /tools/{name}", "remit export --format openai --strict > tools.json", "SEE ALSO", "remit(1)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
	page, err = manRun(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	text = formatted(t, page)
	for _, s := range settingsTable {
		if !strings.Contains(text, "--"+s.flag()) || !strings.Contains(text, s.variable()) {
			t.Errorf("the page of remit lacks %s", s.key)
		}
	}
	if !strings.Contains(text, "remit-approvals(1)") || !strings.Contains(page, `.TH "REMIT" "1" "" "remit 1.2.3" "Remit"`) {
		t.Errorf("the page of remit is %.300s", page)
	}
}

// TestManExitStatus checks that a page has the general exit codes unless the command has its own.
func TestManExitStatus(t *testing.T) {
	for command, want := range map[string]bool{"export": true, "doctor": false, "contract diff": false} {
		page, err := manRun(t, nil, strings.Fields(command)...)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(page, `.SH "EXIT STATUS"`); got != want {
			t.Errorf("%s: the section EXIT STATUS exists: %v, want %v", command, got, want)
		}
	}
}

func TestManRefuses(t *testing.T) {
	for _, tc := range []struct {
		env  map[string]string
		args []string
		want string
	}{
		{nil, []string{"exprot"}, `unknown command "remit exprot"; did you mean "export"?`},
		{nil, []string{"approvals", "aprove"}, `unknown command "remit approvals aprove"; did you mean "approve"?`},
		{nil, []string{"export", "--dir", t.TempDir()}, "--dir writes the pages of all commands; leave out export"},
		{map[string]string{"SOURCE_DATE_EPOCH": "today"}, nil, `SOURCE_DATE_EPOCH is "today"; it must be the seconds since 1970`},
		{map[string]string{"SOURCE_DATE_EPOCH": "-1"}, nil, `SOURCE_DATE_EPOCH is "-1"`},
	} {
		if out, err := manRun(t, tc.env, tc.args...); err == nil || !strings.HasPrefix(err.Error(), tc.want) || out != "" {
			t.Errorf("%v: %q, %v", tc.args, out, err)
		}
	}
}

// TestEscaped checks that a formatter prints any text unchanged.
func TestEscaped(t *testing.T) {
	for _, words := range []string{`.SH x`, `'quoted' "words"`, `a\nb \fB`, "`^~-'", "naïve → 7 €", ".a\n.b\n'c", `%q \" x`} {
		page := ".TH \"X\" \"1\" \"\" \"\" \"\"\n.nf\n" + escaped(words) + "\n"
		checkRoff(t, words, []byte(page))
		var got []string
		for line := range strings.Lines(formatted(t, page)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "X(1)") {
				got = append(got, line)
			}
		}
		if diff := cmp.Diff(strings.Split(words, "\n"), got); diff != "" {
			t.Errorf("%q: %s", words, diff)
		}
	}
}
