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

// Finding is one reason why a contract cannot be published.
type Finding struct {
	Tool  string `json:"tool"`
	Where string `json:"where"`
	What  string `json:"what"`
}

func (f Finding) String() string { return fmt.Sprintf("%s: %s: %s", f.Tool, f.Where, f.What) }

// The patterns of tool names, compiled on first use to keep the start fast. Clients put their own
// name for the server in front and allow 64 characters; the protocol itself allows 128.
var (
	toolName       = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`) })
	hiddenToolName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_]{0,127}$`) })
)

// Lint checks that every client can use the set's definitions, and that every promise in them can
// be kept.
func (s *Set) Lint() []Finding {
	l := &linter{tool: s.Name}
	l.need(s.Name != "", "name", "is missing in _set.yaml")
	l.need(s.Title != "", "title", "is missing in _set.yaml")
	l.need(slices.Contains(Shapes(), s.Shape), "shape", "%q is not one of %v", s.Shape, Shapes())
	for i, c := range s.Contracts {
		l.findings = append(l.findings, c.Lint()...)
		l.need(s.Find(c.Name) == s.Contracts[i], c.Name, "there are two tools of this name")
		l.steps(s, c)
		l.need(c.StrictAs == "" || c.StrictAs != c.Name && s.Find(c.StrictAs) != nil, c.Name, "strictAs: the set has no other tool %q", c.StrictAs)
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
	l.templates(c)
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
	hidden   bool // the set is hidden, so only clients that ask for it see its definitions
	findings []Finding
}

func (l *linter) need(ok bool, where, format string, args ...any) {
	if !ok {
		l.findings = append(l.findings, Finding{l.tool, where, fmt.Sprintf(format, args...)})
	}
}

// everyClient checks a rule that some clients need. It skips hidden sets, because only clients
// under test use them.
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
	l.need(!c.Hints.ReadOnly || !c.Hints.Destructive, "hints", "a read-only tool cannot be destructive")
	l.need(!c.Hints.ReadOnly || c.Hints.Idempotent, "hints", "a read-only tool must be idempotent")
}

// owner checks that every call must name the owner of the data: without the argument the engine
// could not compare it with the caller.
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
	for name, with := range c.Deadline.With {
		kind := c.Input.At("properties", name, "type")
		l.need(kind.Text == "boolean", "deadline.with."+name, "is not a boolean argument")
		l.need(with.Target > 0 && with.Target <= with.Max && with.Max >= c.Deadline.Max, "deadline.with."+name,
			"must have a target, and a maximum that is not below the other one")
	}
	l.need(c.Size.Request > 0, "size.request", "is missing")
	l.need(!c.Approval.Required || c.Approval.Window > 0, "approval.window", "is missing; state how long a request for approval stays open")
	l.need(!c.Approval.Each || c.Approval.Required, "approval.each", "has no effect, because the tool needs no approval")
}

// answer checks the output: fields, or content.
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

// definition checks for parts of a published schema that some clients reject.
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
		// Every client accepts null as an alternative in an answer. In arguments, an optional one
		// does the same.
		nullable := len(kind.Members) == 2 && kind.Members[1].Value.Text == "null" && (at == "output" || strings.HasPrefix(at, "output."))
		l.everyClient(either || nullable || kind.Kind == jsontree.String, where, "must have exactly one type")
		l.part(where, &m.Value, role{argument: at == "input", required: isRequired(s, m.Key)})
	}
	for i := range s.Members {
		l.keyword(at, s.Members[i].Key, &s.Members[i].Value)
	}
}

// keyword checks the subschemas of a keyword other than properties.
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

// role describes how a schema relates to the object around it.
type role struct {
	argument bool // it is an argument of the tool
	required bool
}

// part checks a subschema. Only an argument can have a default or a conversion, because the engine
// applies them only there.
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

// words finds messages for failures that cannot happen.
func (l *linter) words(at, keyword string, s *jsontree.Value, is role) {
	table := s.Field(keyword)
	for i := range table.Members {
		rule := table.Members[i].Key
		if rule == "required" {
			l.need(is.required, at, "%s has an entry for a missing field, but the field is not required", keyword)
		} else {
			l.need(hasKeyword(s, rule), at, "%s has an entry for %s, which the schema does not state", keyword, rule)
		}
	}
}

