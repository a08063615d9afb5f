package export

import (
	"cmp"
	"slices"
	"strings"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

// narrow returns the input schema in the dialect, and the parts of its structure that the dialect
// does not support.
func (d dialect) narrow(input *jsontree.Value) (schema jsontree.Value, losses []string) {
	n := narrower{dialect: d}
	schema = n.schema(input, "")
	return schema, n.losses
}

type narrower struct {
	dialect
	losses []string
}

// lose records a part of the schema that the dialect does not support.
func (n *narrower) lose(at, what string) {
	n.losses = append(n.losses, cmp.Or(at, "the whole")+" "+what)
}

// schema narrows the schema at a place. Keywords that the dialect lacks go into the description,
// followed by the words in more.
func (n *narrower) schema(s *jsontree.Value, at string, more ...string) jsontree.Value {
	_, isRef := s.Get("$ref")
	kept := jsontree.Obj()
	var said []string
	for _, m := range s.Members {
		switch {
		case isRef && n.loneRef && !strings.HasPrefix(m.Key, "$"):
		case strings.HasPrefix(m.Key, "x-"), m.Key == "$schema" && n.keywords != nil:
		case at == "" && slices.Contains(n.notAtTop, m.Key):
			n.lose(at, "has "+m.Key)
		case takes(n.keywords, m.Key) && (m.Key != "format" || takes(n.formats, m.Value.Text)):
			kept.Members = append(kept.Members, m)
		default:
			said = append(said, n.inWords(m, at)...)
		}
	}
	n.checkStructure(&kept, at)
	narrowed := contract.MapParts(&kept, func(keyword, name string, part *jsontree.Value) jsontree.Value {
		return n.part(&kept, at, keyword, name, part)
	})
	if n.complete {
		narrowed = allRequired(narrowed)
	}
	return described(narrowed, append(said, more...))
}

// inWords returns the words for a keyword that the dialect lacks, or records the loss.
func (n *narrower) inWords(m jsontree.Member, at string) []string {
	if m.Key == "default" && n.complete {
		return nil // null stands for the default; see part
	}
	said := DescribeKeyword(m.Key, &m.Value)
	if said == "" {
		n.lose(at, "has "+m.Key)
		return nil
	}
	return []string{said}
}

// checkStructure records what no strict format supports.
func (n *narrower) checkStructure(s *jsontree.Value, at string) {
	if !n.closed {
		return
	}
	_, either := s.Get("anyOf")
	_, elsewhere := s.Get("$ref")
	kind := s.Field("type")
	if kind.Kind == jsontree.Null && !either && !elsewhere {
		n.lose(at, "has no type")
	}
	if more := s.Field("additionalProperties"); isOf(&kind, "object") && (more.Kind != jsontree.Bool || more.True()) {
		n.lose(at, "allows additional properties")
	}
	if _, stated := s.Get("items"); isOf(&kind, "array") && !stated {
		n.lose(at, "allows any elements (it has no items)")
	}
}

// isOf reports whether the keyword type names a type, alone or in a list.
func isOf(kind *jsontree.Value, name string) bool {
	return kind.Text == name || kind.Has(name)
}

// part narrows a subschema. In a complete dialect an optional argument may be null, and the
// description says what null means.
func (n *narrower) part(around *jsontree.Value, at, keyword, name string, part *jsontree.Value) jsontree.Value {
	below := place(at, keyword, name)
	required := around.Field("required")
	if !n.complete || keyword != "properties" || required.Has(name) {
		return n.schema(part, below)
	}
	loosened := nullable(*part)
	switch {
	case loosened.Equal(part): // null is already a valid value here
		return n.schema(part, below)
	case at != "":
		n.lose(below, "is optional, and inside an argument null cannot mean that it is not provided")
		return n.schema(part, below)
	}
	meaning := "null means not provided"
	if fallback, ok := part.Get("default"); ok {
		meaning = "null means " + string(fallback.Append(nil))
	}
	return nullable(n.schema(part, below, meaning))
}

// place returns the path of a subschema for messages.
func place(at, keyword, name string) string {
	switch keyword {
	case "properties":
		return strings.TrimPrefix(at+"."+name, ".")
	case "items":
		return at + "[]"
	case "$defs":
		return name
	default:
		return at
	}
}

// allRequired makes every property of an object required.
func allRequired(s jsontree.Value) jsontree.Value {
	properties, has := s.Get("properties")
	if !has {
		return s
	}
	return with(s, "required", jsontree.List(properties.Members, func(m jsontree.Member) jsontree.Value { return jsontree.Str(m.Key) }))
}

// nullable makes a schema accept null too.
func nullable(s jsontree.Value) jsontree.Value {
	null := jsontree.Obj(jsontree.M("type", jsontree.Str("null")))
	_, isRef := s.Get("$ref")
	if _, isConst := s.Get("const"); isRef || isConst {
		about, described := s.Get("description")
		either := jsontree.Obj(jsontree.M("anyOf", jsontree.Arr(without(s, "description"), null)))
		if described {
			either = with(either, "description", about)
		}
		return either
	}
	if kind, ok := s.Get("type"); ok && !isOf(&kind, "null") {
		if kind.Kind == jsontree.String {
			kind = jsontree.Arr(kind)
		}
		s = with(s, "type", including(kind, jsontree.Str("null")))
	}
	if values, ok := s.Get("enum"); ok {
		s = with(s, "enum", including(values, jsontree.Value{}))
	}
	if options, ok := s.Get("anyOf"); ok {
		s = with(s, "anyOf", including(options, null))
	}
	return s
}

// including returns a list with element added, unless it is there already.
func including(list, element jsontree.Value) jsontree.Value {
	if slices.ContainsFunc(list.Members, func(m jsontree.Member) bool { return m.Value.Equal(&element) }) {
		return list
	}
	return jsontree.Value{Kind: jsontree.Array, Members: append(slices.Clip(list.Members), jsontree.Member{Value: element})}
}

// with returns an object with a member set; an existing member keeps its position.
func with(object jsontree.Value, key string, v jsontree.Value) jsontree.Value {
	members := slices.Clone(object.Members)
	if i := slices.IndexFunc(members, func(m jsontree.Member) bool { return m.Key == key }); i >= 0 {
		members[i].Value = v
		return jsontree.Obj(members...)
	}
	return jsontree.Obj(append(members, jsontree.M(key, v))...)
}

func without(object jsontree.Value, key string) jsontree.Value {
	return jsontree.Obj(slices.DeleteFunc(slices.Clone(object.Members), func(m jsontree.Member) bool { return m.Key == key })...)
}

// dialect is the part of JSON Schema that a format supports.
type dialect struct {
	keywords []string // nil means all keywords
	formats  []string // the supported values of format; nil means all
	notAtTop []string // keywords that are not allowed in the root schema
	loneRef  bool     // beside $ref only keywords that begin with $ are allowed
	// An object allows only the properties that it names, and every value has a type.
	closed   bool
	complete bool // every property is required; an optional argument may be null
}

// dialect returns the dialect for tools that are not strict.
func (f Format) dialect() dialect {
	if f == Gemini {
		return dialect{loneRef: true, keywords: []string{
			"type", "properties", "required", "additionalProperties", "items", "minItems", "maxItems", "enum", "format",
			"minimum", "maximum", "anyOf", "$defs", "$ref", "$anchor", "title", "description",
		}}
	}
	return dialect{notAtTop: []string{"anyOf", "allOf"}}
}

// strictDialect returns the dialect for strict tools.
func (f Format) strictDialect() dialect {
	d := dialect{notAtTop: []string{"anyOf"}, closed: true}
	d.keywords = []string{
		"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "format",
		"$defs", "$ref", "title", "description",
	}
	d.formats = []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
	if f == Anthropic {
		d.formats = append(d.formats, "uri")
		return d
	}
	d.keywords = append(d.keywords, "pattern", "minimum", "maximum", "minItems", "maxItems")
	d.complete = true
	return d
}

// takes reports whether a dialect supports a word; nil supports all.
func takes(words []string, word string) bool { return words == nil || slices.Contains(words, word) }
