package console

import (
	"net/url"
	"slices"
	"strings"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

// form asks for the arguments of a tool: field by field, or all of them as JSON where
// fields could not say the same.
type form struct {
	Fields []field
	AsJSON bool   // one text for all arguments
	JSON   string // that text
	Error  string // what is wrong with it
}

// field asks for one argument. An empty one is not given.
type field struct {
	Name     string
	ID       string // of its element
	Kind     fieldKind
	Type     string // as the contract has it
	About    string
	Required bool
	Must     bool // the browser may insist on it
	Options  []string
	Value    string
	Error    string
	Default  string // what is taken if it is not given, as JSON
	Bounds
}

// Bounds are what a browser can check by itself. The server checks all of it by the
// contract, whatever the browser did.
type Bounds struct{ Min, Max, MinLength, MaxLength string }

// fieldKind is how a field is shown, and how its text is read.
type fieldKind string

// The kinds of fields.
const (
	asLine   fieldKind = "line"   // a short text
	asText   fieldKind = "text"   // a long one
	asNumber fieldKind = "number" // a number
	asChoice fieldKind = "choice" // one of some texts, true and false among them
	asList   fieldKind = "list"   // scalars, one a line
	asJSON   fieldKind = "json"   // anything else
)

// The names of what a form sends.
const (
	argPrefix = "arg."
	wholeName = "json"
)

// newForm makes the empty form of a contract.
func newForm(c *contract.Contract) form {
	var f form
	properties, required := c.Input.Field("properties"), c.Input.Field("required")
	for _, p := range properties.Members {
		made := fieldOf(c, p.Key, &p.Value)
		made.Required = slices.ContainsFunc(required.Members, func(m jsontree.Member) bool { return m.Value.Text == p.Key })
		made.Must = made.Required
		f.Fields = append(f.Fields, made)
	}
	return f
}

func fieldOf(c *contract.Contract, name string, schema *jsontree.Value) field {
	kind, about, fallback := schema.Field("type"), schema.Field("description"), schema.Field("default")
	f := field{
		Name: name, ID: "arg-" + name, Kind: asJSON, Type: typeOf(schema), About: about.Text,
		Bounds: Bounds{textOf(schema, "minimum"), textOf(schema, "maximum"), textOf(schema, "minLength"), textOf(schema, "maxLength")},
	}
	if fallback.Kind != jsontree.Null {
		f.Default = string(fallback.Append(nil))
	}
	if kind.Kind != jsontree.String { // several types, or parts that say more
		return f
	}
	switch kind.Text {
	case "boolean":
		f.Kind, f.Options = asChoice, []string{"true", "false"}
	case "string":
		f.Kind = asLine
		if isLong(c, name, schema) {
			f.Kind = asText
		}
		for _, choice := range schema.Field("enum").Members {
			f.Kind, f.Options = asChoice, append(f.Options, choice.Value.Text)
		}
	case "integer", "number":
		f.Kind = asNumber
	case "array":
		if items := schema.Field("items"); isScalar(&items) {
			f.Kind = asList
		}
	}
	return f
}

// isLong tells a text that takes more than a line: one whose bytes the contract bounds,
// or that may be long and may be empty, which a name may not.
func isLong(c *contract.Contract, name string, schema *jsontree.Value) bool {
	_, sized := c.Size.Args[name]
	return sized || len(textOf(schema, "maxLength")) > 3 && textOf(schema, "minLength") == ""
}

func isScalar(items *jsontree.Value) bool {
	return slices.Contains([]string{"string", "integer", "number", "boolean"}, textOf(items, "type"))
}

func textOf(schema *jsontree.Value, key string) string {
	v := schema.Field(key)
	return v.Text
}

// fill puts arguments into the form. If its fields would not give the very same back,
// they are shown as JSON.
func (f *form) fill(args *jsontree.Value) {
	empty := slices.Clone(f.Fields)
	for i := range f.Fields {
		if v, ok := args.Get(f.Fields[i].Name); ok {
			f.Fields[i].show(&v)
		}
	}
	if back, ok := (&form{Fields: slices.Clone(f.Fields)}).read(f.values()); ok && back.Equal(args) {
		return
	}
	f.Fields, f.AsJSON, f.JSON = empty, true, shownJSON(args)
}

// values are what a browser would send of the form: to it, every line break is the same.
func (f *form) values() url.Values {
	breaks := strings.NewReplacer("\r\n", "\r\n", "\r", "\r\n", "\n", "\r\n")
	values := url.Values{}
	for i := range f.Fields {
		values.Set(argPrefix+f.Fields[i].Name, breaks.Replace(f.Fields[i].Value))
	}
	return values
}

// show puts a value into the field as well as it can.
func (f *field) show(v *jsontree.Value) {
	switch {
	case f.Kind == asList && v.Kind == jsontree.Array:
		lines := make([]string, len(v.Members))
		for i := range v.Members {
			lines[i] = v.Members[i].Value.Text
		}
		f.Value = strings.Join(lines, "\n")
	case f.Kind == asJSON:
		f.Value = shownJSON(v)
	default:
		f.Value = v.Text
		if f.Kind == asLine && strings.Contains(v.Text, "\n") {
			f.Kind = asText
		}
	}
}

// read makes arguments of what was sent, and keeps it in the form. It is not ok if some
// of it cannot be read; then the form says what.
func (f *form) read(sent url.Values) (args jsontree.Value, ok bool) {
	if sent.Has(wholeName) {
		f.AsJSON, f.JSON = true, newlines(sent.Get(wholeName))
		return f.readWhole()
	}
	args, ok = jsontree.Obj(), true
	for i := range f.Fields {
		at := &f.Fields[i]
		at.Value = newlines(sent.Get(argPrefix + at.Name))
		if at.Kind == asLine && strings.Contains(at.Value, "\n") {
			at.Kind = asText
		}
		if at.Value == "" {
			continue
		}
		v, err := at.read()
		if err != nil {
			at.Error, ok = "This is not valid JSON: "+err.Error(), false
			continue
		}
		args.Members = append(args.Members, jsontree.M(at.Name, v))
	}
	return args, ok
}

func (f *form) readWhole() (args jsontree.Value, ok bool) {
	if strings.TrimSpace(f.JSON) == "" {
		return jsontree.Obj(), true
	}
	args, err := jsontree.Parse([]byte(f.JSON))
	if err != nil {
		f.Error = "This is not valid JSON: " + err.Error()
	}
	return args, err == nil
}

// newlines undoes what browsers do to line breaks.
func newlines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// read makes a value of the text. What is no number stays text: the contract says what
// is wrong with it.
func (f *field) read() (jsontree.Value, error) {
	switch {
	case f.Kind == asJSON:
		return jsontree.Parse([]byte(f.Value))
	case f.Kind == asList:
		return f.readList(), nil
	case f.Type == "boolean" || f.Kind == asNumber:
		return scalar(f.Value), nil
	default:
		return jsontree.Str(f.Value), nil
	}
}

func (f *field) readList() jsontree.Value {
	list := jsontree.Arr()
	for line := range strings.SplitSeq(f.Value, "\n") {
		v := jsontree.Str(line)
		if f.Type != "list of string" {
			v = scalar(line)
		}
		if line != "" {
			list.Members = append(list.Members, jsontree.M("", v))
		}
	}
	return list
}

// scalar reads a number, or true or false; anything else is text.
func scalar(text string) jsontree.Value {
	if v, err := jsontree.Parse([]byte(text)); err == nil && (v.Kind == jsontree.Number || v.Kind == jsontree.Bool) {
		return v
	}
	return jsontree.Str(text)
}

// blame puts an error next to the field that it names, and tells whether there is one.
func (f *form) blame(e *contract.Error) bool {
	named, _ := e.Details["field"].(string)
	name, _, _ := strings.Cut(named, ".")
	name, _, _ = strings.Cut(name, "[")
	for i := range f.Fields {
		if f.Fields[i].Name == name && !f.AsJSON {
			f.Fields[i].Error = e.Message
			return true
		}
	}
	return false
}
