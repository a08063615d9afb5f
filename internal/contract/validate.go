package contract

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"remit/internal/contract/jsontree"
)

// Problem is one way in which a value breaks a schema, in plain words.
type Problem struct {
	Field   string // dotted path of the value; "" for the whole
	Rule    string // the schema keyword that was broken
	Message string // names the field, the value and what is allowed
	Code    string // from x-code, if the contract gives one
	Value   jsontree.Value
}

// place is where in the arguments a check stands; it is spelt out only when
// something is wrong there.
type place struct {
	above *place
	name  string
}

func (p *place) String() string {
	if p == nil {
		return ""
	}
	return join(p.above.String(), p.name)
}

// checker collects the problems of one value.
type checker struct{ problems []Problem }

func (c *checker) report(s *schema, v *jsontree.Value, at *place, rule, format string, args ...any) {
	field := at.String()
	p := Problem{Field: field, Rule: rule, Code: s.code, Message: s.message, Value: *v}
	if p.Message == "" {
		name := field
		if name == "" {
			name = "the value"
		}
		p.Message = name + " " + fmt.Sprintf(format, args...)
	}
	c.problems = append(c.problems, p)
}

func (c *checker) check(s *schema, v *jsontree.Value, at *place) {
	if !s.hasType(v) {
		c.report(s, v, at, "type", "must be %s, not %s", typeWords(s.types), describe(v))
		return
	}
	if len(s.enum) > 0 && !slices.ContainsFunc(s.enum, func(e jsontree.Value) bool { return e.Equal(v) }) {
		c.report(s, v, at, "enum", "must be %s, not %s%s", choices(s.enum), describe(v), suggestValue(v, s.enum))
		return
	}
	switch v.Kind {
	case jsontree.String:
		c.checkString(s, v, at)
	case jsontree.Number:
		c.checkNumber(s, v, at)
	case jsontree.Array:
		c.checkArray(s, v, at)
	case jsontree.Object:
		c.checkObject(s, v, at)
	}
	c.checkAnyOf(s, v, at)
}

func (c *checker) checkString(s *schema, v *jsontree.Value, at *place) {
	if s.minLength > 0 || s.maxLength >= 0 {
		n := utf8.RuneCountInString(v.Text)
		if n < s.minLength {
			c.report(s, v, at, "minLength", "must have at least %s, not %d", plural(s.minLength, "character"), n)
		}
		if s.maxLength >= 0 && n > s.maxLength {
			c.report(s, v, at, "maxLength", "must have at most %s, not %d", plural(s.maxLength, "character"), n)
		}
	}
	if s.pattern != nil && !s.pattern.MatchString(v.Text) {
		c.report(s, v, at, "pattern", "must match %s; %s does not", s.pattern, describe(v))
	}
	if s.format != "" {
		if example := formatFault(s.format, v.Text); example != "" {
			c.report(s, v, at, "format", "must be a %s like %s, not %s", s.format, example, describe(v))
		}
	}
}

func (c *checker) checkNumber(s *schema, v *jsontree.Value, at *place) {
	if s.minimum == nil && s.maximum == nil {
		return
	}
	n, _ := strconv.ParseFloat(v.Text, 64) // out of range gives an infinity, which compares as it should
	if s.minimum != nil && n < *s.minimum {
		c.report(s, v, at, "minimum", "must be at least %v, not %s", *s.minimum, v.Text)
	}
	if s.maximum != nil && n > *s.maximum {
		c.report(s, v, at, "maximum", "must be at most %v, not %s", *s.maximum, v.Text)
	}
}

func (c *checker) checkArray(s *schema, v *jsontree.Value, at *place) {
	n := len(v.Members)
	if n < s.minItems {
		c.report(s, v, at, "minItems", "must have at least %s, not %d", plural(s.minItems, "element"), n)
	}
	if s.maxItems >= 0 && n > s.maxItems {
		c.report(s, v, at, "maxItems", "must have at most %s, not %d", plural(s.maxItems, "element"), n)
		return
	}
	if s.unique && hasRepeats(v.Members) {
		c.report(s, v, at, "uniqueItems", "must not hold the same element twice")
	}
	if s.items == nil {
		return
	}
	for i := range v.Members {
		c.check(s.items, &v.Members[i].Value, &place{at, "[" + strconv.Itoa(i) + "]"})
	}
}

