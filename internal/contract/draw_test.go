package contract

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"remit/internal/contract/jsontree"
)

// The values that TestAgreesWithOracle draws from. The lists are short, so that schemas and values
// often match, and include edge cases of the standard.
var (
	someKeys     = []string{"a", "b", "name", "é", "😀", "", "a.b", "x-y", "$ref"}
	someTexts    = []string{"", "a", "ab", "abc", "é", "😀", "e\u0301", "日本語", "a b", "a/b.md", "\x00", "\ufffd", "null", "1"}
	someNumbers  = []string{"0", "-0", "-0.0", "1", "1.0", "10", "1e1", "1E+1", "1.5", "-1", "-1.5", "3", "0.1", "1e-1", "100e-2", "1e3", "9007199254740992", "9007199254740993", "12345678901234567890", "123456789012345678901234567890", "1e30", "1e400", "1e-400", "-1e400"}
	somePatterns = []string{"^[a-z]+$", "^[a-zA-Z0-9_./-]+$", "b", "^$", "^.{2}$", `^\p{L}+$`, `\d`, "^(a|b)*$", "(?i)^A"}
	someDates    = []string{"2026-01-09", "2024-02-29", "2023-02-29", "2026-1-9", "2026-13-01", "2026-00-10", "0000-01-01", "2026-01-32", "2026-01-09 ", "20260109", "2026-W01", "+2026-01-09", "２０２６-01-09"}
	someTimes    = []string{
		"2026-01-09T10:30:00Z", "2026-01-09t10:30:00z", "2026-01-09T10:30:00.123456789012Z", "2026-01-09T10:30:00.Z", "2026-01-09T10:30:00,5Z",
		"2026-01-09T10:30:00+05:30", "2026-01-09T10:30:00-00:00", "2026-01-09T10:30:00+24:00", "2026-01-09T10:30:00+23:59", "2026-01-09T10:30:00+05:60", "2026-01-09T10:30:00+0530", "2026-01-09T10:30:00+05",
		"2026-01-09T24:00:00Z", "2026-01-09T23:60:00Z", "2026-01-09T23:59:60Z", "2026-01-09T22:59:60-01:00", "2026-01-10T00:29:60+00:30", "2026-01-09T22:59:60Z", "2026-01-09T23:59:61Z",
		"2026-01-09T1:30:00Z", "2026-01-09T1:30:00.0Z", "2026-01-09T01:3:00.00Z", "2026-01-09T01:30:0.00Z", "2026-01-09 10:30:00Z", "2026-01-09T10:30:00", "2026-02-30T10:30:00Z", "2024-02-29T10:30:00Z", "2026-01-09T10:30Z", "yesterday", "2026-01-09",
	}
	someURIs = []string{"https://example.com/a", "http://[::1]:80/", "urn:isbn:1", "mailto:a@b.c", "a:", "/relative", "//host/x", "", "http://a b/", "1a:b", "file:///etc", "http://a/%zz", "http://[::1", "HTTP://EXAMPLE.COM", "a.b+c-d:x?y#z"}
)

// drawer draws a schema. For the same value, a reference may only lead to a later definition, so
// that there is no cycle. For a part of the value, it may lead to any definition.
type drawer struct {
	*rapid.T
	same, further []string
}

// below returns the drawer of schemas for parts of the value.
func (t drawer) below() drawer { return drawer{t.T, t.further, t.further} }

