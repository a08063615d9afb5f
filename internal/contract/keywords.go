package contract

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"remit/internal/contract/jsontree"
)

// dialect2020 is the only version of JSON Schema that a contract may name, because it is the only
// one that this package implements.
const dialect2020 = "https://json-schema.org/draft/2020-12/schema"

// Patterns of names that need no escape in a reference. They are compiled on first use.
var (
	plainName  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.-]+$`) })
	anchorName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`) })
)

// reference is a $ref that is not resolved yet.
type reference struct {
	from *schema
	to   string
	at   string
}

func (c *compiler) dialect(s *schema, v *jsontree.Value) error {
	if err := c.isRoot(s); err != nil {
		return err
	}
	if v.Text != dialect2020 {
		return fmt.Errorf("want %s, not %s", dialect2020, orNothing(v))
	}
	return nil
}

// definitions reads $defs. It is allowed only at the root, so that there is one form of reference.
func (c *compiler) definitions(s *schema, v *jsontree.Value) error {
	if err := c.isRoot(s); err != nil {
		return err
	}
	if v.Kind != jsontree.Object {
		return fmt.Errorf("want an object, not %s", v.Kind)
	}
	for i := range v.Members {
		name := v.Members[i].Key
		if !plainName().MatchString(name) {
			return fmt.Errorf("the name %q must match %s", name, plainName())
		}
		definition, err := c.compile(&v.Members[i].Value, name, nil)
		if err != nil {
			return err
		}
		if err := c.name(definition, "#/$defs/"+name); err != nil {
			return err
		}
	}
	return nil
}

func (c *compiler) isRoot(s *schema) error {
	if s != c.root {
		return fmt.Errorf("it is allowed only at the root of a schema")
	}
	return nil
}

func (c *compiler) anchor(s *schema, v *jsontree.Value) error {
	if v.Kind != jsontree.String || !anchorName().MatchString(v.Text) {
		return fmt.Errorf("%s must match %s", orNothing(v), anchorName())
	}
	return c.name(s, "#"+v.Text)
}

func (c *compiler) name(s *schema, name string) error {
	if c.named[name] != nil {
		return fmt.Errorf("%s appears twice", name)
	}
	if c.named == nil {
		c.named = map[string]*schema{}
	}
	c.named[name] = s
	return nil
}

func (c *compiler) reference(s *schema, v *jsontree.Value, at string) error {
	if err := isText(v); err != nil {
		return err
	}
	c.refs = append(c.refs, reference{s, v.Text, at})
	return nil
}

// join resolves every reference. The schema that a $ref names applies as if it were part of allOf.
func (c *compiler) join() error {
	for _, r := range c.refs {
		target := c.named[r.to]
		if target == nil {
			return fmt.Errorf("%s: $ref: there is no schema at %q; want #/$defs/NAME or #ANCHOR", orRoot(r.at), r.to)
		}
		r.from.all = append(r.from.all, target)
	}
	seen := visits{}
	for _, r := range c.refs {
		if seen.findCycle(r.from) {
			return fmt.Errorf("%s: $ref: %q refers back to this schema for the same value, so checking it would never end",
				orRoot(r.at), r.to)
		}
	}
	return nil
}

// visits holds the schemas visited so far; the value is true while the parts of one are visited.
type visits map[*schema]bool

// findCycle finds a schema that refers to itself for the same value, which would never end. A
// schema may refer to itself for a part of the value, because values are finite.
func (v visits) findCycle(s *schema) bool {
	if open, known := v[s]; known {
		return open
	}
	v[s] = true
	v[s] = slices.ContainsFunc(s.parts(), v.findCycle)
	return v[s]
}

// headerKeyword names the HTTP header in which a client repeats an argument, so that proxies can
// route a call without reading its body.
const headerKeyword = "x-mcp-header"

// HeaderParam is an argument that a client repeats in an HTTP header.
type HeaderParam struct {
	Path   []string // the names of the properties that lead to the argument
	Header string   // the part of the header's name after Mcp-Param-
}

// MirroredArguments lists the arguments that clients repeat in headers. It returns nil if there are
// none, as for most tools.
func (c *Contract) MirroredArguments() []HeaderParam {
	if c.compile() != nil {
		return nil
	}
	return c.mirrors
}

// mirrors follows only properties, as clients do.
func (s *schema) mirrors(path []string) []HeaderParam {
	var found []HeaderParam
	if s.header != "" {
		found = append(found, HeaderParam{slices.Clone(path), s.header})
	}
	for _, p := range s.props {
		found = append(found, p.schema.mirrors(append(path, p.name))...)
	}
	return found
}

