package engine_test

import (
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/engine/enginetest"
)

// closedSet is the set of the tests as a start reads it.
func closedSet(t *testing.T) *contract.Set {
	t.Helper()
	set := loadSet(t, toolYAML)
	for i, c := range set.Contracts {
		text, err := c.Compact()
		if err != nil {
			t.Fatal(err)
		}
		set.Contracts[i] = contract.Closed(c.Name, text)
	}
	set.Adopt()
	return set
}

func newClosed(t *testing.T, set *contract.Set, h engine.Handler, o engine.Options) *engine.Engine {
	t.Helper()
	return enginetest.New(t, set, map[string]engine.Handler{"note": h}, o)
}

// TestClosedContracts: nothing is opened before somebody asks for the tool, and
// whoever gets one gets it opened.
func TestClosedContracts(t *testing.T) {
	for name, ask := range map[string]func(e *engine.Engine) *engine.Tool{
		"Find":  func(e *engine.Engine) *engine.Tool { tool, _ := e.Find("note"); return tool },
		"Tools": func(e *engine.Engine) *engine.Tool { return e.Tools()[0] },
	} {
		set := closedSet(t)
		e := newClosed(t, set, handle[noteIn, noteOut](), engine.Options{})
		if !e.Serves("note") || e.Serves("sing") {
			t.Error("a name is enough to tell what is served")
		}
		if set.Contracts[0].Digest != "" {
			t.Error("a start opened a contract")
		}
		if tool := ask(e); tool == nil || tool.Digest == "" {
			t.Errorf("%s gives a closed tool", name)
		}
	}
	e := newClosed(t, closedSet(t), handle[noteIn, noteOut](), engine.Options{ReadOnly: true})
	if e.Serves("note") || len(e.Tools()) != 0 {
		t.Error("a tool that writes is shown under ReadOnly")
	}
}

// TestClosedBinding: what does not fit is found by the first who asks for the tool,
// and only the log hears what it is.
func TestClosedBinding(t *testing.T) {
	var logged strings.Builder
	log := slog.New(slog.NewTextHandler(&logged, nil))
	e := newClosed(t, closedSet(t), handle[missingIn, noteOut](), engine.Options{Log: log})
	for range 2 {
		_, err := e.Find("note")
		var refused *contract.Error
		if !errors.As(err, &refused) || refused.Kind != contract.Internal || refused.Message != "Internal error" ||
			refused.Cause == nil || !strings.Contains(refused.Cause.Error(), `the contract's input has "times"`) {
			t.Fatalf("Find = %v", err)
		}
	}
	if !strings.Contains(logged.String(), "a tool cannot be served") || !strings.Contains(logged.String(), "times") {
		t.Errorf("logged %q", logged.String())
	}
	broken := &contract.Set{Name: "demo", Contracts: []*contract.Contract{contract.Closed("note", []byte("{"))}}
	broken.Adopt()
	e = newClosed(t, broken, handle[noteIn, noteOut](), engine.Options{Log: log})
	if len(e.Tools()) != 0 || !strings.Contains(logged.String(), "open contract note") {
		t.Errorf("a tool that cannot be opened is shown; logged %s", logged.String())
	}
}

// TestManyOpenAtOnce: whoever comes first opens a contract, and all others find it open.
func TestManyOpenAtOnce(t *testing.T) {
	e := newClosed(t, closedSet(t), handle[noteIn, noteOut](), engine.Options{ReadOnly: true})
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			switch i % 3 {
			case 0:
				if tool, err := e.Find("note"); err != nil || tool.Digest == "" || len(tool.Paths) != 1 {
					t.Errorf("Find = %v, %v", tool, err)
				}
			case 1:
				if len(e.Tools()) != 0 {
					t.Error("a tool that writes is listed")
				}
			default:
				if e.Serves("note") {
					t.Error("a tool that writes is served")
				}
			}
		})
	}
	all.Wait()
}
