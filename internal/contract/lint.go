package contract

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"remit/internal/contract/jsontree"
)

// Finding is one way in which a contract is not fit to be published.
type Finding struct {
	Tool  string `json:"tool"`
	Where string `json:"where"`
	What  string `json:"what"`
}

func (f Finding) String() string { return fmt.Sprintf("%s: %s: %s", f.Tool, f.Where, f.What) }

// The names of tools, compiled on first use: a start should not pay for them.
// Clients put their own name for the server in front, and stop at 64 letters;
// the protocol itself allows 128.
var (
	toolName       = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`) })
	hiddenToolName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_]{0,127}$`) })
)

// Lint checks that every client can use the set's definitions, and that every
// promise in them can be kept.
func (s *Set) Lint() []Finding {
	l := &linter{tool: s.Name}
	l.need(s.Name != "", "name", "is missing in _set.yaml")
	l.need(s.Title != "", "title", "is missing in _set.yaml")
	l.need(slices.Contains(Shapes(), s.Shape), "shape", "%q is not one of %v", s.Shape, Shapes())
	for i, c := range s.Contracts {
		l.findings = append(l.findings, c.Lint()...)
		l.need(s.Find(c.Name) == s.Contracts[i], c.Name, "there are two tools of this name")
		l.steps(s, c)
	}
	return l.findings
}

// Lint checks one contract.
func (c *Contract) Lint() []Finding {
	l := &linter{tool: c.Set + "/" + c.Name, hidden: c.hidden}
	l.naming(c)
	l.limits(c)
	l.part("input", &c.Input, role{})
	l.answer(c)
	if err := c.compile(); err != nil {
		l.need(false, "schema", "%v", err)
		return l.findings
	}
	l.arguments(c)
	l.owner(c)
	l.headers(c)
	l.bare(c)
	l.truncation(c)
	l.errors(c)
	l.codes(c)
	l.examples(c)
	return l.findings
}

type linter struct {
	tool     string
	hidden   bool // the set is, so that only clients that ask for it see its definitions
	findings []Finding
}

func (l *linter) need(ok bool, where, format string, args ...any) {
	if !ok {
		l.findings = append(l.findings, Finding{l.tool, where, fmt.Sprintf(format, args...)})
	}
}

// everyClient checks what some client or other trips over. A hidden set is for
// clients that want to be put to the test.
func (l *linter) everyClient(ok bool, where, format string, args ...any) {
	l.need(ok || l.hidden, where, format, args...)
}

func (l *linter) naming(c *Contract) {
	name := toolName()
	if l.hidden {
		name = hiddenToolName()
	}
	l.need(name.MatchString(c.Name), "name", "%q must match %s", c.Name, name)
	l.need(c.Title != "", "title", "is missing")
	l.need(c.Description != "", "description", "is missing; say what the tool does and when to use it")
	l.need(c.Version != Version{}, "version", "is missing; start with 1.0.0")
	l.need(c.Access == Public || c.Access == Caller, "access", "%q is not one of public, caller", c.Access)
	l.need(!c.Hints.ReadOnly || !c.Hints.Destructive, "hints", "a tool that only reads destroys nothing")
	l.need(!c.Hints.ReadOnly || c.Hints.Idempotent, "hints", "a tool that only reads is idempotent")
}

// owner checks that a call always says whose data it is about: what is not said cannot
// be compared.
func (l *linter) owner(c *Contract) {
	if c.Owner == "" {
		return
	}
	property := c.input.prop(c.Owner)
	l.need(property != nil && slices.Equal(property.types, []string{"string"}) && c.input.requires(c.Owner), "owner", "%q must be a required argument that is a string", c.Owner)
}

func (l *linter) limits(c *Contract) {
	l.need(c.Deadline.Max > 0, "deadline.max", "is missing")
	l.need(c.Deadline.Target > 0 && c.Deadline.Target <= c.Deadline.Max, "deadline.target", "must be set and not over the maximum")
	l.need(c.Size.Request > 0, "size.request", "is missing")
	l.need(!c.Approval.Required || c.Approval.Window > 0, "approval.window", "is missing; say how long a question stays open")
}

