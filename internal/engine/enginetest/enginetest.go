// Package enginetest builds engines for tests, with tools that the test defines.
package enginetest

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/engine/audit"
)

// PublicSet is the _set.yaml of a toolset whose tools need no identity.
const PublicSet = `
name: demo
title: Demo
description: For tests.
shape: coded
defaults:
  version: 1.2.3
  access: public
  deadline: {target: 1s, max: 2m}
  size: {request: 1KiB}
  errors:
    invalid: {code: 400}
    denied: {code: 403}
    not_found: {code: 404}
    conflict: {code: 409}
    too_large: {code: 413}
    limited: {code: 429}
    pending: {code: 403}
    unavailable: {code: 500}
    internal: {code: 500, message: Internal server error}
`

// Load loads a toolset: the text of _set.yaml, and the texts of its contracts by tool name.
func Load(t testing.TB, set string, tools map[string]string) *contract.Set {
	t.Helper()
	files := fstest.MapFS{"_set.yaml": {Data: []byte(set)}}
	for name, text := range tools {
		files[name+".yaml"] = &fstest.MapFile{Data: []byte(text)}
	}
	loaded, err := contract.Load(files, ".")
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// New returns an engine with the tools of one set. Options may leave out the auditor, the observer
// and the clock: then nothing is recorded, and the time is the real one.
func New(t testing.TB, set *contract.Set, handlers map[string]engine.Handler, o engine.Options) *engine.Engine {
	t.Helper()
	sets := []*contract.Set{set}
	return Serve(t, sets, engine.Handlers{Catalog: sets, Toolsets: []engine.Toolset{{Sets: []string{set.Name}, Handlers: handlers}}}, o)
}

// Serve returns an engine with the tools of several sets; Options as for New.
func Serve(t testing.TB, sets []*contract.Set, handlers engine.Handlers, o engine.Options) *engine.Engine {
	t.Helper()
	if o.Audit == nil {
		o.Audit = nothing{}
	}
	if o.Observer == nil {
		o.Observer = nothing{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	e, err := engine.New(sets, handlers, o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// nothing is an auditor and observer that ignores everything.
type nothing struct{}

func (nothing) Ready(time.Time) error                            { return nil }
func (nothing) Write(context.Context, *audit.Record, bool) error { return nil }
func (nothing) Observe(string, string, time.Duration)            {}

// Recorder is an auditor and observer that stores everything it gets. It is safe for concurrent
// use.
type Recorder struct {
	Full error // returned by Ready

	mu      sync.Mutex
	records []audit.Record
	calls   map[string]int
}

// Ready returns Full.
func (r *Recorder) Ready(time.Time) error { return r.Full }

// Write stores a record.
func (r *Recorder) Write(_ context.Context, record *audit.Record, _ bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = append(r.records, *record)
	return nil
}

// Observe counts a call by tool and outcome.
func (r *Recorder) Observe(tool, outcome string, _ time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls == nil {
		r.calls = map[string]int{}
	}
	r.calls[tool+" "+outcome]++
}

// Records returns the audit records so far.
func (r *Recorder) Records() []audit.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.records)
}

// Calls returns the number of calls so far by tool and outcome: "demo/note ok".
func (r *Recorder) Calls() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.calls)
}
