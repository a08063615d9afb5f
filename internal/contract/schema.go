package contract

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"remit/internal/contract/jsontree"
)

// schema is a compiled JSON Schema, in the dialect that contracts use: one type
// a value, closed words only. A keyword outside the dialect does not compile, so
// nothing a contract states is ever ignored. ADR 2 says why it is our own.
type schema struct {
	types      []string // empty means any type
	props      []property
	required   []string
	closed     bool    // additionalProperties: false
	additional *schema // additionalProperties: {schema}
	enum       []jsontree.Value
	minLength  int
	maxLength  int // -1 means no limit
	pattern    *regexp.Regexp
	format     string
	minimum    string // as spelt; "" means no limit
	maximum    string
	items      *schema
	minItems   int
	maxItems   int // -1 means no limit
	unique     bool
	anyOf      []*schema
	fallback   *jsontree.Value // default
	redact     bool            // x-redact: kept out of the audit record
	code       string          // x-code: the code of a failure here
	message    string          // x-message: the words of a failure here
}

type property struct {
	name   string
	schema *schema
}

func (s *schema) prop(name string) *schema {
	for i := range s.props {
		if s.props[i].name == name {
			return s.props[i].schema
		}
	}
	return nil
}

// member is the schema of an object's member, or nil if it has none.
func (s *schema) member(name string) *schema {
	if known := s.prop(name); known != nil {
		return known
	}
	return s.additional
}

func (s *schema) requires(name string) bool { return slices.Contains(s.required, name) }

func (s *schema) allowsNull() bool {
	var c checker
	c.check(s, &jsontree.Value{}, nil)
	return len(c.problems) == 0
}

// schemaTypes are the names that the keyword type may have.
var schemaTypes = []string{"object", "array", "string", "integer", "number", "boolean", "null"}

// annotations are keywords that only people and clients read.
var annotations = map[string]func(*jsontree.Value) error{
	"title": isText, "description": isText, "examples": isList, "deprecated": isSwitch,
}

func compileSchema(doc *jsontree.Value, at string) (*schema, error) {
	if doc.Kind != jsontree.Object {
		return nil, fmt.Errorf("%s: a schema is an object, not %s", orRoot(at), doc.Kind)
	}
	s := &schema{maxLength: -1, maxItems: -1}
	for i := range doc.Members {
		keyword, value := doc.Members[i].Key, &doc.Members[i].Value
		if err := s.keyword(keyword, value, at); err != nil {
			return nil, fmt.Errorf("%s: %w", orRoot(at), err)
		}
	}
	for _, name := range s.required {
		if s.prop(name) == nil {
			return nil, fmt.Errorf("%s: required %q is not among the properties", orRoot(at), name)
		}
	}
	return s, nil
}

func orRoot(at string) string {
	if at == "" {
		return "schema"
	}
	return "schema at " + at
}