// answer checks what a tool says of its answer: fields, or content.
func (l *linter) answer(c *Contract) {
	fields := c.Output.Kind != jsontree.Null
	l.need(fields != c.Content, "output", "state either output or content: true")
	if fields {
		l.part("output", &c.Output, role{})
		kind := c.Data().Field("type")
		l.need(!c.wraps() || kind.Text == "object", "output.data", "the data must be an object")
	}
	l.need(slices.Contains([]TaskMode{"", TaskOptional, TaskRequired}, c.Task), "task", "%q is not one of %s, %s", c.Task, TaskOptional, TaskRequired)
}

// definition checks what some client or other refuses in a published schema.
func (l *linter) definition(at string, s *jsontree.Value) {
	kind := s.Field("type")
	l.need(at != "input" && at != "output" || kind.Text == "object", at, "the root must be an object")
	if kind.Text == "object" {
		_, stated := s.Get("additionalProperties")
		l.everyClient(stated, at, "must state additionalProperties")
	}
	if kind.Text == "array" {
		_, stated := s.Get("items")
		l.need(stated, at, "an array must state its items")
	}
	for _, e := range s.Field("enum").Members {
		l.need(e.Value.Kind == jsontree.String, at, "enum values must be strings")
	}
	for _, m := range s.Field("properties").Members {
		where := at + "." + m.Key
		about, kind := m.Value.Field("description"), m.Value.Field("type")
		_, either := m.Value.Get("anyOf")
		l.everyClient(about.Text != "", where, "has no description")
		// In an answer every client takes null as the alternative; among arguments an optional one does the same.
		nullable := len(kind.Members) == 2 && kind.Members[1].Value.Text == "null" && (at == "output" || strings.HasPrefix(at, "output."))
		l.everyClient(either || nullable || kind.Kind == jsontree.String, where, "must have exactly one type")
		l.part(where, &m.Value, role{argument: at == "input", required: demands(s, m.Key)})
	}
	for i := range s.Members {
		l.keyword(at, s.Members[i].Key, &s.Members[i].Value)
	}
}

// keyword checks the schemas within a keyword, beside the properties.
func (l *linter) keyword(at, keyword string, v *jsontree.Value) {
	rare := slices.Contains([]string{"$schema", "$defs", "$anchor", "$ref", "allOf", "if", "then", "else", "const"}, keyword)
	l.everyClient(!rare, at, "some clients refuse %s; only a hidden set may use it", keyword)
	switch keyword {
	case "items":
		l.part(at+"[]", v, role{})
	case "additionalProperties":
		if v.Kind == jsontree.Object {
			l.part(at+".*", v, role{})
		}
	case "anyOf", "allOf":
		for i := range v.Members {
			l.part(fmt.Sprintf("%s(%d)", at, i+1), &v.Members[i].Value, role{})
		}
	case "$defs":
		for i := range v.Members {
			l.part(at+"."+keyword+"."+v.Members[i].Key, &v.Members[i].Value, role{})
		}
	case "if", "then", "else":
		l.part(at+"."+keyword, v, role{})
	}
}

// role is what a schema is to the object around it.
type role struct {
	argument bool // of the tool itself
	required bool
}

// part checks a schema within a schema. Only an argument can have a default, or be
// taken otherwise than it was sent: elsewhere nothing would see to it.
func (l *linter) part(at string, s *jsontree.Value, is role) {
	_, fallback := s.Get("default")
	l.need(is.argument || !fallback, at, "only an argument itself can have a default")
	for _, keyword := range []string{"x-trim", "x-accepts"} {
		if _, stated := s.Get(keyword); stated {
			kind := s.Field("type")
			l.need(is.argument && kind.Text == "string", at, "only an argument that is a string can have %s", keyword)
		}
	}
	for _, keyword := range []string{"x-code", "x-message"} {
		l.words(at, keyword, s, is)
	}
	l.definition(at, s)
}

// words finds words for a failure that cannot happen.
func (l *linter) words(at, keyword string, s *jsontree.Value, is role) {
	table := s.Field(keyword)
	for i := range table.Members {
		rule := table.Members[i].Key
		if rule == "required" {
			l.need(is.required, at, "%s has words for a missing field, but the field is not required", keyword)
		} else {
			l.need(states(s, rule), at, "%s has words for %s, which the schema does not state", keyword, rule)
		}
	}
}

