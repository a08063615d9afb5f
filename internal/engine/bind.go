package engine

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

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
	notedType       = reflect.TypeFor[Noted]()
	unmarshalerType = reflect.TypeFor[json.Unmarshaler]()
)

// inFields pairs every argument of the contract with a field of the struct.
func inFields(c *contract.Contract, in reflect.Type) ([]inField, error) {
	var fields []inField
	for _, m := range propertiesOf(&c.Input) {
		field, ok := jsontree.FieldNamed(in, m.Key)
		if !ok {
			return nil, mismatch(c, "the contract's input has %q, but %s has no such field", m.Key, in)
		}
		f := inField{name: m.Key, index: field.Index, path: field.Type == pathType}
		if judged := c.PathPolicy(m.Key) != nil; judged != f.path {
			return nil, mismatch(c, "input %q must be an engine.Path exactly when the contract has a path policy for it", m.Key)
		}
		kind := m.Value.Field("type")
		if !f.path && !fits(kind.Text, field.Type) {
			return nil, mismatch(c, "input %q is %s in the contract, but %s in %s", m.Key, kind.Text, field.Type, in)
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// checkOut sees to it that the handler can give every field the contract promises.
func checkOut(c *contract.Contract, out reflect.Type) error {
	if gives := out == contentType; gives != c.Content {
		return mismatch(c, "the handler must give an engine.Content exactly when the contract says content")
	}
	if c.Truncate.Cursor != "" && !out.Implements(pagedType) {
		return mismatch(c, "the contract may cut %q, so %s must be an engine.Paged", c.Truncate.List, out)
	}
	if cuts := c.Truncate.List != "" && c.Truncate.Cursor == ""; out.Implements(notedType) && !cuts {
		return mismatch(c, "%s is an engine.Noted, but the contract does not say which list is cut without a cursor", out)
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

// checkSurplus finds a field of the struct that no edition of the tool names.
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
			return mismatch(c, "%s has the field %q, but the contract's %s has not", t, f.Name, side)
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

// fits tells whether a Go type can hold a JSON type.
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

// fill decodes the arguments into the handler's struct. The schema has been
// checked, so all that can fail here is a number that Go cannot hold.
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
