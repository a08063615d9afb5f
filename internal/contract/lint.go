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
	}
	return l.findings
}

// Lint checks one contract.
func (c *Contract) Lint() []Finding {
	l := &linter{tool: c.Set + "/" + c.Name, hidden: c.hidden}
	l.naming(c)
	l.limits(c)
	l.part("input", &c.Input, false)
	l.answer(c)
	if err := c.compile(); err != nil {
		l.need(false, "schema", "%v", err)
		return l.findings
	}
	l.arguments(c)
	l.headers(c)
	l.errors(c)
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
		l.part("output", &c.Output, false)
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
		about := m.Value.Field("description")
		_, either := m.Value.Get("anyOf")
		l.everyClient(about.Text != "", where, "has no description")
		l.everyClient(either || m.Value.Field("type").Kind == jsontree.String, where, "must have exactly one type")
		l.part(where, &m.Value, at == "input")
	}
	for i := range s.Members {
		l.keyword(at, s.Members[i].Key, &s.Members[i].Value)
	}
}

// keyword checks the schemas within a keyword, beside the properties.
func (l *linter) keyword(at, keyword string, v *jsontree.Value) {
	l.everyClient(!isRare(keyword), at, "some clients refuse %s; only a hidden set may use it", keyword)
	switch keyword {
	case "items":
		l.part(at+"[]", v, false)
	case "additionalProperties":
		if v.Kind == jsontree.Object {
			l.part(at+".*", v, false)
		}
	case "anyOf", "allOf":
		for i := range v.Members {
			l.part(fmt.Sprintf("%s(%d)", at, i+1), &v.Members[i].Value, false)
		}
	case "$defs":
		for i := range v.Members {
			l.part(at+"."+keyword+"."+v.Members[i].Key, &v.Members[i].Value, false)
		}
	case "if", "then", "else":
		l.part(at+"."+keyword, v, false)
	}
}

// part checks a schema within a schema. Only an argument can have a default:
// elsewhere nothing would fill it in.
func (l *linter) part(at string, s *jsontree.Value, isArgument bool) {
	_, fallback := s.Get("default")
	l.need(isArgument || !fallback, at, "only an argument itself can have a default")
	l.definition(at, s)
}

func (l *linter) arguments(c *Contract) {
	l.need(c.input.closed, "input", "must refuse unknown arguments: additionalProperties: false")
	for _, p := range c.input.props {
		if p.schema.fallback != nil {
			var check checker
			check.check(p.schema, p.schema.fallback, &place{nil, p.name})
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

func (l *linter) errors(c *Contract) {
	for _, kind := range slices.Sorted(maps.Keys(c.Errors)) {
		l.need(slices.Contains(Kinds(), kind), "errors", "%q is not one of %v", kind, Kinds())
	}
	for _, kind := range Kinds() {
		rule, stated := c.Errors[kind]
		l.need(stated, "errors", "say what a caller gets for kind %s", kind)
		l.need(!stated || c.Shape == Plain || rule.Code != "", "errors."+string(kind), "shape %s needs a code", c.Shape)
		for _, detail := range rule.Details {
			own := slices.Contains([]string{"error", "code", "message"}, detail) && c.Shape != Envelope
			l.need(!own, "errors."+string(kind), "the detail %s would stand beside the error's own %s", detail, detail)
		}
	}
}

func (l *linter) examples(c *Contract) {
	succeeds := slices.ContainsFunc(c.Examples, func(e Example) bool { return e.Result.Kind != jsontree.Null })
	l.need(succeeds || l.hidden && len(c.Examples) > 0, "examples", "show at least one call that succeeds")
	for _, e := range c.Examples {
		where := fmt.Sprintf("examples %q", e.Title)
		l.need(e.Title != "", "examples", "each needs a title")
		l.need((e.Result.Kind == jsontree.Null) != (e.Error.Kind == jsontree.Null), where, "needs either a result or an error")
		if e.Result.Kind == jsontree.Null {
			continue
		}
		args := e.Arguments.Clone()
		_, err := c.Accept(args)
		l.need(err == nil, where, "its arguments are refused: %v", err)
		result, err := c.Conform(e.Result.Clone())
		l.need(err == nil, where, "its result breaks the output schema: %v", err)
		l.need(result.Equal(&e.Result), where, "its result has fields that the output schema does not name")
	}
}
