// Package engine runs every call of every tool the same way, and keeps each
// contract whichever face the call came in by.
package engine

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"remit/internal/contract"
	"remit/internal/engine/approval"
	"remit/internal/engine/audit"
	"remit/internal/engine/idempotency"
	"remit/internal/engine/ratelimit"
	"remit/internal/engine/telemetry"
)

// Limiter decides whether a caller may call now.
type Limiter = ratelimit.Limiter

// Approver lets a guarded call pass, or says why not.
type Approver interface {
	Pass(ctx context.Context, s approval.Subject, ask approval.Asker) error
}

// Auditor keeps one record a call. A durable one is on disk when Write returns.
type Auditor interface {
	// Ready tells, before a write, whether its record could be kept.
	Ready(now time.Time) error
	Write(ctx context.Context, r *audit.Record, durable bool) error
}

// Observer is told of every call, for metrics. It must not block.
type Observer interface {
	Observe(tool, outcome string, took time.Duration)
}

// File is a file that a path argument named and that its policy lets through.
type File interface {
	// Name is the path as the caller gave it, cleaned.
	Name() string
	// ReadAll returns the whole content, or a contract.Error if it is not a
	// readable file within the size that the contract allows.
	ReadAll() ([]byte, FileInfo, error)
}

// Options are what an engine stands on. Limiter, Witness, ApprovalPage, Telemetry, Once,
// Log, ReadOnly and DeadlineFactor may be left out.
type Options struct {
	Limiter   Limiter // nil: no rate limits
	Approvals Approver
	Audit     Auditor
	Observer  Observer
	Witness   Witness // nil: nobody remembers what callers did
	// ApprovalPage is where people decide about a request with a browser; "" or nil is
	// nowhere.
	ApprovalPage func(id string) string
	// Telemetry is told of every call; nil if nobody wants to know.
	Telemetry *telemetry.Telemetry
	// Once gives where the answers of keyed calls are kept. It is called for every such
	// call, so that nothing is opened before the first; nil: keys are refused.
	Once func(ctx context.Context) (idempotency.Store, error)
	// Judge resolves a path argument beneath the workspace root and applies the
	// policy to it. It denies before it tells whether anything exists.
	Judge    func(name string, policy *contract.PathPolicy) (File, error)
	Now      func() time.Time
	Log      *slog.Logger
	ReadOnly bool // refuse every tool that writes
	// DeadlineFactor multiplies the deadline of every contract; 0 and 1 leave it as it is. It
	// is for tests, which may run on a machine that is too busy to keep deadlines.
	DeadlineFactor int
}

// limit is how long a call of a tool may take.
func (e *Engine) limit(t *Tool) time.Duration {
	return time.Duration(t.Deadline.Max) * time.Duration(max(1, e.DeadlineFactor))
}

// Engine runs the tools of one endpoint.
type Engine struct {
	Options
	tools map[string]*Tool
	list  []*Tool
	library
	changes changes
}

// Tool is a contract bound to its handler.
type Tool struct {
	*contract.Contract
	ID     string // set/name
	inside bool   // its effects are in the store of keys; see Toolset.Inside

	handler *binding
}

// New binds every contract of the sets to its handler. A contract without
// handler, a handler without contract, and any field that one side has and the
// other has not, is an error that names it.
func New(sets []*contract.Set, handlers Handlers, o Options) (*Engine, error) {
	e := &Engine{Options: o, tools: map[string]*Tool{}}
	e.Log = cmp.Or(e.Log, slog.New(slog.DiscardHandler))
	for _, set := range sets {
		for _, c := range set.Contracts {
			t, err := handlers.tool(c)
			if err != nil {
				return nil, err
			}
			if other := e.tools[c.Name]; other != nil {
				return nil, fmt.Errorf("toolsets %s and %s both have %s; serve one of them", other.Set, c.Set, c.Name)
			}
			e.tools[c.Name] = t
			e.list = append(e.list, t)
		}
	}
	if err := handlers.checkTables(sets); err != nil {
		return nil, err
	}
	if err := e.stock(sets, handlers.Toolsets); err != nil {
		return nil, err
	}
	return e, nil
}

// Tools lists what a caller may see, in the order of the catalog. Under
// ReadOnly that leaves out the tools that write.
func (e *Engine) Tools() []*Tool {
	return slices.DeleteFunc(slices.Clone(e.list), func(t *Tool) bool { return !e.shows(t) })
}

func (e *Engine) shows(t *Tool) bool { return !e.ReadOnly || t.Hints.ReadOnly }

// Serves tells whether a caller may see a tool of this name.
func (e *Engine) Serves(name string) bool { return e.visible(name) != nil }

// Find returns a tool by name. The error of an unknown name names the nearest.
func (e *Engine) Find(name string) (*Tool, error) {
	if t, ok := e.tools[name]; ok {
		return t, nil
	}
	names := make([]string, len(e.list))
	for i, t := range e.list {
		names[i] = t.Name
	}
	return nil, contract.Errorf(contract.NotFound, "Unknown tool %q%s", name, contract.Hint(name, names))
}