// drawDocument draws a whole schema. Some have definitions, which any part of the document may
// refer to by name and by anchor.
func drawDocument(r *rapid.T, depth int) jsontree.Value {
	n := rapid.IntRange(0, 3).Draw(r, "definitions")
	var refs []string
	var definitions []jsontree.Member
	for i := range n {
		refs = append(refs, fmt.Sprintf("#/$defs/d%d", i), fmt.Sprintf("#a%d", i))
	}
	for i := range n {
		definition := drawSchema(drawer{r, refs[2*i+2:], refs}, depth-1)
		definition.Members = append(definition.Members, jsontree.M("$anchor", jsontree.Str(fmt.Sprintf("a%d", i))))
		definitions = append(definitions, jsontree.M(fmt.Sprintf("d%d", i), definition))
	}
	doc := drawSchema(drawer{r, refs, refs}, depth)
	if n > 0 {
		doc.Members = append(doc.Members, jsontree.M("$defs", jsontree.Obj(definitions...)), jsontree.M("$schema", jsontree.Str(dialect2020)))
	}
	return doc
}

func drawSchema(t drawer, depth int) jsontree.Value {
	var m []jsontree.Member
	add := func(key string, v jsontree.Value) { m = append(m, jsontree.Member{Key: key, Value: v}) }
	kinds := []string{"string", "integer", "number", "boolean", "null", "enum", "const", "several", "any"}
	if depth > 0 {
		kinds = append(kinds, "object", "object", "array", "array", "anyOf", "allOf", "if")
	}
	if len(t.same) > 0 {
		kinds = append(kinds, "$ref", "$ref")
	}
	switch kind := rapid.SampledFrom(kinds).Draw(t.T, "kind"); kind {
	case "string", "integer", "number", "boolean", "null", "object", "array":
		add("type", jsontree.Str(kind))
		drawKeywords(t, kind, depth, add)
	case "enum":
		add("enum", jsontree.Arr(rapid.SliceOfN(rapid.Custom(func(r *rapid.T) jsontree.Value { return drawAny(r, 1) }), 1, 4).Draw(t.T, "enum")...))
	case "const":
		add("const", drawAny(t.T, 1))
	case "several":
		names := rapid.SliceOfNDistinct(rapid.SampledFrom(schemaTypes), 1, 3, rapid.ID).Draw(t.T, "types")
		list := make([]jsontree.Value, len(names))
		for i, name := range names {
			list[i] = jsontree.Str(name)
		}
		add("type", jsontree.Arr(list...))
		drawKeywords(t, names[0], depth, add)
	case "any":
		drawKeywords(t, rapid.SampledFrom([]string{"string", "number", "array"}).Draw(t.T, "of"), 0, add)
	default:
		drawParts(t, kind, depth, add)
	}
	if rapid.IntRange(0, 9).Draw(t.T, "noted") == 0 {
		add("description", jsontree.Str("words"))
		add("x-code", jsontree.Str("code"))
	}
	return jsontree.Obj(m...)
}

// drawParts draws subschemas that apply to the same value.
func drawParts(t drawer, kind string, depth int, add func(string, jsontree.Value)) {
	switch kind {
	case "$ref":
		add("$ref", jsontree.Str(rapid.SampledFrom(t.same).Draw(t.T, "ref")))
		drawKeywords(t, rapid.SampledFrom([]string{"string", "number", "array", "object"}).Draw(t.T, "beside"), depth, add)
	case "anyOf", "allOf":
		parts := make([]jsontree.Value, rapid.IntRange(1, 3).Draw(t.T, "parts"))
		for i := range parts {
			parts[i] = drawSchema(t, depth-1)
		}
		add(kind, jsontree.Arr(parts...))
	case "if":
		add("if", drawSchema(t, depth-1))
		branches := rapid.IntRange(1, 3).Draw(t.T, "branches")
		if branches&1 != 0 {
			add("then", drawSchema(t, depth-1))
		}
		if branches&2 != 0 {
			add("else", drawSchema(t, depth-1))
		}
	}
}

