package cli_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"remit/internal/engine"
	"remit/internal/engine/enginetest"
	"remit/internal/frontends/cli"
)

const listYAML = `name: list
title: List
version: 1.0.0
description: Lists words.
hints: {readOnly: true, destructive: false, idempotent: true, openWorld: false}
access: caller
deadline: {target: 1s, max: 2m}
size: {request: 1KiB}
input:
  type: object
  properties:
    total: {type: integer, default: 0, description: How many there are; 0 is just these}
  additionalProperties: false
output:
  type: object
  properties:
    result: {type: array, items: {type: string}, description: The words}
  required: [result]
  additionalProperties: false
bare: result
truncate: {list: result, budget: 2KiB}
examples: []
`

type listIn struct {
	Total int64 `json:"total"`
}

type listOut struct {
	Result []string `json:"result"`
	notes  engine.Truncation
}

func (o listOut) Truncation() engine.Truncation { return o.notes }

// TestBareList checks that stdout has the same list as the other front ends, and stderr says how
// much of it is missing.
func TestBareList(t *testing.T) {
	set := enginetest.Load(t, "name: demo\ntitle: Demo\ndescription: For tests.\nshape: plain\n", map[string]string{"list": listYAML})
	list := func(_ context.Context, in listIn) (listOut, error) {
		return listOut{[]string{"a", "b"}, engine.Truncation{Truncated: in.Total != 0, Total: in.Total}}, nil
	}
	e := enginetest.New(t, set, map[string]engine.Handler{"list": engine.Handle(list)}, engine.Options{})
	for total, want := range map[string]string{
		"0": "", "7": "(truncated: showing 2 of 7)\n", "-1": "(truncated: showing 2, and there are more)\n",
	} {
		var printed, errOut bytes.Buffer
		program := &cli.Program{
			Version: "test",
			Open: func(context.Context, cli.Settings, *slog.Logger) (cli.Workspace, error) {
				return toolsOnly{engine: e}, nil
			},
			Logger: func(io.Writer, cli.LogOptions) (*slog.Logger, error) { return slog.New(slog.DiscardHandler), nil },
			Now:    time.Now, Args: []string{"call", "list", "total=" + total, "--root", t.TempDir()},
			Env:   func(string) (string, bool) { return "", false },
			Stdin: strings.NewReader(""), Stdout: &printed, Stderr: &errOut,
		}
		if code := program.Main(t.Context()); code != 0 || printed.String() != "[\"a\",\"b\"]\n" || errOut.String() != want {
			t.Errorf("of %s: %d, %s%s", total, code, printed.String(), errOut.String())
		}
	}
}

// toolsOnly is a workspace that can only call tools.
type toolsOnly struct {
	cli.Workspace
	engine *engine.Engine
}

func (w toolsOnly) Engine() *engine.Engine           { return w.engine }
func (toolsOnly) PingDatabase(context.Context) error { return nil }
func (toolsOnly) Close() error                       { return nil }
