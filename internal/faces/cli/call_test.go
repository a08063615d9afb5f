package cli_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/engine/audit"
	"remit/internal/faces/cli"
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
	notes  engine.Notes
}

func (o listOut) Notes() engine.Notes { return o.notes }

type unrecorded struct{}

func (unrecorded) Ready(time.Time) error                            { return nil }
func (unrecorded) Write(context.Context, *audit.Record, bool) error { return nil }
func (unrecorded) Observe(string, string, time.Duration)            {}

// TestBareList: the list goes to scripts as every other face gives it, and what is
// missing of it is told to the person.
func TestBareList(t *testing.T) {
	set, err := contract.Load(fstest.MapFS{
		"_set.yaml": {Data: []byte("name: demo\ntitle: Demo\ndescription: For tests.\nshape: plain\n")}, "list.yaml": {Data: []byte(listYAML)},
	}, ".")
	if err != nil {
		t.Fatal(err)
	}
	list := func(_ context.Context, in listIn) (listOut, error) {
		return listOut{[]string{"a", "b"}, engine.Notes{Truncated: in.Total != 0, Total: in.Total}}, nil
	}
	sets := []*contract.Set{set}
	e, err := engine.New(sets, engine.Handlers{
		Catalog: sets, Toolsets: []engine.Toolset{{Sets: []string{"demo"}, Handlers: map[string]engine.Handler{"list": engine.Handle(list)}}},
	}, engine.Options{Audit: unrecorded{}, Observer: unrecorded{}, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	for total, want := range map[string]string{
		"0": "", "7": "(cut: showing 2 of 7)\n", "-1": "(cut: showing 2, and there are more)\n",
	} {
		var printed, told bytes.Buffer
		program := &cli.Program{
			Version: "test",
			Open: func(context.Context, cli.Settings, *slog.Logger) (cli.Workspace, error) {
				return toolsOnly{engine: e}, nil
			},
			Logger: func(io.Writer, slog.Level) *slog.Logger { return slog.New(slog.DiscardHandler) },
			Now:    time.Now, Args: []string{"call", "list", "total=" + total, "--root", t.TempDir()},
			Env:   func(string) (string, bool) { return "", false },
			Stdin: strings.NewReader(""), Stdout: &printed, Stderr: &told,
		}
		if code := program.Main(t.Context()); code != 0 || printed.String() != "[\"a\",\"b\"]\n" || told.String() != want {
			t.Errorf("of %s: %d, %s%s", total, code, printed.String(), told.String())
		}
	}
}

// toolsOnly is a workspace that can do nothing but call tools.
type toolsOnly struct {
	cli.Workspace
	engine *engine.Engine
}

func (w toolsOnly) Engine() *engine.Engine    { return w.engine }
func (toolsOnly) Reach(context.Context) error { return nil }
func (toolsOnly) Close() error                { return nil }