func drawKeywords(t drawer, kind string, depth int, add func(string, jsontree.Value)) {
	maybe := func(label string) bool { return rapid.IntRange(0, 2).Draw(t.T, label) == 0 }
	small := func(label string) jsontree.Value { return jsontree.Int(int64(rapid.IntRange(0, 4).Draw(t.T, label))) }
	pick := func(label string, from []string) string { return rapid.SampledFrom(from).Draw(t.T, label) }
	switch kind {
	case "string":
		if maybe("minLength") {
			add("minLength", small("min"))
		}
		if maybe("maxLength") {
			add("maxLength", small("max"))
		}
		if maybe("pattern") {
			add("pattern", jsontree.Str(pick("p", somePatterns)))
		}
		if maybe("format") {
			add("format", jsontree.Str(pick("f", []string{"date-time", "date", "uri"})))
		}
	case "integer", "number":
		if maybe("minimum") {
			add("minimum", jsontree.Value{Kind: jsontree.Number, Text: pick("min", someNumbers)})
		}
		if maybe("maximum") {
			add("maximum", jsontree.Value{Kind: jsontree.Number, Text: pick("max", someNumbers)})
		}
	case "array":
		if depth > 0 && !maybe("no items") {
			add("items", drawSchema(t.below(), depth-1))
		}
		if maybe("minItems") {
			add("minItems", small("min"))
		}
		if maybe("maxItems") {
			add("maxItems", small("max"))
		}
		if maybe("unique") {
			add("uniqueItems", jsontree.Boolean(rapid.Bool().Draw(t.T, "u")))
		}
	case "object":
		drawObject(t, depth, add)
	}
}

func drawObject(t drawer, depth int, add func(string, jsontree.Value)) {
	if depth == 0 {
		return
	}
	names := rapid.SliceOfNDistinct(rapid.SampledFrom(someKeys), 0, 4, rapid.ID).Draw(t.T, "names")
	var props []jsontree.Member
	var required []jsontree.Value
	for _, name := range names {
		props = append(props, jsontree.Member{Key: name, Value: drawSchema(t.below(), depth-1)})
		if rapid.Bool().Draw(t.T, "required") {
			required = append(required, jsontree.Str(name))
		}
	}
	add("properties", jsontree.Obj(props...))
	add("required", jsontree.Arr(required...))
	switch rapid.IntRange(0, 3).Draw(t.T, "additional") {
	case 0:
		add("additionalProperties", jsontree.Boolean(false))
	case 1:
		add("additionalProperties", jsontree.Boolean(true))
	case 2:
		add("additionalProperties", drawSchema(t.below(), depth-1))
	}
}

// drawAny draws any JSON value at all.
func drawAny(t *rapid.T, depth int) jsontree.Value {
	kinds := []string{"null", "boolean", "number", "string", "string"}
	if depth > 0 {
		kinds = append(kinds, "array", "object")
	}
	return drawOf(values{t, &jsontree.Value{}}, rapid.SampledFrom(kinds).Draw(t, "kind"), &jsontree.Value{}, depth)
}

// values draws values for the schemas of one document.
type values struct {
	*rapid.T
	document *jsontree.Value
}

// definition returns the target of a reference.
func (t values) definition(ref string) *jsontree.Value {
	found := t.document.At("$defs", "d"+ref[len(ref)-1:])
	return &found
}

// drawFor draws a value that matches the schema, or nearly does.
func drawFor(t values, schema *jsontree.Value, depth int) jsontree.Value {
	if rapid.IntRange(0, 11).Draw(t.T, "stray") == 0 {
		return drawAny(t.T, depth)
	}
	if options := schema.Field("enum"); len(options.Members) > 0 {
		return rapid.SampledFrom(options.Members).Draw(t.T, "enum").Value
	}
	if v, ok := schema.Get("const"); ok {
		return v
	}
	if parts := t.parts(schema); len(parts) > 0 {
		return drawFor(t, rapid.SampledFrom(parts).Draw(t.T, "part"), depth)
	}
	kind := schema.Field("type")
	switch kind.Kind {
	case jsontree.Array:
		return drawOf(t, rapid.SampledFrom(kind.Members).Draw(t.T, "type").Value.Text, schema, depth)
	case jsontree.String:
		return drawOf(t, kind.Text, schema, depth)
	default:
		return drawAny(t.T, depth)
	}
}

