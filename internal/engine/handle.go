package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/approval"
)

// FileInfo describes a file that was read.
type FileInfo = fs.FileInfo

// Path is a path argument that the engine has checked. A handler opens the checked file and nothing
// else.
type Path struct{ File }

// Handler is a Go method that implements a contract. Handle makes one.
type Handler interface {
	types() (in, out reflect.Type)
	// prepare makes a call of the method. fill sets the arguments.
	prepare(fill func(in reflect.Value) error) (invocation, error)
}

// invocation is a handler with its arguments, ready to run.
type invocation interface {
	run(ctx context.Context) (any, error)
	// show returns the effect that run would have; false if the handler has no hook that knows it.
	show(ctx context.Context) (Shown, bool, error)
}

// Shown is the effect of a call as a person sees it before they decide.
type Shown = approval.Shown

// Checker is an In with rules that a schema cannot express. Check runs before a person is asked for
// approval, so that nobody approves a call that would fail anyway.
type Checker interface {
	// Check returns a contract.Error if the arguments contradict each other.
	Check() error
}

// Handle makes a Handler of a method. Its In and Out are structs whose json tags name the fields of
// the contract; New checks them against the contract. A type with its own UnmarshalJSON gets the
// bytes as the caller sent them.
func Handle[In, Out any](method func(context.Context, In) (Out, error)) *Method[In, Out] {
	return &Method[In, Out]{handle: method}
}

// Method is a Handler that takes an In and returns an Out.
type Method[In, Out any] struct {
	handle func(context.Context, In) (Out, error)
	shows  func(context.Context, In) (Shown, error)
}

// Shows adds the hook that shows the effect of a call to the person who has to approve it. The hook
// changes nothing. If the effect is still the one that Seen names, it returns that state. The
// handler makes sure that the state still holds when it has its effect.
func (m *Method[In, Out]) Shows(hook func(context.Context, In) (Shown, error)) *Method[In, Out] {
	return &Method[In, Out]{handle: m.handle, shows: hook}
}

func (*Method[In, Out]) types() (in, out reflect.Type) {
	return reflect.TypeFor[In](), reflect.TypeFor[Out]()
}

func (m *Method[In, Out]) prepare(fill func(reflect.Value) error) (invocation, error) {
	call := &methodCall[In, Out]{method: m}
	if err := fill(reflect.ValueOf(&call.in).Elem()); err != nil {
		return nil, err
	}
	if checked, ok := any(call.in).(Checker); ok {
		if err := checked.Check(); err != nil {
			return nil, err
		}
	}
	return call, nil
}

// methodCall is a Method with its arguments.
type methodCall[In, Out any] struct {
	method *Method[In, Out]
	in     In
}

func (c *methodCall[In, Out]) run(ctx context.Context) (any, error) {
	return c.method.handle(ctx, c.in)
}

func (c *methodCall[In, Out]) show(ctx context.Context) (s Shown, ok bool, err error) {
	if c.method.shows == nil {
		return s, false, nil
	}
	s, err = c.method.shows(ctx, c.in)
	return s, true, err
}

// Content is the Out of a tool that answers with more than data: blocks of text, pictures, sound or
// resources, in the format of the protocol.
type Content struct {
	Blocks []jsontree.Value `json:"content"`
}

// Toolset is a family of sets that share one table of handlers. The sets of a family are editions
// of the same tools: a handler accepts and returns the union of their fields, and each contract
// sends only its own.
type Toolset struct {
	Sets     []string
	Handlers map[string]Handler
	// The resources that callers can read while one of the sets is served.
	Resources []ResourceProvider
	Prompts   []Prompt // the prompts that callers can start
	// Transactional says that all effects of the handlers are in the database that also stores
	// idempotency keys. A call with a key then runs in one transaction with the record of its
	// answer. So the store may run the handler again from the start, and the handler cannot ask its
	// client, because all other writes would have to wait meanwhile.
	Transactional bool
}

// Handlers holds all toolsets, and every contract there is, served or not, so that New finds fields
// that are in no edition.
type Handlers struct {
	Toolsets []Toolset
	Catalog  []*contract.Set
}

// tool binds a contract to its handler.
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
		return &Tool{Contract: c, ID: c.Set + "/" + c.Name, transactional: toolset.Transactional, handler: bound}, err
	}
	return nil, fmt.Errorf("%s/%s: no toolset serves the set %s", c.Set, c.Name, c.Set)
}

// editions returns the contracts of one tool in all sets of the family; nil if c is not in the
// family.
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

// checkTables returns an error if a handler in the families of these sets has no contract.
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

// has reports whether a set is in the family.
func (t *Toolset) has(set *contract.Set) bool { return slices.Contains(t.Sets, set.Name) }

// binding is a handler with the fields that one contract passes to it.
type binding struct {
	handler Handler
	fields  []inField
}

func newBinding(c *contract.Contract, h Handler, editions []*contract.Contract) (*binding, error) {
	in, out := h.types()
	if in.Kind() != reflect.Struct || out.Kind() != reflect.Struct {
		return nil, mismatch(c, "the handler must accept and return a struct, not %s and %s", in, out)
	}
	b := &binding{handler: h}
	var err error
	if b.fields, err = inFields(c, in); err != nil {
		return nil, err
	}
	if err := checkOut(c, out); err != nil {
		return nil, err
	}
	if err := checkSurplus(c, in, "input", editions); err != nil || c.Content {
		return b, err
	}
	return b, checkSurplus(c, out, "output", editions)
}

