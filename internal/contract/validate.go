package contract

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"remit/internal/contract/jsontree"
)

// Problem is one way in which a value violates a schema.
type Problem struct {
	Field   string // dotted path of the value; "" for the whole value
	Rule    string // the schema keyword that was violated
	Message string // names the field, the value and what is allowed
	Code    string // from x-code, if the contract gives one
	Value   jsontree.Value

	worded bool // Message comes from x-message
}

// place is the position of a check in the arguments. Its text is built only for a problem.
type place struct {
	above   *place
	name    string // of a member
	element bool   // the value is an element of an array, so index applies and not name
	index   int
}

func (p *place) String() string {
	if p == nil {
		return ""
	}
	if p.element {
		return join(p.above.String(), "["+strconv.Itoa(p.index)+"]")
	}
	return join(p.above.String(), cut(p.name))
}

// checker collects the first few problems of one value.
type checker struct {
	problems []Problem
	more     bool // there were further problems
}

const maxProblems = 10

// isFull reports whether the checker has the maximum number of problems, and notes that there are
// more.
func (c *checker) isFull() bool {
	c.more = c.more || len(c.problems) == maxProblems
	return c.more
}

// words returns the messages of all problems, each once.
func (c *checker) words() []string {
	var words []string
	for _, p := range c.problems {
		if !slices.Contains(words, p.Message) {
			words = append(words, p.Message)
		}
	}
	if c.more {
		words = append(words, "and more")
	}
	return words
}