// hasKeyword reports whether a keyword is in a schema or in a part of it. References are not
// followed, so a $ref counts as any keyword.
func hasKeyword(s *jsontree.Value, keyword string) bool {
	for i := range s.Members {
		switch m := &s.Members[i]; m.Key {
		case keyword, "$ref":
			return true
		case "anyOf", "allOf":
			if slices.ContainsFunc(m.Value.Members, func(part jsontree.Member) bool { return hasKeyword(&part.Value, keyword) }) {
				return true
			}
		case "if", "then", "else":
			if hasKeyword(&m.Value, keyword) {
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
			l.need(len(check.problems) == 0, "input."+p.name, "its default violates its own schema")
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
		l.need(named == nil || slices.Equal(named.types, []string{"string"}), where, "a path must be a string")
		for _, pattern := range append(slices.Clone(policy.Allow), policy.Deny...) {
			l.need(doublestar.ValidatePattern(pattern), where, "%q is not a valid pattern", pattern)
		}
		for _, pattern := range policy.Deny {
			l.need(pattern == strings.ToLower(pattern), where, "write %q in lower case; deny patterns ignore case", pattern)
		}
	}
}

// headers checks the protocol's rules for arguments that are repeated in HTTP headers. Clients
// ignore a tool that violates one.
func (l *linter) headers(c *Contract) {
	var seen []string
	for _, m := range c.mirrors {
		where := "input." + strings.Join(m.Path, ".")
		name := strings.ToLower(m.Header)
		l.need(isToken(m.Header), where, "%s %q is not a valid part of a header's name", headerKeyword, m.Header)
		l.need(!slices.Contains(seen, name), where, "%s %q appears twice; letter case is ignored", headerKeyword, m.Header)
		seen = append(seen, name)
		kind := c.input.below(m.Path).types
		l.need(len(kind) == 1 && slices.Contains([]string{"string", "integer", "boolean"}, kind[0]), where,
			"%s needs a string, an integer or a boolean", headerKeyword)
	}
	l.need(countHeaders(&c.Input)+countHeaders(&c.Output) == len(c.mirrors), "input",
		"%s must not be empty, and is allowed only on an argument or a property within one", headerKeyword)
}

// truncation checks that an answer can be truncated as the contract says.
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
	l.need(list == nil || list.minItems <= 1, "truncate.list",
		"an answer may be cut to a single element of %s, but minItems requires more", t.List)
	l.need(t.Budget > 4*cursorReserve, "truncate.budget", "must be over %s", Bytes(4*cursorReserve))
	if t.Cursor == "" {
		l.need(c.Hints.ReadOnly && c.Task == "", "truncate",
			"only a read-only tool that is not a task can truncate its answer without a cursor")
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
		l.need(stated, "errors", "state the error for kind %s", kind)
		l.need(!stated || c.Shape == Plain || rule.Code != "", "errors."+string(kind), "shape %s needs a code", c.Shape)
		l.need(kind != Pending || rule.Status == 0, "errors.pending", "the status of a pending call is always %d", kind.Status())
		failure := rule.Status >= 400 && rule.Status <= 599 || rule.Status == kind.Status()
		l.need(failure || rule.Status == 0, "errors."+string(kind), "the status %d is not an error; want 400 to 599", rule.Status)
		for _, detail := range rule.Details {
			own := c.Shape != Envelope && (detail == "error" || c.Shape != Plain && slices.Contains([]string{"code", "message"}, detail))
			l.need(!own, "errors."+string(kind), "the detail %s conflicts with the error's own %s", detail, detail)
		}
	}
}

// codes checks that a failure with its own code has a place for the value. See explainBriefly.
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

// variations checks that the fields in varies exist in the example's answer.
func (l *linter) variations(where string, e *Example) {
	answer := e.Result
	if answer.Kind == jsontree.Null {
		answer = e.Error
	}
	for _, path := range e.Varies {
		l.need(hasPath(strings.Split(path, "."), &answer), where, "varies names %q, which its answer does not have", path)
	}
}

// hasPath reports whether a path exists in a value. A name that ends in [] stands for every element
// of a list, and [] alone for those of a bare one.
func hasPath(path []string, v *jsontree.Value) bool {
	if len(path) == 0 {
		return true
	}
	name, each := strings.CutSuffix(path[0], "[]")
	if v.Kind != jsontree.Array || path[0] != "[]" { // [] stands for the elements of v itself
		v = v.Member(name)
	}
	switch {
	case v == nil:
		return false
	case !each:
		return hasPath(path[1:], v)
	}
	return v.Kind == jsontree.Array && slices.ContainsFunc(v.Members, func(m jsontree.Member) bool { return hasPath(path[1:], &m.Value) })
}

// steps checks the calls before an example: each must be valid arguments for a tool of the set.
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