// states tells whether a keyword stands in a schema or in a part of it. What a
// reference leads to may have any.
func states(s *jsontree.Value, keyword string) bool {
	for i := range s.Members {
		switch m := &s.Members[i]; m.Key {
		case keyword, "$ref":
			return true
		case "anyOf", "allOf":
			if slices.ContainsFunc(m.Value.Members, func(part jsontree.Member) bool { return states(&part.Value, keyword) }) {
				return true
			}
		case "if", "then", "else":
			if states(&m.Value, keyword) {
				return true
			}
		}
	}
	return false
}

func (l *linter) arguments(c *Contract) {
	l.need(c.input.closed, "input", "must refuse unknown arguments: additionalProperties: false")
	for _, p := range c.input.props {
		if p.schema.fallback != nil {
			var check checker
			check.check(p.schema, p.schema.fallback, &place{name: p.name})
			l.need(len(check.problems) == 0, "input."+p.name, "its default breaks its own schema")
			l.need(!c.input.requires(p.name), "input."+p.name, "is required, so its default is never used")
		}
	}
	for _, arg := range slices.Sorted(maps.Keys(c.Size.Args)) {
		l.need(c.input.prop(arg) != nil, "size.args."+arg, "there is no such argument")
	}
	for _, policy := range c.Paths {
		where := "paths." + policy.Arg
		named := c.input.prop(policy.Arg)
		l.need(named != nil, where, "there is no such argument")
		l.need(named == nil || slices.Equal(named.types, []string{"string"}), where, "a path is a string; nothing else would be judged")
		for _, pattern := range append(slices.Clone(policy.Allow), policy.Deny...) {
			l.need(doublestar.ValidatePattern(pattern), where, "%q is not a valid pattern", pattern)
		}
		for _, pattern := range policy.Deny {
			l.need(pattern == strings.ToLower(pattern), where, "write %q in small letters; denying ignores case", pattern)
		}
	}
}

// headers checks the rules of the protocol for arguments that are repeated in HTTP
// headers: clients leave out a whole tool that breaks one.
func (l *linter) headers(c *Contract) {
	var seen []string
	for _, m := range c.mirrors {
		where := "input." + strings.Join(m.Path, ".")
		name := strings.ToLower(m.Header)
		l.need(isToken(m.Header), where, "%s %q is not a token that a header's name can hold", headerKeyword, m.Header)
		l.need(!slices.Contains(seen, name), where, "%s %q is there twice; letter case does not count", headerKeyword, m.Header)
		seen = append(seen, name)
		kind := c.input.below(m.Path).types
		l.need(len(kind) == 1 && slices.Contains([]string{"string", "integer", "boolean"}, kind[0]), where,
			"%s needs a string, an integer or a boolean", headerKeyword)
	}
	l.need(countHeaders(&c.Input)+countHeaders(&c.Output) == len(c.mirrors), "input",
		"%s must not be empty, and stands on an argument that properties alone lead to", headerKeyword)
}

// truncation checks that an answer can be cut as the contract says.
func (l *linter) truncation(c *Contract) {
	t, data := c.Truncate, c.output
	if t == (Truncate{}) {
		return
	}
	if inner := data.prop("data"); c.wraps() && inner != nil {
		data = inner
	}
	list := data.prop(t.List)
	l.need(list != nil && slices.Equal(list.types, []string{"array"}), "truncate.list", "%q is not an array of the answer's data", t.List)
	l.need(list == nil || list.minItems <= 1, "truncate.list", "a single element of %s may be all that fits, but minItems asks for more", t.List)
	l.need(t.Budget > 4*cursorRoom, "truncate.budget", "must be over %s", Bytes(4*cursorRoom))
	if t.Cursor == "" {
		l.need(c.Hints.ReadOnly && c.Task == "", "truncate", "without a cursor only an answer that is never kept can be cut: of a tool that reads, and is no task")
		return
	}
	cursor := data.prop(t.Cursor)
	l.need(cursor != nil && slices.Equal(cursor.types, []string{"string"}) && !data.requires(t.Cursor),
		"truncate.cursor", "%q is not an optional string of the answer's data", t.Cursor)
}