// below returns the schema at a path of property names.
func (s *schema) below(path []string) *schema {
	for _, name := range path {
		s = s.prop(name)
	}
	return s
}

// countHeaders counts the uses of x-mcp-header in all schemas of a document.
func countHeaders(doc *jsontree.Value) int {
	n := 0
	if _, stated := doc.Get(headerKeyword); stated {
		n++
	}
	MapParts(doc, func(_, _ string, part *jsontree.Value) jsontree.Value {
		n += countHeaders(part)
		return *part
	})
	return n
}

// isToken reports whether text can be part of a header's name (RFC 9110).
func isToken(text string) bool {
	const marks = "!#$%&'*+-.^_`|~"
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune(marks, r)
	})
}

// wording holds a contract's texts for failures of a schema: one text for all of them, or one for
// each keyword.
type wording struct {
	all string
	by  map[string]string
}

// of returns the text for a violated keyword, or "".
func (w *wording) of(rule string) string {
	if text, stated := w.by[rule]; stated {
		return text
	}
	return w.all
}

// codeOf returns the error code for a violated keyword, or "".
func (s *schema) codeOf(rule string) string { return s.code.of(rule) }

// messageOf returns the contract's message for a violated keyword, or "". A message for all
// failures describes a value, so it is not used for a missing one.
func (s *schema) messageOf(rule string) string {
	if rule == "required" {
		return s.message.by[rule]
	}
	return s.message.of(rule)
}

// messageKeywords lists the keywords that a table of messages can name.
func messageKeywords() []string {
	return []string{
		"required", "type", "enum", "const", "minLength", "maxLength", "pattern", "format",
		"minimum", "maximum", "minItems", "maxItems", "uniqueItems",
	}
}

func wordingOf(v *jsontree.Value) (wording, error) {
	if v.Kind == jsontree.String {
		return wording{all: v.Text}, nil
	}
	if v.Kind != jsontree.Object {
		return wording{}, fmt.Errorf("want a string, or a table of strings by keyword, not %s", v.Kind)
	}
	if len(v.Members) == 0 {
		return wording{}, errors.New("the table is empty")
	}
	table := make(map[string]string, len(v.Members))
	for i := range v.Members {
		rule, text := v.Members[i].Key, &v.Members[i].Value
		if !slices.Contains(messageKeywords(), rule) {
			return wording{}, fmt.Errorf("%q is not a keyword that a value can violate%s", rule, suggestOrList(rule, messageKeywords()))
		}
		if err := isText(text); err != nil {
			return wording{}, fmt.Errorf("%s: %w", rule, err)
		}
		table[rule] = text.Text
	}
	return wording{by: table}, nil
}

// PublicInput returns the input schema as clients get it: without the x- keywords that only Remit
// reads. Clients read x-mcp-header, so that one stays.
func (c *Contract) PublicInput() jsontree.Value { return public(&c.Input) }

// PublicOutput returns the output schema as clients get it. It is null for a tool that answers with
// content, because such a tool publishes no schema.
func (c *Contract) PublicOutput() jsontree.Value { return public(&c.Output) }

func public(schema *jsontree.Value) jsontree.Value {
	out := *schema
	out.Members = slices.DeleteFunc(slices.Clone(schema.Members), func(m jsontree.Member) bool {
		return strings.HasPrefix(m.Key, "x-") && m.Key != headerKeyword
	})
	return MapParts(&out, func(_, _ string, part *jsontree.Value) jsontree.Value { return public(part) })
}

// MapParts returns a schema with each direct subschema replaced. It passes to replace the keyword
// that holds the subschema and, for a keyword with named subschemas, the name.
func MapParts(schema *jsontree.Value, replace func(keyword, name string, part *jsontree.Value) jsontree.Value) jsontree.Value {
	out := *schema
	out.Members = slices.Clone(schema.Members)
	for i := range out.Members {
		switch m := &out.Members[i]; m.Key {
		case "items", "additionalProperties", "if", "then", "else":
			if m.Value.Kind == jsontree.Object {
				m.Value = replace(m.Key, "", &m.Value)
			}
		case "properties", "anyOf", "allOf", "$defs":
			m.Value.Members = slices.Clone(m.Value.Members)
			for j := range m.Value.Members {
				part := &m.Value.Members[j]
				part.Value = replace(m.Key, part.Key, &part.Value)
			}
		}
	}
	return out
}
