package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"
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
