package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
	"remit/internal/visible"
)

// errNoTerminal is returned where only a person may act, and no person can be asked.
var errNoTerminal = errors.New("only a person at a terminal can do this; run the command yourself in a terminal, " +
	"not from a script, a pipe or the background")

// askPerson shows text at the controlling terminal of the process and returns the line that the
// person types there. It never reads standard input, which whoever started the process controls. It
// returns errNoTerminal if there is no controlling terminal, or if the process runs in the
// background.
func (p *Program) askPerson(ctx context.Context, text string) (string, error) {
	if p.AskPerson != nil {
		return p.AskPerson(ctx, text)
	}
	tty, err := openTTY()
	if err != nil {
		return "", fmt.Errorf("%w (%w)", errNoTerminal, err)
	}
	defer func() { _ = tty.Close() }()
	return ask(ctx, tty, text)
}

// ask shows text and reads a line. A read cannot be interrupted, so its goroutine is abandoned when
// ctx is done.
func ask(ctx context.Context, tty io.ReadWriter, text string) (string, error) {
	if _, err := io.WriteString(tty, visible.Text(text)); err != nil {
		return "", fmt.Errorf("ask at the terminal: %w", err)
	}
	type reply struct {
		line string
		err  error
	}
	typed := make(chan reply, 1)
	go func() {
		line, err := bufio.NewReader(tty).ReadString('\n')
		typed <- reply{line, err}
	}()
	select {
	case <-ctx.Done():
		_, _ = io.WriteString(tty, "\n") // the caller gets the error of ctx
		return "", ctx.Err()
	case got := <-typed:
		if got.err != nil {
			return "", fmt.Errorf("read the answer: %w", got.err)
		}
		return strings.TrimSpace(got.line), nil
	}
}

// confirmPerson asks a yes-or-no question at the controlling terminal.
func (p *Program) confirmPerson(ctx context.Context, question string) (bool, error) {
	answer, err := p.askPerson(ctx, question+" [y/N] ")
	answer = strings.ToLower(answer)
	return answer == "y" || answer == "yes", err
}

// requireConsent asks a yes-or-no question at the controlling terminal about an action. It returns
// an error, and records it, unless the person says yes.
func (p *Program) requireConsent(ctx context.Context, who Identity, about *audit.Record, question string) error {
	yes, err := p.confirmPerson(ctx, question)
	if err == nil && !yes {
		err = errNoConsent
	}
	if err != nil {
		refuse(ctx, who, about, err)
	}
	return err
}

// action returns the record of an action of the person at the command line, such as token/create.
func action(name string, about ...jsontree.Member) *audit.Record {
	return &audit.Record{Principal: operator(), Frontend: viaTerminal, Tool: name, Outcome: "ok", Arguments: jsontree.Obj(about...)}
}

// refuse records an action that was refused, and why. What no person agreed to is always recorded;
// a mistake only if the workspace has records already, so that it creates no folder. The command
// fails for its own reason, whether that can be recorded or not.
func refuse(ctx context.Context, who Identity, r *audit.Record, why error) {
	if noConsent := errors.Is(why, errNoTerminal) || errors.Is(why, errNoConsent); !noConsent && !who.HasRecords() {
		return
	}
	r.Outcome = string(outcome(why))
	_ = who.Record(context.WithoutCancel(ctx), r)
}

// outcome returns how a record names an error.
func outcome(err error) contract.Kind {
	if _, ok := errors.AsType[usageError](err); ok {
		return contract.Invalid
	}
	if e, ok := errors.AsType[*contract.Error](err); ok {
		return e.Kind
	}
	return contract.Denied
}

var errNoConsent = errors.New("you did not say yes, so nothing was done")