// parts returns the subschemas that apply to the same value. The depth of values is limited, so
// recursive references end.
func (t values) parts(schema *jsontree.Value) []*jsontree.Value {
	var parts []*jsontree.Value
	for _, keyword := range []string{"anyOf", "allOf"} {
		for _, m := range schema.Field(keyword).Members {
			parts = append(parts, &m.Value)
		}
	}
	for _, keyword := range []string{"if", "then", "else"} {
		if part, ok := schema.Get(keyword); ok {
			parts = append(parts, &part)
		}
	}
	if ref, ok := schema.Get("$ref"); ok {
		parts = append(parts, t.definition(ref.Text))
	}
	return parts
}

func drawOf(t values, kind string, schema *jsontree.Value, depth int) jsontree.Value {
	switch kind {
	case "null":
		return jsontree.Value{}
	case "boolean":
		return jsontree.Boolean(rapid.Bool().Draw(t.T, "b"))
	case "integer", "number":
		texts := someNumbers
		for _, bound := range []string{"minimum", "maximum"} {
			if v, ok := schema.Get(bound); ok {
				texts = append(texts[:len(texts):len(texts)], v.Text, v.Text, v.Text+"0", "1"+strings.TrimPrefix(v.Text, "-"))
			}
		}
		return parse(t, rapid.SampledFrom(texts).Filter(isNumber).Draw(t.T, "n"))
	case "string":
		return jsontree.Str(drawText(t, schema))
	case "array":
		return drawArray(t, schema, depth)
	default:
		return drawMembers(t, schema, depth)
	}
}

func isNumber(text string) bool {
	v, err := jsontree.Parse([]byte(text))
	return err == nil && v.Kind == jsontree.Number && !hasHugePower(&v)
}

func drawText(t values, schema *jsontree.Value) string {
	switch format := schema.Field("format"); format.Text {
	case "date":
		return rapid.SampledFrom(someDates).Draw(t.T, "date")
	case "date-time":
		return rapid.SampledFrom(someTimes).Draw(t.T, "time")
	case "uri":
		return rapid.SampledFrom(someURIs).Draw(t.T, "uri")
	}
	if _, bounded := schema.Get("maxLength"); bounded {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "é", "😀", "b"}), 0, 5).Draw(t.T, "runes"), "")
	}
	return rapid.SampledFrom(someTexts).Draw(t.T, "text")
}

func drawArray(t values, schema *jsontree.Value, depth int) jsontree.Value {
	if depth == 0 {
		return jsontree.Arr()
	}
	items, n := schema.Field("items"), rapid.IntRange(0, 5).Draw(t.T, "n")
	list := make([]jsontree.Value, 0, n)
	for range n {
		if len(list) > 0 && rapid.IntRange(0, 4).Draw(t.T, "again") == 0 {
			list = append(list, list[0])
			continue
		}
		list = append(list, drawFor(t, &items, depth-1))
	}
	return jsontree.Arr(list...)
}

func drawMembers(t values, schema *jsontree.Value, depth int) jsontree.Value {
	out := jsontree.Obj()
	if depth == 0 {
		return out
	}
	for _, p := range schema.Field("properties").Members {
		if rapid.IntRange(0, 4).Draw(t.T, "present") > 0 {
			out.Members = append(out.Members, jsontree.Member{Key: p.Key, Value: drawFor(t, &p.Value, depth-1)})
		}
	}
	if rapid.IntRange(0, 3).Draw(t.T, "extra") == 0 {
		key := rapid.SampledFrom(someKeys).Draw(t.T, "key")
		more := schema.Field("additionalProperties")
		if _, there := out.Get(key); !there {
			out.Members = append(out.Members, jsontree.Member{Key: key, Value: drawFor(t, &more, depth-1)})
		}
	}
	return out
}
