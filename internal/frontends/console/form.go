package console

import (
	"net/url"
	"slices"
	"strings"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

// form is the form for the arguments of a tool: one field per argument, or one JSON text for all if
// fields cannot express the arguments.
type form struct {
	Fields []field
	AsJSON bool   // one JSON text for all arguments
	JSON   string // that text
	Error  string // what is wrong with it
}

// field is the input for one argument. If it is empty, the argument is not sent.
type field struct {
	Name              string
	ID                string // of the HTML element
	Kind              fieldKind
	Type              string // as in the contract
	About             string
	Required          bool
	RequiredInBrowser bool // the browser requires a value
	Options           []string
	Value             string
	Error             string
	Default           string // the default value, as JSON
	Bounds
}

// Bounds are the limits that a browser can check. The server checks the whole contract in any case.
type Bounds struct{ Min, Max, MinLength, MaxLength string }

// fieldKind determines how a field is shown and how its text is parsed.
type fieldKind string

// The kinds of fields.
const (
	asLine   fieldKind = "line"   // a short text
	asText   fieldKind = "text"   // a long text
	asNumber fieldKind = "number" // a number
	asChoice fieldKind = "choice" // one of several strings, or true and false
	asList   fieldKind = "list"   // scalars, one per line
	asJSON   fieldKind = "json"   // any other value, as JSON
)

// The names of the parameters that a form sends.
const (
	argPrefix = "arg."
	jsonParam = "json"
)

// newForm returns the empty form of a contract.
func newForm(c *contract.Contract) form {
	var f form
	properties, required := c.Input.Field("properties"), c.Input.Field("required")
	for _, p := range properties.Members {
		made := fieldOf(c, p.Key, &p.Value)
		made.Required = slices.ContainsFunc(required.Members, func(m jsontree.Member) bool { return m.Value.Text == p.Key })
		made.RequiredInBrowser = made.Required
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
	if kind.Kind != jsontree.String { // several types, or a composed schema
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

// isLong reports whether a string takes more than one line: if the contract limits its size in
// bytes, or if it may be both long and empty, which a name may not be.
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

// fill puts arguments into the form. If the fields would not return exactly the same arguments, the
// form shows JSON instead.
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

// values returns what a browser would send for the form. Browsers send every line break as CRLF.
func (f *form) values() url.Values {
	breaks := strings.NewReplacer("\r\n", "\r\n", "\r", "\r\n", "\n", "\r\n")
	values := url.Values{}
	for i := range f.Fields {
		values.Set(argPrefix+f.Fields[i].Name, breaks.Replace(f.Fields[i].Value))
	}
	return values
}

// show puts a value into the field. It changes the kind of the field if the value has several
// lines.
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

// read parses what a browser sent into arguments, and keeps the text in the form. If some of it
// cannot be parsed, it returns false and the form contains the errors.
func (f *form) read(sent url.Values) (args jsontree.Value, ok bool) {
	if sent.Has(jsonParam) {
		f.AsJSON, f.JSON = true, newlines(sent.Get(jsonParam))
		return f.readJSON()
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

func (f *form) readJSON() (args jsontree.Value, ok bool) {
	if strings.TrimSpace(f.JSON) == "" {
		return jsontree.Obj(), true
	}
	args, err := jsontree.Parse([]byte(f.JSON))
	if err != nil {
		f.Error = "This is not valid JSON: " + err.Error()
	}
	return args, err == nil
}

// newlines converts the CRLF line breaks that browsers send to LF.
func newlines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// read parses the text into a value. Text that is not a number stays a string: the contract check
// then reports the error.
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

// scalar parses a number or boolean; anything else becomes a string.
func scalar(text string) jsontree.Value {
	if v, err := jsontree.Parse([]byte(text)); err == nil && (v.Kind == jsontree.Number || v.Kind == jsontree.Bool) {
		return v
	}
	return jsontree.Str(text)
}

// showError puts an error next to the field that it names. It returns false if there is no such
// field.
func (f *form) showError(e *contract.Error) bool {
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
