package contract

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"remit/internal/contract/jsontree"
)

// schema is a compiled JSON Schema in the dialect that contracts use: one type per value, and a
// closed list of keywords. A keyword outside the dialect is a compile error, so nothing that a
// contract states is ignored. ADR 2 says why this is not a library.
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
	minimum    string // as written; "" means no limit
	maximum    string
	items      *schema
	minItems   int
	maxItems   int // -1 means no limit
	unique     bool
	anyOf      []*schema
	all        []*schema // allOf, and the targets of $ref
	condition  *schema   // if
	then       *schema
	otherwise  *schema         // else
	constant   *jsontree.Value // const
	fallback   *jsontree.Value // default
	redact     bool            // x-redact, here or in a subschema: not written to the audit record
	header     string          // x-mcp-header: the HTTP header that repeats the argument
	trim       bool            // x-trim: white space around the argument is removed
	accepts    string          // x-accepts: a further type that is converted to text
	code       wording         // x-code: the error code of a failure here
	message    wording         // x-message: the message of a failure here
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

// member returns the schema of an object's member, or nil if there is none.
func (s *schema) member(name string) *schema {
	if known := s.prop(name); known != nil {
		return known
	}
	return s.additional
}

// within returns the schema of an object's member or of an array's element, or nil if there is
// none.
func (s *schema) within(v *jsontree.Value, m *jsontree.Member) *schema {
	if v.Kind == jsontree.Object {
		return s.member(m.Key)
	}
	return s.items
}

func (s *schema) requires(name string) bool { return slices.Contains(s.required, name) }

// holds reports whether a value matches the schema.
func (s *schema) holds(v *jsontree.Value) bool {
	var c checker
	c.check(s, v, nil)
	return len(c.problems) == 0
}

// branch returns the schema that if selects for a value, or nil if it selects none.
func (s *schema) branch(v *jsontree.Value) *schema {
	switch {
	case s.condition == nil:
		return nil
	case s.condition.holds(v):
		return s.then
	default:
		return s.otherwise
	}
}

// schemaTypes are the values that the keyword type may have.
var schemaTypes = []string{"object", "array", "string", "integer", "number", "boolean", "null"}

// annotations are keywords that only people and clients read. Each function checks the value.
var annotations = map[string]func(*jsontree.Value) error{
	"title": isText, "description": isText, "examples": isList, "deprecated": isBoolean,
}

// compiler compiles a document to a schema. It resolves references after it has read the whole
// document, because they may point forwards and backwards.
type compiler struct {
	root  *schema
	made  []compiledSchema
	named map[string]*schema // the possible targets of a $ref
	refs  []reference
}

// compiledSchema is a compiled schema, its place, and the outermost schema that applies to the same
// values.
type compiledSchema struct {
	*schema
	at  string
	top *schema
}

func compileSchema(doc *jsontree.Value) (*schema, error) {
	var c compiler
	root, err := c.compile(doc, "", nil)
	if err != nil {
		return nil, err
	}
	if err := c.join(); err != nil {
		return nil, err
	}
	return root, c.finish()
}

// compile compiles a schema. top is nil unless an outer schema applies to the same values.
func (c *compiler) compile(doc *jsontree.Value, at string, top *schema) (*schema, error) {
	if doc.Kind != jsontree.Object {
		return nil, fmt.Errorf("%s: a schema must be an object, not %s", orRoot(at), doc.Kind)
	}
	s := newSchema()
	top, c.root = cmp.Or(top, s), cmp.Or(c.root, s)
	c.made = append(c.made, compiledSchema{s, at, top})
	for i := range doc.Members {
		keyword, value := doc.Members[i].Key, &doc.Members[i].Value
		if err := c.keyword(s, keyword, value, at, top); err != nil {
			return nil, fmt.Errorf("%s: %w", orRoot(at), err)
		}
	}
	if (s.condition == nil) != (s.then == nil && s.otherwise == nil) {
		return nil, fmt.Errorf("%s: if needs then, else or both", orRoot(at))
	}
	return s, nil
}

// newSchema returns the schema that every value matches.
func newSchema() *schema { return &schema{maxLength: -1, maxItems: -1} }

// finish checks what needs the whole document, and passes x-redact up from subschemas.
func (c *compiler) finish() error {
	for _, m := range c.made {
		for _, name := range m.required {
			if !m.top.hasProperty(name) {
				return fmt.Errorf("%s: required %q is not among the properties", orRoot(m.at), name)
			}
		}
		m.redact = m.isRedacted()
	}
	return nil
}