func (c *checker) report(s *schema, v *jsontree.Value, at *place, rule, format string, args ...any) {
	if c.isFull() {
		return
	}
	field := at.String()
	p := Problem{Field: field, Rule: rule, Code: s.codeOf(rule), Message: s.messageOf(rule), Value: *v}
	if p.worded = p.Message != ""; !p.worded {
		p.Message = cmp.Or(field, "the value") + " " + fmt.Sprintf(format, args...)
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
	if s.constant != nil && !s.constant.Equal(v) {
		c.report(s, v, at, "const", "must be %s, not %s", choices([]jsontree.Value{*s.constant}), describe(v))
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
	for _, part := range s.all {
		c.checkPart(s, part, v, at)
	}
	if branch := s.branch(v); branch != nil {
		c.checkPart(s, branch, v, at)
	}
	c.checkAnyOf(s, v, at)
}

// checkPart checks a subschema that applies to the same value.
func (c *checker) checkPart(s, part *schema, v *jsontree.Value, at *place) {
	var try checker
	if try.check(part, v, at); len(try.problems) > 0 {
		c.adopt(s, at.String(), &try)
	}
}

func (c *checker) checkString(s *schema, v *jsontree.Value, at *place) {
	if s.minLength > 0 || s.maxLength >= 0 {
		n := utf8.RuneCountInString(v.Text)
		if n < s.minLength {
			c.tooFew(s, v, at, "minLength", s.minLength, "character", n)
		}
		if s.maxLength >= 0 && n > s.maxLength {
			c.report(s, v, at, "maxLength", "must have at most %s, not %d", plural(s.maxLength, "character"), n)
		}
	}
	if s.pattern != nil && !s.pattern.MatchString(v.Text) {
		c.report(s, v, at, "pattern", "must match %s, and %s does not", s.pattern, describe(v))
	}
	if s.format != "" {
		if example := formatFault(s.format, v.Text); example != "" {
			c.report(s, v, at, "format", "must be a %s like %s, not %s", s.format, example, describe(v))
		}
	}
}

func (c *checker) tooFew(s *schema, v *jsontree.Value, at *place, rule string, least int, noun string, n int) {
	if least == 1 {
		c.report(s, v, at, rule, "must not be empty")
		return
	}
	c.report(s, v, at, rule, "must have at least %s, not %d", plural(least, noun), n)
}

func (c *checker) checkNumber(s *schema, v *jsontree.Value, at *place) {
	if s.minimum != "" && jsontree.CompareNumbers(v.Text, s.minimum) < 0 {
		c.report(s, v, at, "minimum", "must be at least %s, not %s", s.minimum, cut(v.Text))
	}
	if s.maximum != "" && jsontree.CompareNumbers(v.Text, s.maximum) > 0 {
		c.report(s, v, at, "maximum", "must be at most %s, not %s", s.maximum, cut(v.Text))
	}
}

func (c *checker) checkArray(s *schema, v *jsontree.Value, at *place) {
	n := len(v.Members)
	if n < s.minItems {
		c.tooFew(s, v, at, "minItems", s.minItems, "element", n)
	}
	if s.maxItems >= 0 && n > s.maxItems {
		c.report(s, v, at, "maxItems", "must have at most %s, not %d", plural(s.maxItems, "element"), n)
		return
	}
	if s.unique && hasRepeats(v.Members) {
		c.report(s, v, at, "uniqueItems", "must not contain the same element twice")
	}
	if s.items == nil {
		return
	}
	here := &place{above: at, element: true} // one for all elements, because long lists are common
	for here.index = range v.Members {
		c.check(s.items, &v.Members[here.index].Value, here)
	}
}

func hasRepeats(members []jsontree.Member) bool {
	seen := make(map[string]struct{}, len(members))
	for i := range members {
		key := members[i].Value.Key()
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
			c.report(cmp.Or(s.prop(name), &schema{}), &jsontree.Value{}, &place{above: at, name: name}, "required", "is required")
		}
	}
	here := &place{above: at}
	for i := range v.Members {
		m := &v.Members[i]
		here.name = m.Key
		switch known := s.prop(m.Key); {
		case known != nil:
			c.check(known, &m.Value, here)
		case s.closed:
			c.unknown(s, m, at)
		case s.additional != nil:
			c.check(s.additional, &m.Value, here)
		}
	}
}

func (c *checker) unknown(s *schema, m *jsontree.Member, at *place) {
	if c.isFull() {
		return
	}
	names := make([]string, len(s.props))
	for i := range s.props {
		names[i] = s.props[i].name
	}
	field := (&place{above: at, name: m.Key}).String()
	c.problems = append(c.problems, Problem{
		Field: field, Rule: "additionalProperties", Value: m.Value,
		Message: fmt.Sprintf("%s is not a known argument%s", strconv.Quote(field), suggestOrList(m.Key, names)),
	})
}

func (c *checker) checkAnyOf(s *schema, v *jsontree.Value, at *place) {
	if len(s.anyOf) == 0 {
		return
	}
	var best, try checker
	var types []string
	for _, option := range s.anyOf {
		try = checker{}
		if try.check(option, v, at); len(try.problems) == 0 {
			return
		}
		// Report the problems of the option that has the right type and the fewest problems.
		if option.hasType(v) && (best.problems == nil || len(try.problems) < len(best.problems)) {
			best = try
		}
		types = append(types, option.types...)
	}
	if best.problems == nil {
		c.report(s, v, at, "type", "must be %s, not %s", typeWords(types), describe(v))
		return
	}
	c.adopt(s, at.String(), &best)
}

// adopt takes over the problems of a subschema. The messages and codes of the outer schema apply to
// them, too.
func (c *checker) adopt(s *schema, here string, part *checker) {
	for _, p := range part.problems {
		if c.isFull() {
			return
		}
		if p.Field == here {
			p.Code = cmp.Or(p.Code, s.codeOf(p.Rule))
			p.Message = cmp.Or(s.messageOf(p.Rule), p.Message)
		}
		c.problems = append(c.problems, p)
	}
	c.more = c.more || part.more
}

func (s *schema) hasType(v *jsontree.Value) bool {
	return len(s.types) == 0 || slices.ContainsFunc(s.types, func(name string) bool { return isType(name, v) })
}

// typeOf holds the names of the types in JSON Schema, by kind.
var typeOf = [...]string{
	jsontree.Null: "null", jsontree.Bool: "boolean", jsontree.Number: "number",
	jsontree.String: "string", jsontree.Array: "array", jsontree.Object: "object",
}

func isType(name string, v *jsontree.Value) bool {
	return name == typeOf[v.Kind] || name == "integer" && v.IsInteger()
}

func typeWords(types []string) string {
	var words []string
	for _, name := range types {
		word := "a " + name
		switch name {
		case "null":
			word = name
		case "object", "array", "integer":
			word = "an " + name
		}
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// describe returns a value for a message. It shortens long values.
func describe(v *jsontree.Value) string {
	switch v.Kind {
	case jsontree.Array, jsontree.Object:
		return v.Kind.String()
	case jsontree.Null:
		return "null"
	case jsontree.String:
		return "the string " + strconv.Quote(cut(v.Text))
	default:
		return "the " + strings.TrimPrefix(v.Kind.String(), "a ") + " " + cut(v.Text)
	}
}

// echoed returns a value for the details of a failure: only its start, if it is long.
func echoed(v *jsontree.Value) jsontree.Value {
	if len(v.Source()) <= maxValue {
		return *v
	}
	return jsontree.Str(cut(string(content(v))))
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
		if enum[i].Kind != jsontree.String {
			words[i] = cut(string(enum[i].Append(nil)))
		}
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