func (l *linter) errors(c *Contract) {
	for _, kind := range slices.Sorted(maps.Keys(c.Errors)) {
		l.need(slices.Contains(Kinds(), kind), "errors", "%q is not one of %v", kind, Kinds())
	}
	for _, kind := range Kinds() {
		rule, stated := c.Errors[kind]
		l.need(stated, "errors", "say what a caller gets for kind %s", kind)
		l.need(!stated || c.Shape == Plain || rule.Code != "", "errors."+string(kind), "shape %s needs a code", c.Shape)
		failure := rule.Status >= 400 && rule.Status <= 599 || rule.Status == kind.Status()
		l.need(failure || rule.Status == 0, "errors."+string(kind), "the status %d says that nothing failed; want 400 to 599", rule.Status)
		for _, detail := range rule.Details {
			own := c.Shape != Envelope && (detail == "error" || c.Shape != Plain && slices.Contains([]string{"code", "message"}, detail))
			l.need(!own, "errors."+string(kind), "the detail %s would stand beside the error's own %s", detail, detail)
		}
	}
}

// codes checks that a failure with a code of its own can tell the value that it is
// about. See explainBriefly.
func (l *linter) codes(c *Contract) {
	if c.Shape != Named {
		return
	}
	for _, p := range c.input.props {
		coded := p.schema.code.all != "" || len(p.schema.code.by) > 0
		l.need(!coded || slices.Contains(c.Errors[Invalid].Details, p.name), "input."+p.name,
			"has an x-code, so %s must be among the details of errors.invalid", p.name)
	}
}

func (l *linter) examples(c *Contract) {
	succeeds := slices.ContainsFunc(c.Examples, func(e Example) bool { return e.Result.Kind != jsontree.Null })
	l.need(succeeds || l.hidden && len(c.Examples) > 0, "examples", "show at least one call that succeeds")
	for _, e := range c.Examples {
		where := fmt.Sprintf("examples %q", e.Title)
		l.need(e.Title != "", "examples", "each needs a title")
		l.need((e.Result.Kind == jsontree.Null) != (e.Error.Kind == jsontree.Null), where, "needs either a result or an error")
		l.variations(where, &e)
		if e.Result.Kind == jsontree.Null {
			continue
		}
		args := e.Arguments.Clone()
		_, err := c.Accept(args)
		l.need(err == nil, where, "its arguments are refused: %v", err)
		whole := c.whole(e.Result.Clone())
		result, err := c.Conform(whole)
		l.need(err == nil, where, "its result breaks the output schema: %v", err)
		l.need(result.Equal(&whole), where, "its result has fields that the output schema does not name")
	}
}

// variations checks that what varies is there to vary.
func (l *linter) variations(where string, e *Example) {
	answer := e.Result
	if answer.Kind == jsontree.Null {
		answer = e.Error
	}
	for _, path := range e.Varies {
		l.need(leads(strings.Split(path, "."), &answer), where, "varies names %q, which its answer does not have", path)
	}
}

// leads tells whether a path leads anywhere in a value: a name that ends in [] leads into
// every element of a list, and [] alone into those of a bare one.
func leads(path []string, v *jsontree.Value) bool {
	if len(path) == 0 {
		return true
	}
	name, each := strings.CutSuffix(path[0], "[]")
	if v.Kind != jsontree.Array || path[0] != "[]" { // which leads into v itself
		v = v.Member(name)
	}
	switch {
	case v == nil:
		return false
	case !each:
		return leads(path[1:], v)
	}
	return v.Kind == jsontree.Array && slices.ContainsFunc(v.Members, func(m jsontree.Member) bool { return leads(path[1:], &m.Value) })
}

// steps checks what is called before an example: tools of the set that take it.
func (l *linter) steps(s *Set, c *Contract) {
	for _, e := range c.Examples {
		where := fmt.Sprintf("%s: examples %q", c.Name, e.Title)
		for _, step := range e.Before {
			first := s.Find(step.Tool)
			l.need(first != nil, where, "before: there is no tool %q in the set", step.Tool)
			if first == nil {
				continue
			}
			_, err := first.Accept(step.Arguments.Clone())
			l.need(err == nil, where, "before: the arguments of %s are refused: %v", step.Tool, err)
		}
	}
}
