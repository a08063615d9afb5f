package cli_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/engine/enginetest"
	"remit/internal/faces/cli"
)

// toolsOnly is a workspace that can do nothing but call tools.
type toolsOnly struct {
	cli.Workspace
	engine *engine.Engine
}

func (w toolsOnly) Engine() *engine.Engine    { return w.engine }
func (toolsOnly) Reach(context.Context) error { return nil }
func (toolsOnly) Close() error                { return nil }

// TestToolThatCannotBeServed: a fault of ours is not a slip of the person who types,
// and nobody is sent to a configuration file for it.
func TestToolThatCannotBeServed(t *testing.T) {
	set := &contract.Set{Name: "tasks", Contracts: []*contract.Contract{contract.Closed("list_tasks", []byte("{"))}}
	set.Adopt()
	handler := engine.Handle(func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil })
	e := enginetest.New(t, set, map[string]engine.Handler{"list_tasks": handler}, engine.Options{})
	for _, args := range [][]string{{"call", "list_tasks"}, {"tools", "list_tasks"}, {"tasks"}} {
		var complained bytes.Buffer
		program := &cli.Program{
			Version: "test",
			Open: func(context.Context, cli.Settings, *slog.Logger) (cli.Workspace, error) {
				return toolsOnly{engine: e}, nil
			},
			Logger: func(io.Writer, slog.Level) *slog.Logger { return slog.New(slog.DiscardHandler) },
			Now:    time.Now, Args: append(args, "--root", t.TempDir()),
			Env:   func(string) (string, bool) { return "", false },
			Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &complained,
		}
		if code := program.Main(t.Context()); code != cli.ExitFailed || complained.String() != "remit: Internal error\n" {
			t.Errorf("%v ended with %d: %s", args, code, complained.String())
		}
	}
}
