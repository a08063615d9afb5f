package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"remit/internal/engine/approval"
	"remit/internal/toolsets/codebase"
	"remit/internal/visible"
)

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// TestAnAnswerThatCannotBePrintedIsAnError checks the exit code of a failed write: a script that
// redirects the output to a file must notice that the file is incomplete.
func TestAnAnswerThatCannotBePrintedIsAnError(t *testing.T) {
	t.Parallel()
	p := &Program{Stdout: fullDisk{}}
	if err := p.printBody([]byte("{}")); err == nil {
		t.Error("a failed write is not reported")
	}
	var out bytes.Buffer
	p.Stdout = &out
	if err := p.printBody([]byte("{}")); err != nil || out.String() != "{}\n" {
		t.Errorf("printed %q: %v", out.String(), err)
	}
}

// TestEveryCommandReportsFailedOutput checks that a command fails if its output was lost, although
// it does not check its own writes, and that the reader of a pipe may end.
func TestEveryCommandReportsFailedOutput(t *testing.T) {
	t.Parallel()
	for out, want := range map[io.Writer]struct {
		says string
		code int
	}{
		fullDisk{}:    {"remit: no space left\n", ExitFailed},
		&closedPipe{}: {"", ExitOK},
	} {
		var errOut bytes.Buffer
		p := &Program{Args: []string{"version"}, Env: func(string) (string, bool) { return "", false }, Stdout: out, Stderr: &errOut}
		if code := p.Main(t.Context()); code != want.code || errOut.String() != want.says {
			t.Errorf("%T: exit code %d, says %q, want %+v", out, code, errOut.String(), want)
		}
	}
}

func TestNoAddressIsShownWithItsPassword(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"postgres://ada:s3cret@db.example/remit",
		"postgres://db.example/remit?password=s3cret",
		"host=db.example password=s3cret",
		"ada:s3cret@db.example/remit",
	} {
		if shown := withoutPassword(address); strings.Contains(shown, "s3cret") {
			t.Errorf("%s is shown as %s", address, shown)
		}
	}
	for _, address := range []string{"sqlite:///srv/a=b@c/remit.db", "remit.db", ""} {
		if shown := withoutPassword(address); shown != address {
			t.Errorf("%s is shown as %s", address, shown)
		}
	}
}

// TestOutputOnATerminal checks that the program's own colours reach a terminal, and nothing of the
// data that could control it.
func TestOutputOnATerminal(t *testing.T) {
	t.Parallel()
	const hostile = "a\x1b[8m\u202e\u3164\nb\t"
	for name, tc := range map[string]struct {
		print func(w *visible.Writer)
		want  string
	}{
		"table": {func(w *visible.Writer) {
			rows := table{colour: true}
			rows.add("x", hostile)
			rows.paint(1, red)
			rows.write(w)
		}, "x  \x1b[31m" + `a\x1b[8m\u202e\u3164\nb\t` + "\x1b[0m\n"},
		"an empty table": {func(w *visible.Writer) { (&table{empty: hostile}).write(w) }, `a\x1b[8m\u202e\u3164` + "\nb\t\n"},
		"JSON": {
			func(w *visible.Writer) { _ = writeJSON(w, []string{hostile, "\x7f\U000e0041"}) },
			"[\n  " + `"a\u001b[8m\u202e\u3164\nb\t",` + "\n  " + `"\u007f\udb40\udc41"` + "\n]\n",
		},
		"JSON lines": {func(w *visible.Writer) {
			p := newJSONPrinter(jsonPrinter{output: newOutput(w, true, true)})
			p.file(codebase.Found{Path: hostile, Count: 1})
		}, `{"type":"begin","data":{"path":{"text":"a\u001b[8m\u202e\u3164\nb\t"}}}` + "\n"},
		"names": {func(w *visible.Writer) {
			p := &tallyPrinter{output: newOutput(w, true, true)}
			p.file(codebase.Found{Path: "a\u3164", Count: 1})
			_ = p.end(codebase.Summary{})
		}, "\x1b[35m" + `a\u3164` + "\x1b[0m\n"},
		"an answer": {func(w *visible.Writer) { _ = (&Program{Stdout: w}).printBody([]byte("\"\u202e\"")) }, `"\u202e"` + "\n"},
	} {
		var out bytes.Buffer
		tc.print(&visible.Writer{Terminal: &out})
		if out.String() != tc.want {
			t.Errorf("%s: %q, want %q", name, out.String(), tc.want)
		}
	}
}

// TestRequestsOnATerminal checks that callers and people cannot hide anything from who decides.
func TestRequestsOnATerminal(t *testing.T) {
	t.Parallel()
	const hostile = "a\x1b]52;c;cm0=\a\u009b2J\u202e\u200b\u3164\r\x7f"
	r := approval.Request{
		ID: "k3v9q2xa7m", Tool: "set/t" + hostile, Principal: "p" + hostile, DecidedBy: "d" + hostile, Reason: "r" + hostile,
		Summary: "s" + hostile, State: approval.Approved,
		Origin:    approval.Origin{Frontend: "f" + hostile, Client: "c" + hostile, CallerReason: "w" + hostile},
		Arguments: []byte("{\"\u202ek\":\"\u009bv\"}"),
	}
	for name, tc := range map[string]struct {
		print func(p *Program)
		want  []string
	}{
		"list": {func(p *Program) { p.printRequests([]approval.Request{r}, &approval.ListOptions{}) }, []string{`  sa\x1b]52;`, `  pa\x1b]52;c;cm0=\a\…  `}},
		"show": {func(p *Program) {
			view := viewOf(r)
			p.printRequest(&r, &view, "", []approval.Request{r})
		}, []string{`Tool     set/ta\x1b]52;`, `Caller   pa\x1b]52;`, `Reason   ra\x1b]52;`, `Via      fa\x1b]52;`, "not checked by Remit:\n" + `  wa\x1b`, ": 1 approved\n", "\n" + `\u202ek: "\u009bv"`}},
		"JSON": {func(p *Program) { _ = writeJSON(p.Stdout, viewOf(r)) }, []string{`"principal": "pa\u001b]52`, `"reason": "ra\u001b`, `"decided_by": "da`, `"\u202ek": "\u009bv"`}},
		"prompt": {func(p *Program) {
			fmt.Fprint(p.Stdout, r.Wording(approval.Shown{Title: "T" + hostile, After: "A" + hostile}))
		}, []string{`(ta\x1b]52;`, `Ta\x1b]52;`, `+ Aa\x1b]52;`, `\u202ek: "\u009bv"`}},
	} {
		var out bytes.Buffer
		tc.print(&Program{Stdout: &visible.Writer{Terminal: &out}, Now: time.Now})
		for _, want := range tc.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: %q lacks %q", name, out.String(), want)
			}
		}
		if strings.ContainsAny(out.String(), "\x1b\a\u009b\u202e\u200b\u3164\r\x7f") {
			t.Errorf("%s: %q", name, out.String())
		}
	}
}

// TestOtherOutputIsUnchanged checks that only a terminal is escaped.
func TestOtherOutputIsUnchanged(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if escaping(&out) != &out {
		t.Error("a buffer is taken for a terminal")
	}
	screen := &visible.Writer{Terminal: &out}
	if escaping(screen) != screen || unescaped(screen) != &out || unescaped(&out) != &out {
		t.Error("a terminal is escaped twice")
	}
}
