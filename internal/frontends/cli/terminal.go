package cli

import (
	"context"
	"errors"
	"fmt"

	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/visible"
)

// terminal lets a call interact with the person at the terminal.
type terminal struct{ program *Program }

var _ engine.Peer = terminal{}

// Progress prints progress on a terminal only.
func (t terminal) Progress(done, total float64, message string) {
	switch {
	case !isTerminal(t.program.Stderr):
	case total > 0:
		fmt.Fprintf(t.program.Stderr, "%3.0f %% %s\n", 100*done/total, visible.Line(message))
	default:
		fmt.Fprintf(t.program.Stderr, "%g %s\n", done, visible.Line(message))
	}
}

// Log prints log messages on a terminal only.
func (t terminal) Log(level engine.Level, logger string, data jsontree.Value) {
	if isTerminal(t.program.Stderr) {
		fmt.Fprintf(t.program.Stderr, "%s: %s %s\n", level, logger, data.Append(nil))
	}
}

// Can reports whether the command line supports a capability. It can wait for a long call, and ask
// yes-or-no questions on a terminal.
func (t terminal) Can(c engine.Capability) bool {
	return c == engine.Tasks || c == engine.Forms && t.interactive()
}

func (t terminal) interactive() bool {
	return isTerminal(t.program.Stdin) && isTerminal(t.program.Stderr)
}

// Background does nothing: the command waits for the call to end.
func (terminal) Background() error { return nil }

// Release does nothing.
func (terminal) Release() {}

// Ask asks yes-or-no questions. It fails for a question with a form.
func (t terminal) Ask(ctx context.Context, questions []engine.Question) (map[string]jsontree.Value, error) {
	answers := map[string]jsontree.Value{}
	for _, q := range questions {
		if !t.Can(q.Needs) {
			return nil, &engine.MissingCapabilityError{Needs: q.Needs}
		}
		if fields := q.Params.At("requestedSchema", "properties"); len(fields.Members) > 0 {
			return nil, errors.New("the command line cannot show a form")
		}
		yes, err := t.program.confirmPerson(ctx, q.Params.Field("message").Text)
		if err != nil {
			return nil, err
		}
		action := "decline"
		if yes {
			action = "accept"
		}
		answers[q.Key] = jsontree.Obj(jsontree.M("action", jsontree.Str(action)))
	}
	return answers, nil
}
