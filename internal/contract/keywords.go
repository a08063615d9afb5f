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

// dialect2020 is the only version of JSON Schema that a contract may name: it is
// the one that is kept.
const dialect2020 = "https://json-schema.org/draft/2020-12/schema"

// Names that need no escape in a reference, compiled on first use.
var (
	plainName  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.-]+$`) })
	anchorName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`) })
)

// reference is a $ref whose end has yet to be found.
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

// definitions stand at the root alone, so that one form of reference names them.
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
		return fmt.Errorf("only the root of a schema can have it")
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
		return fmt.Errorf("%s is there twice", name)
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

// join leads every reference to its end. What a schema refers to has to hold, just
// as if it stood in its allOf.
func (c *compiler) join() error {
	for _, r := range c.refs {
		target := c.named[r.to]
		if target == nil {
			return fmt.Errorf("%s: $ref: nothing is at %q; want #/$defs/NAME or #ANCHOR", orRoot(r.at), r.to)
		}
		r.from.all = append(r.from.all, target)
	}
	seen := visits{}
	for _, r := range c.refs {
		if seen.findCircle(r.from) {
			return fmt.Errorf("%s: $ref: %q leads back here for the same value, so nothing could ever be told of it", orRoot(r.at), r.to)
		}
	}
	return nil
}

// visits are the schemas that were looked at; true while their parts are.
type visits map[*schema]bool

// findCircle finds a schema that judges a value by judging the same value. One that
// comes back to itself further down in a value is fine: values end.
func (v visits) findCircle(s *schema) bool {
	if open, known := v[s]; known {
		return open
	}
	v[s] = true
	v[s] = slices.ContainsFunc(s.parts(), v.findCircle)
	return v[s]
}

// headerKeyword names the HTTP header in which a client repeats an argument, so
// that what stands between can route a call without reading it.
const headerKeyword = "x-mcp-header"

// Mirror is an argument that a client repeats in an HTTP header.
type Mirror struct {
	Path   []string // the names that lead to it, from the arguments on
	Header string   // what follows Mcp-Param- in the header's name
}

// MirroredArguments lists what clients repeat in headers; nil for the usual tool.
func (c *Contract) MirroredArguments() []Mirror {
	if c.compile() != nil {
		return nil
	}
	return c.mirrors
}

// mirrors finds them where a client looks: along properties and nowhere else.
func (s *schema) mirrors(path []string) []Mirror {
	var found []Mirror
	if s.header != "" {
		found = append(found, Mirror{slices.Clone(path), s.header})
	}
	for _, p := range s.props {
		found = append(found, p.schema.mirrors(append(path, p.name))...)
	}
	return found
}

// below is the schema that names lead to.
func (s *schema) below(path []string) *schema {
	for _, name := range path {
		s = s.prop(name)
	}
	return s
}

// countHeaders counts the keyword wherever a schema can stand.
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

// isToken tells whether text can be part of a header's name (RFC 9110).
func isToken(text string) bool {
	const marks = "!#$%&'*+-.^_`|~"
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune(marks, r)
	})
}

// wording is what a contract says of failures at a schema: one text for all of
// them, or one for each keyword that can be broken.
type wording struct {
	all string
	by  map[string]string
}

// of is the text for a broken keyword, or "".
func (w *wording) of(rule string) string {
	if text, stated := w.by[rule]; stated {
		return text
	}
	return w.all
}

// codeOf is the code of a failure here, or "".
func (s *schema) codeOf(rule string) string { return s.code.of(rule) }

// messageOf is the contract's words for a failure here, or "". Words for all
// failures are about a value, so they do not fit one that is missing.
func (s *schema) messageOf(rule string) string {
	if rule == "required" {
		return s.message.by[rule]
	}
	return s.message.of(rule)
}

// wordedRules are the keywords that a table of words can name.
func wordedRules() []string {
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
		if !slices.Contains(wordedRules(), rule) {
			return wording{}, fmt.Errorf("%q is not a keyword that can be broken%s", rule, suggestOrList(rule, wordedRules()))
		}
		if err := isText(text); err != nil {
			return wording{}, fmt.Errorf("%s: %w", rule, err)
		}
		table[rule] = text.Text
	}
	return wording{by: table}, nil
}

// PublicInput is the input schema as clients get it: without the x- keywords
// that only Remit reads. They read x-mcp-header, so that one stays.
func (c *Contract) PublicInput() jsontree.Value { return public(&c.Input) }

// PublicOutput is the output schema as clients get it. It is null for a tool that
// answers with content, which has none to publish.
func (c *Contract) PublicOutput() jsontree.Value { return public(&c.Output) }

func public(schema *jsontree.Value) jsontree.Value {
	out := *schema
	out.Members = slices.DeleteFunc(slices.Clone(schema.Members), func(m jsontree.Member) bool {
		return strings.HasPrefix(m.Key, "x-") && m.Key != headerKeyword
	})
	return MapParts(&out, func(_, _ string, part *jsontree.Value) jsontree.Value { return public(part) })
}

// MapParts gives a schema with each schema directly within it replaced. The
// replacement is told the keyword that holds the part and, for a keyword that names
// its parts, the name.
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
