// Package engine runs every call of every tool the same way and enforces its contract, whichever
// front end the call came through. It does not parse protocols, which is the task of the front
// ends, and it stores nothing itself.
package engine

import (
	"cmp"
	"context"
	"fmt"
	"io"
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

// Limiter decides whether a caller may call a tool now.
type Limiter = ratelimit.Limiter

// Approver returns nil if a call that needs approval may run, with the state that the person saw
// who approved it, and an error that says why not otherwise.
type Approver interface {
	Pass(ctx context.Context, s approval.Subject, ask approval.Asker) (approval.Passed, error)
}

// Auditor stores one record per call. A durable record is on disk when Write returns.
type Auditor interface {
	// Ready returns an error if a record could not be stored now. The engine calls it before a
	// write.
	Ready(now time.Time) error
	Write(ctx context.Context, r *audit.Record, durable bool) error
}

// Observer receives every call, for metrics. It must not block.
type Observer interface {
	Observe(tool, outcome string, took time.Duration)
}

// File is a file that a path argument names and that the path policy allows.
type File interface {
	// Name is the path as the caller gave it, cleaned.
	Name() string
	// ReadAll returns the whole content, or a contract.Error if it is not a readable file within
	// the size that the contract allows.
	ReadAll() ([]byte, FileInfo, error)
	// Open returns a reader of the content, whatever its size, or a contract.Error if it is not a
	// readable file. The caller closes it.
	Open() (io.ReadCloser, FileInfo, error)
}

// Options configure an Engine. Limiter, Activity, ApprovalPage, Telemetry, Idempotency, Log,
// ReadOnly and DeadlineFactor are optional.
type Options struct {
	Limiter   Limiter // nil: no rate limits
	Approvals Approver
	Audit     Auditor
	Observer  Observer
	Activity  ActivityRecorder // records what callers did; nil: nothing is recorded
	// ApprovalPage returns the URL of the page where people decide about a request. Nil, or an
	// empty URL, means that there is no such page.
	ApprovalPage func(id string) string
	// NeedsPasskey reports whether only a passkey at that page approves, so that dialogs of clients
	// do not count. Nil means that it never does.
	NeedsPasskey func(ctx context.Context) bool
	// Telemetry receives every call; nil disables it.
	Telemetry *telemetry.Telemetry
	// Idempotency returns the store of the answers of keyed calls. The engine calls it for every
	// such call, so that no store is opened before the first one. If Idempotency is nil, calls with
	// a key are rejected.
	Idempotency func(ctx context.Context) (idempotency.Store, error)
	// CheckPath resolves a path argument beneath the workspace root and applies the policy to it.
	// It denies a path before it reveals whether anything exists there.
	CheckPath func(name string, policy *contract.PathPolicy) (File, error)
	Now       func() time.Time
	Log       *slog.Logger
	ReadOnly  bool // reject every tool that writes
	// DeadlineFactor multiplies the deadline of every contract; 0 and 1 leave it unchanged. It is
	// for tests, which may run on a machine that is too busy to meet deadlines.
	DeadlineFactor int
}

// timeout returns how long the call may take.
func (w *work) timeout() time.Duration {
	return time.Duration(w.tool.Deadline.For(&w.call.Args).Max) * time.Duration(max(1, w.engine.DeadlineFactor))
}

// Engine runs the tools of one endpoint.
type Engine struct {
	Options
	tools map[string]*Tool
	list  []*Tool
	resourceSet
	changes  changes
	refusals refusals
}

// Tool is a contract bound to its handler.
type Tool struct {
	*contract.Contract
	ID string // set/name
	// The effects of the handler are in the database of the idempotency keys; see
	// Toolset.Transactional.
	transactional bool

	handler *binding
}

// New binds every contract of the sets to its handler. It returns an error that names the problem
// if a contract has no handler, a handler has no contract, or a field exists only on one side.
func New(sets []*contract.Set, handlers Handlers, o Options) (*Engine, error) {
	e := &Engine{Options: o, tools: map[string]*Tool{}}
	e.Log = cmp.Or(e.Log, slog.New(slog.DiscardHandler))
	owners := map[string]int{}
	for _, set := range sets {
		for _, c := range set.Contracts {
			owners[c.Name]++
		}
	}
	for _, set := range sets {
		for _, c := range set.Contracts {
			t, err := handlers.tool(c)
			if err != nil {
				return nil, err
			}
			if owners[c.Name] > 1 { // the names of tools that several sets have get a prefix
				t.Contract = c.Renamed(set.Prefix() + c.Name)
			}
			if other := e.tools[t.Name]; other != nil {
				return nil, fmt.Errorf("toolsets %s and %s both have the tool %s; serve only one of them", other.Set, c.Set, t.Name)
			}
			e.tools[t.Name] = t
			e.list = append(e.list, t)
		}
	}
	if err := handlers.checkTables(sets); err != nil {
		return nil, err
	}
	if err := e.addResources(sets, handlers.Toolsets); err != nil {
		return nil, err
	}
	return e, nil
}

// Tools returns the tools that callers may see, in the order of the catalog. Under ReadOnly it
// leaves out the tools that write.
func (e *Engine) Tools() []*Tool {
	return slices.DeleteFunc(slices.Clone(e.list), func(t *Tool) bool { return !e.shows(t) })
}

func (e *Engine) shows(t *Tool) bool { return !e.ReadOnly || t.Hints.ReadOnly }

// Serves reports whether callers may see a tool with this name in a contract.
func (e *Engine) Serves(name string) bool { return e.Offered("", name) != "" }

// Offered returns the name under which callers see a tool of a set; any set if it is "". It returns
// "" if they do not see it.
func (e *Engine) Offered(set, name string) string {
	for _, t := range e.list {
		if (set == "" || t.Set == set) && t.ID == t.Set+"/"+name && e.shows(t) {
			return t.Name
		}
	}
	return ""
}

// Find returns a tool by name. For an unknown name the error suggests the most similar one.
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
