package console

import (
	"slices"
	"strings"

	"remit/internal/contract/export"
	"remit/internal/contract/jsontree"
)

// schemaRow is one field of a schema in the table.
type schemaRow struct {
	Name     string
	Depth    int // nesting depth; a CSS class indents it
	Type     string
	Required bool
	About    string
	Rules    []string // bounds, choices and other rules, as text
	Codes    []string // error codes for this field
}

// maxSchemaDepth bounds how deep schemas are followed. None of ours is deeper, but a reference may
// be recursive.
const maxSchemaDepth = 6

// schemaRows returns the fields of a schema as rows.
func schemaRows(s *jsontree.Value) []schemaRow {
	t := &schemaTable{root: s}
	t.object(s, 0)
	return t.rows
}

type schemaTable struct {
	root *jsontree.Value
	rows []schemaRow
}

// object adds the properties of a schema and of all schemas in its allOf.
func (t *schemaTable) object(s *jsontree.Value, depth int) {
	if depth > maxSchemaDepth {
		return
	}
	required := s.Field("required")
	for _, p := range s.Field("properties").Members {
		t.field(p.Key, &p.Value, depth,
			slices.ContainsFunc(required.Members, func(m jsontree.Member) bool { return m.Value.Text == p.Key }))
	}
	if other := s.Field("additionalProperties"); other.Kind == jsontree.Object {
		t.field("any other", &other, depth, false)
	}
	for _, part := range s.Field("allOf").Members {
		t.object(t.resolved(&part.Value), depth)
	}
}

func (t *schemaTable) field(name string, s *jsontree.Value, depth int, required bool) {
	about := s.Field("description")
	s = t.resolved(s)
	if own := s.Field("description"); about.Text == "" {
		about = own
	}
	t.rows = append(t.rows, schemaRow{
		Name: name, Depth: depth, Type: typeOf(s), Required: required, About: about.Text, Rules: rulesOf(s), Codes: codesOf(s),
	})
	t.object(s, depth+1)
	if items := s.Field("items"); items.Kind == jsontree.Object {
		items := t.resolved(&items)
		if isScalar(items) && len(rulesOf(items)) > 0 {
			t.field("each", items, depth+1, false)
		} else {
			t.object(items, depth+1)
		}
	}
	for _, option := range s.Field("anyOf").Members {
		t.object(t.resolved(&option.Value), depth+1)
	}
}

// resolved follows a reference within the document.
func (t *schemaTable) resolved(s *jsontree.Value) *jsontree.Value {
	for range maxSchemaDepth {
		name, ok := strings.CutPrefix(textOf(s, "$ref"), "#/$defs/")
		if !ok {
			return s
		}
		found := t.root.At("$defs", name)
		s = &found
	}
	return s
}

// typeOf returns the type of a field as text.
func typeOf(s *jsontree.Value) string {
	kind := s.Field("type")
	switch {
	case kind.Text == "array":
		items := s.Field("items")
		if items.Kind != jsontree.Object {
			return "list"
		}
		return "list of " + typeOf(&items)
	case kind.Text != "":
		return kind.Text
	case kind.Kind == jsontree.Array:
		return joinValues(&kind, " or ")
	}
	if name := textOf(s, "$ref"); name != "" {
		return name[strings.LastIndexByte(name, '/')+1:]
	}
	var kinds []string
	for _, option := range s.Field("anyOf").Members {
		kinds = append(kinds, typeOf(&option.Value))
	}
	if len(kinds) == 0 {
		return "anything"
	}
	return strings.Join(slices.Compact(kinds), " or ")
}

// joinValues joins the elements of a list: strings as they are, everything else as JSON.
func joinValues(list *jsontree.Value, between string) string {
	words := make([]string, len(list.Members))
	for i, m := range list.Members {
		words[i] = m.Value.Text
		if m.Value.Kind != jsontree.String {
			words[i] = string(m.Value.Append(nil))
		}
	}
	return strings.Join(words, between)
}

// rulesOf describes the constraints of a schema.
func rulesOf(s *jsontree.Value) []string {
	var rules []string
	for _, m := range s.Members {
		value := m.Value.Text
		switch m.Key {
		case "enum":
			rules = append(rules, "one of "+joinValues(&m.Value, ", "))
		case "default":
			rules = append(rules, "default "+string(m.Value.Append(nil)))
		case "format":
			rules = append(rules, "a "+value)
		case "x-trim":
			rules = append(rules, "surrounding white space is ignored")
		case "x-accepts":
			rules = append(rules, "also accepted as "+value)
		case "x-redact":
			rules = append(rules, "not recorded")
		case "examples", "deprecated":
		default:
			if rule := export.DescribeKeyword(m.Key, &m.Value); rule != "" {
				rules = append(rules, rule)
			}
		}
	}
	return rules
}

// codesOf returns the error codes that a field may cause.
func codesOf(s *jsontree.Value) []string {
	code := s.Field("x-code")
	if code.Text != "" {
		return []string{code.Text}
	}
	var codes []string
	for _, m := range code.Members {
		if !slices.Contains(codes, m.Value.Text) {
			codes = append(codes, m.Value.Text)
		}
	}
	return codes
}