func hasRepeats(members []jsontree.Member) bool {
	seen := make(map[string]struct{}, len(members))
	for i := range members {
		key := string(members[i].Value.Canonical())
		if _, repeated := seen[key]; repeated {
			return true
		}
		seen[key] = struct{}{}
	}
	return false
}

func (c *checker) checkObject(s *schema, v *jsontree.Value, at *place) {
	for _, name := range s.required {
		if _, ok := v.Get(name); !ok {
			c.report(&schema{}, &jsontree.Value{}, &place{at, name}, "required", "is required")
		}
	}
	for i := range v.Members {
		m := &v.Members[i]
		switch known := s.prop(m.Key); {
		case known != nil:
			c.check(known, &m.Value, &place{at, m.Key})
		case s.closed:
			c.unknown(s, m, at)
		case s.additional != nil:
			c.check(s.additional, &m.Value, &place{at, m.Key})
		}
	}
}

func (c *checker) unknown(s *schema, m *jsontree.Member, at *place) {
	names := make([]string, len(s.props))
	for i := range s.props {
		names[i] = s.props[i].name
	}
	hint := suggest(m.Key, names)
	if hint == "" && len(names) > 0 {
		hint = "; known are " + strings.Join(names, ", ")
	}
	field := join(at.String(), m.Key)
	c.problems = append(c.problems, Problem{
		Field: field, Rule: "additionalProperties", Value: m.Value,
		Message: fmt.Sprintf("%s is not a known argument%s", strconv.Quote(field), hint),
	})
}

func (c *checker) checkAnyOf(s *schema, v *jsontree.Value, at *place) {
	if len(s.anyOf) == 0 {
		return
	}
	var first []Problem
	for _, option := range s.anyOf {
		var try checker
		if try.check(option, v, at); len(try.problems) == 0 {
			return
		}
		// The option of the right type explains best what is wrong.
		if first == nil || option.hasType(v) {
			first = try.problems
		}
	}
	c.problems = append(c.problems, first...)
}

func (s *schema) hasType(v *jsontree.Value) bool {
	return len(s.types) == 0 || slices.ContainsFunc(s.types, func(name string) bool { return isType(name, v) })
}

func isType(name string, v *jsontree.Value) bool {
	switch v.Kind {
	case jsontree.Null:
		return name == "null"
	case jsontree.Bool:
		return name == "boolean"
	case jsontree.String:
		return name == "string"
	case jsontree.Array:
		return name == "array"
	case jsontree.Object:
		return name == "object"
	default:
		return name == "number" || name == "integer" && isInteger(v.Text)
	}
}

// isInteger follows JSON Schema, where 2.0 and 1e3 are integers too.
func isInteger(text string) bool {
	if _, err := strconv.ParseInt(text, 10, 64); err == nil {
		return true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return !strings.ContainsAny(text, ".-eE") // more digits than a float holds
	}
	return f == math.Trunc(f)
}

func typeWords(types []string) string {
	words := make([]string, len(types))
	for i, name := range types {
		switch name {
		case "null":
			words[i] = name
		case "object", "array", "integer":
			words[i] = "an " + name
		default:
			words[i] = "a " + name
		}
	}
	return strings.Join(words, " or ")
}

// describe shows a value in an explanation: short ones whole, long ones cut.
func describe(v *jsontree.Value) string {
	switch v.Kind {
	case jsontree.Array, jsontree.Object:
		return v.Kind.String()
	case jsontree.Null:
		return "null"
	case jsontree.String:
		return "the string " + strconv.Quote(cut(v.Text))
	default:
		return v.Kind.String()[2:] + " " + cut(v.Text)
	}
}

const shown = 60

func cut(text string) string {
	if utf8.RuneCountInString(text) <= shown {
		return text
	}
	return string([]rune(text)[:shown]) + "..."
}

func choices(enum []jsontree.Value) string {
	words := make([]string, len(enum))
	for i := range enum {
		words[i] = enum[i].Text
	}
	if len(words) == 1 {
		return words[0]
	}
	return "one of " + strings.Join(words, ", ")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
