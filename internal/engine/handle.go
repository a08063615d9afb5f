package engine

import (
	"context"
	"fmt"
	"io/fs"
	"reflect"
	"slices"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

// FileInfo describes a file that was read.
type FileInfo = fs.FileInfo

// Path is a path argument after the engine has judged it. A handler opens what
// was judged, and nothing else.
type Path struct{ File }

// Handler is a plain Go method that can serve a contract.
type Handler struct {
	in, out reflect.Type
	prepare func(fill func(in reflect.Value) error) (invocation, error)
}

// invocation is a handler with its arguments, ready to run.
type invocation func(context.Context) (any, error)

// Checker is an In with rules that a schema cannot state. Check runs before a
// person is asked to approve, so that nobody approves what would fail anyway.
type Checker interface {
	// Check returns a contract.Error if the arguments do not go together.
	Check() error
}

// Handle makes a Handler of a method. Its In and Out are structs whose json tags
// name the contract's fields; New checks them against the contract. A type with
// an UnmarshalJSON of its own gets the bytes as the caller sent them.
func Handle[In, Out any](method func(context.Context, In) (Out, error)) Handler {
	return Handler{
		in:  reflect.TypeFor[In](),
		out: reflect.TypeFor[Out](),
		prepare: func(fill func(reflect.Value) error) (invocation, error) {
			var in In
			if err := fill(reflect.ValueOf(&in).Elem()); err != nil {
				return nil, err
			}
			if checked, ok := any(in).(Checker); ok {
				if err := checked.Check(); err != nil {
					return nil, err
				}
			}
			return func(ctx context.Context) (any, error) { return method(ctx, in) }, nil
		},
	}
}

// Content is the Out of a tool that answers with more than data: blocks of text,
// pictures, sound or resources, as the protocol words them.
type Content struct {
	Blocks []jsontree.Value `json:"content"`
}

// Toolset is a family of sets served by one table of handlers. Sets of one
// family are editions of the same tools: a handler takes and gives the union of
// their fields, and each contract sends only its own.
type Toolset struct {
	Sets     []string
	Handlers map[string]Handler
	Shelves  []Shelf  // what can be read while one of the sets is served
	Prompts  []Prompt // and what can be started from
	// Inside says that all effects of the handlers are in the database that also keeps
	// idempotency keys. A call with a key then runs in one transaction with the record
	// of its answer: the handler may be run again from the start, and cannot reach its
	// client, for which all other writes would have to wait.
	Inside bool
}

// Handlers are all toolsets, with every contract there is, served or not, so that
// a field that no edition knows is found.
type Handlers struct {
	Toolsets []Toolset
	Catalog  []*contract.Set
}

// tool joins a contract with its handler.
func (h Handlers) tool(c *contract.Contract) (*Tool, error) {
	for _, toolset := range h.Toolsets {
		editions := toolset.editions(h.Catalog, c)
		if editions == nil {
			continue
		}
		handler, ok := toolset.Handlers[c.Name]
		if !ok {
			return nil, fmt.Errorf("%s/%s: the contract has no handler; add a line to the toolset's table", c.Set, c.Name)
		}
		bound, err := newBinding(c, handler, editions)
		return &Tool{Contract: c, ID: c.Set + "/" + c.Name, inside: toolset.Inside, handler: bound}, err
	}
	return nil, fmt.Errorf("%s/%s: no toolset serves the set %s", c.Set, c.Name, c.Set)
}

// editions are the contracts of one tool in all sets of the family; nil if c is
// not of the family.
func (t *Toolset) editions(catalog []*contract.Set, c *contract.Contract) []*contract.Contract {
	var editions []*contract.Contract
	if !slices.Contains(t.Sets, c.Set) {
		return nil
	}
	for _, set := range catalog {
		if edition := set.Find(c.Name); edition != nil && t.has(set) {
			editions = append(editions, edition)
		}
	}
	return editions
}

// checkTables finds a handler that no contract asks for, in the families of these sets.
func (h Handlers) checkTables(sets []*contract.Set) error {
	for _, toolset := range h.Toolsets {
		if !slices.ContainsFunc(sets, toolset.has) {
			continue
		}
		for name := range toolset.Handlers {
			if !slices.ContainsFunc(h.Catalog, func(set *contract.Set) bool { return toolset.has(set) && set.Find(name) != nil }) {
				return fmt.Errorf("%s/%s: the handler has no contract; write %s.yaml", toolset.Sets[0], name, name)
			}
		}
	}
	return nil
}

// has tells whether a set is of the family.
func (t *Toolset) has(set *contract.Set) bool { return slices.Contains(t.Sets, set.Name) }

// binding is a handler as one contract calls it.
type binding struct {
	handler Handler
	fields  []inField
}

func newBinding(c *contract.Contract, h Handler, editions []*contract.Contract) (*binding, error) {
	if h.in.Kind() != reflect.Struct || h.out.Kind() != reflect.Struct {
		return nil, mismatch(c, "the handler must take and give a struct, not %s and %s", h.in, h.out)
	}
	b := &binding{handler: h}
	var err error
	if b.fields, err = inFields(c, h.in); err != nil {
		return nil, err
	}
	if err := checkOut(c, h.out); err != nil {
		return nil, err
	}
	if err := checkSurplus(c, h.in, "input", editions); err != nil || c.Content {
		return b, err
	}
	return b, checkSurplus(c, h.out, "output", editions)
}

// prepare decodes the arguments into the handler's struct and checks them.
func (b *binding) prepare(args *jsontree.Value, files map[string]File) (invocation, error) {
	return b.handler.prepare(func(in reflect.Value) error { return b.fill(in, args, files) })
}