func (s *schema) keyword(name string, v *jsontree.Value, at string) (err error) {
	switch name {
	case "type":
		s.types, err = typeNames(v)
	case "properties":
		s.props, err = compileProperties(v, at)
	case "required":
		s.required, err = stringList(v)
	case "additionalProperties":
		if v.Kind == jsontree.Bool {
			s.closed = !v.True()
		} else {
			s.additional, err = compileSchema(v, join(at, "*"))
		}
	case "enum":
		s.enum, err = elements(v)
	case "minLength":
		s.minLength, err = count(v)
	case "maxLength":
		s.maxLength, err = count(v)
	case "pattern":
		s.pattern, err = expression(v)
	case "format":
		s.format, err = knownFormat(v)
	case "minimum":
		s.minimum, err = number(v)
	case "maximum":
		s.maximum, err = number(v)
	case "items":
		s.items, err = compileSchema(v, join(at, "[]"))
	case "minItems":
		s.minItems, err = count(v)
	case "maxItems":
		s.maxItems, err = count(v)
	case "uniqueItems":
		s.unique, err = v.True(), isSwitch(v)
	case "anyOf":
		s.anyOf, err = compileList(v, at)
	case "default":
		s.fallback = v
	case "x-redact":
		s.redact, err = v.True(), isSwitch(v)
	case "x-code":
		s.code, err = v.Text, isText(v)
	case "x-message":
		s.message, err = v.Text, isText(v)
	default:
		check, known := annotations[name]
		if !known {
			return fmt.Errorf("keyword %q is not in the dialect%s", name, suggest(name, keywords()))
		}
		err = check(v)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func keywords() []string {
	return []string{
		"type", "properties", "required", "additionalProperties", "enum", "minLength", "maxLength", "pattern", "format",
		"minimum", "maximum", "items", "minItems", "maxItems", "uniqueItems", "anyOf", "default", "x-redact", "x-code", "x-message",
		"title", "description", "examples", "deprecated",
	}
}

func typeNames(v *jsontree.Value) ([]string, error) {
	names, err := []string{v.Text}, isText(v)
	if v.Kind == jsontree.Array {
		names, err = stringList(v)
	}
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errors.New("want at least one type")
	}
	for _, name := range names {
		if !slices.Contains(schemaTypes, name) {
			return nil, fmt.Errorf("%q is not a type%s", name, suggest(name, schemaTypes))
		}
	}
	return names, nil
}

func compileProperties(v *jsontree.Value, at string) ([]property, error) {
	if v.Kind != jsontree.Object {
		return nil, fmt.Errorf("want an object, not %s", v.Kind)
	}
	props := make([]property, 0, len(v.Members))
	for i := range v.Members {
		name := v.Members[i].Key
		s, err := compileSchema(&v.Members[i].Value, join(at, name))
		if err != nil {
			return nil, err
		}
		props = append(props, property{name, s})
	}
	return props, nil
}

func compileList(v *jsontree.Value, at string) ([]*schema, error) {
	docs, err := elements(v)
	if err != nil {
		return nil, err
	}
	list := make([]*schema, 0, len(docs))
	for i := range docs {
		s, err := compileSchema(&docs[i], at)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

func elements(v *jsontree.Value) ([]jsontree.Value, error) {
	if v.Kind != jsontree.Array {
		return nil, fmt.Errorf("want a list with at least one element, not %s", v.Kind)
	}
	if len(v.Members) == 0 {
		return nil, errors.New("want a list with at least one element, not an empty one")
	}
	out := make([]jsontree.Value, len(v.Members))
	for i := range v.Members {
		out[i] = v.Members[i].Value
	}
	return out, nil
}

func stringList(v *jsontree.Value) ([]string, error) {
	if v.Kind != jsontree.Array {
		return nil, fmt.Errorf("want a list of strings, not %s", v.Kind)
	}
	out := make([]string, len(v.Members))
	for i := range v.Members {
		if v.Members[i].Value.Kind != jsontree.String {
			return nil, fmt.Errorf("want a list of strings, not %s in it", v.Members[i].Value.Kind)
		}
		out[i] = v.Members[i].Value.Text
		if slices.Contains(out[:i], out[i]) {
			return nil, fmt.Errorf("%q is there twice", out[i])
		}
	}
	return out, nil
}

func isText(v *jsontree.Value) error {
	if v.Kind != jsontree.String {
		return fmt.Errorf("want a string, not %s", v.Kind)
	}
	return nil
}

func isSwitch(v *jsontree.Value) error {
	if v.Kind != jsontree.Bool {
		return fmt.Errorf("want true or false, not %s", v.Kind)
	}
	return nil
}

func isList(v *jsontree.Value) error {
	if v.Kind != jsontree.Array {
		return fmt.Errorf("want a list, not %s", v.Kind)
	}
	return nil
}

func expression(v *jsontree.Value) (*regexp.Regexp, error) {
	if err := isText(v); err != nil {
		return nil, err
	}
	return regexp.Compile(v.Text)
}

func count(v *jsontree.Value) (int, error) {
	n, err := strconv.ParseUint(v.Text, 10, 31)
	if err != nil || v.Kind != jsontree.Number {
		return 0, fmt.Errorf("want a whole number, not %s", v.Append(nil))
	}
	return int(n), nil
}

func number(v *jsontree.Value) (string, error) {
	if v.Kind != jsontree.Number {
		return "", fmt.Errorf("want a number, not %s", v.Append(nil))
	}
	return v.Text, nil
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	if strings.HasPrefix(name, "[") {
		return at + name
	}
	return at + "." + name
}