// prepare decodes the arguments into the handler's struct and checks them.
func (b *binding) prepare(args *jsontree.Value, files map[string]File) (invocation, error) {
	return b.handler.prepare(func(in reflect.Value) error { return b.fill(in, args, files) })
}

// inField is one argument and the struct field that takes it.
type inField struct {
	name  string
	index int
	path  bool
}

var (
	pathType        = reflect.TypeFor[Path]()
	timeType        = reflect.TypeFor[time.Time]()
	contentType     = reflect.TypeFor[Content]()
	treeType        = reflect.TypeFor[jsontree.Value]()
	pagedType       = reflect.TypeFor[Paged]()
	notedType       = reflect.TypeFor[TruncationReporter]()
	unmarshalerType = reflect.TypeFor[json.Unmarshaler]()
)

// inFields finds the struct field for every argument of the contract.
func inFields(c *contract.Contract, in reflect.Type) ([]inField, error) {
	var fields []inField
	for _, m := range propertiesOf(&c.Input) {
		field, ok := jsontree.FieldNamed(in, m.Key)
		if !ok {
			return nil, mismatch(c, "the contract's input has %q, but %s has no such field", m.Key, in)
		}
		f := inField{name: m.Key, index: field.Index, path: field.Type == pathType}
		if judged := c.PathPolicy(m.Key) != nil; judged != f.path {
			return nil, mismatch(c, "input %q must be an engine.Path exactly if the contract has a path policy for it", m.Key)
		}
		kind := m.Value.Field("type")
		if !f.path && !fits(kind.Text, field.Type) {
			return nil, mismatch(c, "input %q is %s in the contract, but %s in %s", m.Key, kind.Text, field.Type, in)
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// checkOut checks that the handler can return every field that the contract promises.
func checkOut(c *contract.Contract, out reflect.Type) error {
	if gives := out == contentType; gives != c.Content {
		return mismatch(c, "the handler must return an engine.Content exactly if the contract says content")
	}
	if c.Truncate.Cursor != "" && !out.Implements(pagedType) {
		return mismatch(c, "the contract may cut %q, so %s must be an engine.Paged", c.Truncate.List, out)
	}
	if cuts := c.Truncate.List != "" && c.Truncate.Cursor == ""; out.Implements(notedType) && !cuts {
		return mismatch(c, "%s is an engine.TruncationReporter, but the contract does not say which list is cut without a cursor", out)
	}
	for _, m := range propertiesOf(c.Data()) {
		field, ok := jsontree.FieldNamed(out, m.Key)
		if !ok {
			return mismatch(c, "the contract's output has %q, but %s has no such field", m.Key, out)
		}
		if kind := m.Value.Field("type"); !fits(kind.Text, field.Type) {
			return mismatch(c, "output %q is %s in the contract, but %s in %s", m.Key, kind.Text, field.Type, out)
		}
	}
	return nil
}

// checkSurplus returns an error if the struct has a field that is in no edition of the tool.
func checkSurplus(c *contract.Contract, t reflect.Type, side string, editions []*contract.Contract) error {
	for _, f := range jsontree.Fields(t) {
		known := slices.ContainsFunc(editions, func(edition *contract.Contract) bool {
			schema := &edition.Input
			if side == "output" {
				schema = edition.Data()
			}
			return slices.ContainsFunc(propertiesOf(schema), func(m jsontree.Member) bool { return m.Key == f.Name })
		})
		if !known {
			return mismatch(c, "%s has the field %q, but the contract's %s does not", t, f.Name, side)
		}
	}
	return nil
}

func mismatch(c *contract.Contract, format string, args ...any) error {
	return fmt.Errorf("%s/%s: %s", c.Set, c.Name, fmt.Sprintf(format, args...))
}

func propertiesOf(schema *jsontree.Value) []jsontree.Member {
	return schema.Field("properties").Members
}

// fits reports whether a Go type can hold a JSON type.
func fits(kind string, t reflect.Type) bool {
	if t == treeType || reflect.PointerTo(t).Implements(unmarshalerType) && t != timeType {
		return true
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch kind {
	case "string":
		return t.Kind() == reflect.String || t == timeType
	case "integer":
		return t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64
	case "number":
		return t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64
	case "boolean":
		return t.Kind() == reflect.Bool
	case "array":
		return t.Kind() == reflect.Slice
	case "object":
		return t.Kind() == reflect.Struct && t != timeType || t.Kind() == reflect.Map
	default:
		return true
	}
}

// fill decodes the arguments into the handler's struct. The schema has been checked, so the only
// possible error is a number that the Go type cannot hold.
func (b *binding) fill(in reflect.Value, args *jsontree.Value, files map[string]File) error {
	for _, f := range b.fields {
		target := in.Field(f.index)
		if f.path {
			if file, ok := files[f.name]; ok {
				target.Set(reflect.ValueOf(Path{file}))
			}
			continue
		}
		if v, ok := args.Get(f.name); ok {
			if err := v.Decode(target.Addr().Interface()); err != nil {
				return contract.Errorf(contract.Invalid, "%s is out of range", f.name).With("field", f.name).Because(err)
			}
		}
	}
	return nil
}