// parts returns the subschemas that apply to the same values as s.
func (s *schema) parts() []*schema {
	parts := slices.Concat(s.all, s.anyOf)
	for _, part := range []*schema{s.condition, s.then, s.otherwise} {
		if part != nil {
			parts = append(parts, part)
		}
	}
	return parts
}

// hasProperty reports whether s or a part of it has a property.
func (s *schema) hasProperty(name string) bool {
	return s.prop(name) != nil || slices.ContainsFunc(s.parts(), func(part *schema) bool { return part.hasProperty(name) })
}

// isRedacted reports whether s or a part of it must not be written to the audit record.
func (s *schema) isRedacted() bool {
	return s.redact || slices.ContainsFunc(s.parts(), (*schema).isRedacted)
}

func orRoot(at string) string {
	if at == "" {
		return "schema"
	}
	return "schema at " + at
}

func (c *compiler) keyword(s *schema, name string, v *jsontree.Value, at string, top *schema) (err error) {
	switch name {
	case "type":
		s.types, err = typeNames(v)
	case "properties":
		s.props, err = c.properties(v, at)
	case "required":
		s.required, err = stringList(v)
	case "additionalProperties":
		if v.Kind == jsontree.Bool {
			s.closed = !v.True()
		} else {
			s.additional, err = c.compile(v, join(at, "*"), nil)
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
		s.items, err = c.compile(v, join(at, "[]"), nil)
	case "minItems":
		s.minItems, err = count(v)
	case "maxItems":
		s.maxItems, err = count(v)
	case "uniqueItems":
		s.unique, err = v.True(), isBoolean(v)
	case "anyOf":
		s.anyOf, err = c.list(v, at, top)
	case "default":
		s.fallback = v
	default:
		return c.further(s, name, v, at, top)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// further reads the rare keywords.
func (c *compiler) further(s *schema, name string, v *jsontree.Value, at string, top *schema) (err error) {
	switch name {
	case "$schema":
		err = c.dialect(s, v)
	case "$defs":
		err = c.definitions(s, v)
	case "$anchor":
		err = c.anchor(s, v)
	case "$ref":
		err = c.reference(s, v, at)
	case "allOf":
		s.all, err = c.list(v, at, top)
	case "if":
		s.condition, err = c.compile(v, at, top)
	case "then":
		s.then, err = c.compile(v, at, top)
	case "else":
		s.otherwise, err = c.compile(v, at, top)
	case "const":
		s.constant = v
	case "x-redact":
		s.redact, err = v.True(), isBoolean(v)
	case headerKeyword:
		s.header, err = v.Text, isText(v)
	case "x-trim":
		s.trim, err = v.True(), isBoolean(v)
	case "x-accepts":
		s.accepts, err = acceptedType(v)
	case "x-code":
		s.code, err = wordingOf(v)
	case "x-message":
		s.message, err = wordingOf(v)
	default:
		check, known := annotations[name]
		if !known {
			return fmt.Errorf("keyword %q is not supported in contract schemas%s", name, suggest(name, keywords()))
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
		"minimum", "maximum", "items", "minItems", "maxItems", "uniqueItems", "anyOf", "default", "x-redact", "x-trim", "x-accepts", "x-code", "x-message",
		headerKeyword, "title", "description", "examples", "deprecated",
		"$schema", "$defs", "$anchor", "$ref", "allOf", "if", "then", "else", "const",
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

func (c *compiler) properties(v *jsontree.Value, at string) ([]property, error) {
	if v.Kind != jsontree.Object {
		return nil, fmt.Errorf("want an object, not %s", v.Kind)
	}
	props := make([]property, 0, len(v.Members))
	for i := range v.Members {
		name := v.Members[i].Key
		s, err := c.compile(&v.Members[i].Value, join(at, name), nil)
		if err != nil {
			return nil, err
		}
		props = append(props, property{name, s})
	}
	return props, nil
}

func (c *compiler) list(v *jsontree.Value, at string, top *schema) ([]*schema, error) {
	docs, err := elements(v)
	if err != nil {
		return nil, err
	}
	list := make([]*schema, 0, len(docs))
	for i := range docs {
		s, err := c.compile(&docs[i], at, top)
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
			return nil, fmt.Errorf("%q appears twice", out[i])
		}
	}
	return out, nil
}

func isText(v *jsontree.Value) error    { return isOf(jsontree.String, "a string", v) }
func isBoolean(v *jsontree.Value) error { return isOf(jsontree.Bool, "true or false", v) }
func isList(v *jsontree.Value) error    { return isOf(jsontree.Array, "a list", v) }

func isOf(kind jsontree.Kind, wanted string, v *jsontree.Value) error {
	if v.Kind != kind {
		return fmt.Errorf("want %s, not %s", wanted, v.Kind)
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
