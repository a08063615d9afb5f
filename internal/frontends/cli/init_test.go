package cli

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestInitYes checks that the file explains every setting that it may contain, can be parsed, and
// sets only what was chosen.
func TestInitYes(t *testing.T) {
	p := newPerson(t)
	file := filepath.Join(p.root, "remit.yaml")
	if got := p.types(t, "init", "--yes", "--approve", "deny"); got.code != ExitOK || !strings.Contains(got.out, "Next: connect a client with \"remit install CLIENT\"") {
		t.Fatalf("%+v", got)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range settingsTable {
		if s.key != "root" && s.key != "config" && !strings.Contains(string(text), s.about) {
			t.Errorf("%s is not explained", s.key)
		}
	}
	var live []string
	for line := range strings.SplitSeq(string(text), "\n") {
		if line != "" && line[0] != '#' {
			live = append(live, line)
		}
	}
	if diff := cmp.Diff([]string{"approve: deny"}, live); diff != "" {
		t.Error(diff)
	}
	if got := p.types(t, "config", "print"); got.code != ExitOK || !strings.Contains(got.out, "file     deny") {
		t.Errorf("%+v", got)
	}
	got := p.types(t, "init", "--yes")
	if got.code != ExitFailed || !strings.Contains(got.errOut, "already exists; edit it, or move it away") {
		t.Errorf("%+v", got)
	}
	if again, _ := os.ReadFile(file); !bytes.Equal(text, again) {
		t.Error("it was overwritten")
	}
}

// TestInitUncommented checks that each commented-out default is a valid value.
func TestInitUncommented(t *testing.T) {
	p := newPerson(t)
	text := configText(nil)
	for _, s := range settingsTable {
		text = bytes.Replace(text, []byte("\n# "+s.key+": "+s.fallback+"\n"), []byte("\n"+s.key+": "+s.fallback+"\n"), 1)
	}
	if err := os.WriteFile(filepath.Join(p.root, "remit.yaml"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := p.types(t, "config", "print"); got.code != ExitOK || strings.Count(got.out, "  file  ") < 10 {
		t.Errorf("%+v", got)
	}
}

func TestInitRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"use --yes to take the defaults":             {},
		`there is no toolset "nope"; known: booster`: {"--yes", "--toolsets", "nope"},
		"approve: ": {"--yes", "--approve", "maybe"},
		"init accepts only --root, --toolsets, --approve and --read-only;": {"--yes", "--data", "/elsewhere"},
	} {
		p := newPerson(t)
		if got := p.types(t, append([]string{"init"}, args...)...); got.code != ExitUsage || !strings.Contains(got.errOut, want) {
			t.Errorf("%v: %+v", args, got)
		}
		if left, err := os.ReadDir(p.root); err != nil || len(left) > 0 {
			t.Errorf("something was made: %v, %v", left, err)
		}
	}
	p := newPerson(t)
	p.root = filepath.Join(p.root, "missing")
	if got := p.types(t, "init", "--yes"); got.code != ExitUsage || !strings.Contains(got.errOut, "missing does not exist") {
		t.Errorf("%+v", got)
	}
}

// TestAnswer checks that a question is repeated until the answer is valid.
func TestAnswer(t *testing.T) {
	var asked bytes.Buffer
	program := &Program{Stderr: &asked}
	in := bufio.NewReader(strings.NewReader("maybe\n\n"))
	got, err := program.answer(in, "Well?\n", "yes", func(text string) error {
		if text != "yes" {
			return errNotYes
		}
		return nil
	})
	if err != nil || got != "yes" || asked.String() != "Well?\n[yes] say yes\n[yes] " {
		t.Errorf("%q, %v, %q", got, err, asked.String())
	}
	if _, err := program.answer(in, "Well?\n", "yes", nil); err == nil {
		t.Error("nobody answers, and that is an answer")
	}
}
