package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

// Markdown returns the reference documentation of all sets in Markdown.
func Markdown(sets []*contract.Set) []byte {
	p := &page{}
	p.line("# Tools\n")
	p.paragraph("Every tool is bound by a contract, which states its arguments, its answers and its errors. " +
		"This page is generated from the contracts.")
	p.overview(sets)
	for _, set := range sets {
		p.line("## Toolset `%s`: %s\n", set.Name, set.Title)
		p.paragraph(set.Description)
		for _, c := range set.Contracts {
			p.tool(c)
		}
	}
	return []byte(strings.TrimRight(p.String(), "\n") + "\n")
}

// Page returns the reference documentation of one tool in Markdown.
func Page(c *contract.Contract) []byte {
	p := &page{}
	p.tool(c)
	return []byte(strings.TrimRight(p.String(), "\n"))
}

type page struct{ strings.Builder }

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// paragraph writes a text and an empty line.
func (p *page) paragraph(text string) { p.line("%s\n", Wrap(text, "")) }

// item writes an item of a list. Lists replace tables, because a row of a table cannot be wrapped.
func (p *page) item(format string, args ...any) {
	p.line("- %s", Wrap(fmt.Sprintf(format, args...), "  "))
}

func (p *page) overview(sets []*contract.Set) {
	for _, set := range sets {
		for _, c := range set.Contracts {
			p.item("[`%s/%s`](#%s%s) %s: %s", set.Name, c.Name, set.Name, c.Name, c.Version, c.Description)
		}
	}
	p.line("")
}

func (p *page) tool(c *contract.Contract) {
	p.line("### `%s/%s`\n", c.Set, c.Name)
	p.paragraph(c.Description)
	p.paragraph(strings.Join(Summary(c), " · "))
	p.fields("Arguments", &c.Input)
	p.answer(c)
	p.paths(c)
	p.errors(c)
	for _, e := range c.Examples {
		p.example(c, &e)
	}
}

// answer writes the section about a tool's output.
func (p *page) answer(c *contract.Contract) {
	switch list := c.BodySchema(); {
	case c.Content:
		p.line("Returns content: text, images, audio or resources.\n")
	case c.Bare != "":
		p.line("Returns a list, which is `%s` in structuredContent:\n", c.Bare)
		about, items := list.Field("description"), list.Field("items")
		p.item("`[]` (%s): %s", kindOf(&items), about.Text+rules(&list))
		p.rows("[].", &items)
		p.line("")
	default:
		p.fields("Returns", &c.Output)
	}
}

// Summary returns short phrases about everything that a contract promises beside its schemas.
func Summary(c *contract.Contract) []string {
	words := []string{"version " + c.Version.String()}
	hint := func(is bool, yes, no string) {
		if is {
			words = append(words, yes)
		} else if no != "" {
			words = append(words, no)
		}
	}
	hint(c.Hints.ReadOnly, "read-only", "writes")
	hint(c.Hints.Destructive, "destructive", "")
	hint(c.Hints.Idempotent, "idempotent", "not idempotent")
	hint(c.Hints.OpenWorld, "open world", "")
	hint(c.Access == contract.Public, "public", "")
	hint(c.Owner != "", "callers with a token: only their own "+c.Owner, "")
	hint(!c.Rate.IsZero(), c.Rate.String()+" per caller", "")
	hint(c.Approval.Required, "needs approval", "")
	hint(c.Task == contract.TaskOptional, "may run as a task", "")
	hint(c.Task == contract.TaskRequired, "runs as a task", "")
	for _, arg := range slices.Sorted(maps.Keys(c.Size.Args)) {
		words = append(words, fmt.Sprintf("%s at most %s", arg, c.Size.Args[arg]))
	}
	hint(c.Truncate.Cursor != "", fmt.Sprintf("answers of at most %s, continued with %s", c.Truncate.Budget, c.Truncate.Cursor), "")
	hint(c.Truncate.List != "" && c.Truncate.Cursor == "", fmt.Sprintf("answers of at most %s, truncated beyond", c.Truncate.Budget), "")
	words = append(words, fmt.Sprintf("usually within %s, at most %s", time.Duration(c.Deadline.Target), time.Duration(c.Deadline.Max)))
	for _, name := range slices.Sorted(maps.Keys(c.Deadline.With)) {
		with := c.Deadline.With[name]
		words = append(words, fmt.Sprintf("with `%s` within %s, at most %s", name, time.Duration(with.Target), time.Duration(with.Max)))
	}
	return words
}

func (p *page) fields(title string, s *jsontree.Value) {
	props := s.Field("properties")
	if len(props.Members) == 0 {
		p.line("%s: none.\n", title)
		return
	}
	p.line("%s:\n", title)
	p.rows("", s)
	p.line("")
}

func (p *page) rows(prefix string, s *jsontree.Value) {
	props, required := s.Field("properties"), s.Field("required")
	for _, m := range props.Members {
		need := "optional"
		if required.Has(m.Key) {
			need = "required"
		}
		about := m.Value.Field("description")
		p.item("`%s%s` (%s, %s): %s", prefix, m.Key, kindOf(&m.Value), need, about.Text+rules(&m.Value))
		p.rows(prefix+m.Key+".", &m.Value)
		items := m.Value.Field("items")
		p.rows(prefix+m.Key+"[].", &items)
	}
}

// kindOf returns the type of a field, the definition that it refers to, or the types of its
// options.
func kindOf(s *jsontree.Value) string {
	if kind := s.Field("type"); kind.Text != "" {
		return kind.Text
	}
	if elsewhere := s.Field("$ref"); elsewhere.Text != "" {
		return elsewhere.Text
	}
	var kinds []string
	for _, option := range s.Field("anyOf").Members {
		kinds = append(kinds, kindOf(&option.Value))
	}
	return cmp.Or(strings.Join(kinds, " or "), "any type")
}

func rules(s *jsontree.Value) string {
	var words []string
	for _, m := range s.Members {
		switch m.Key {
		case "enum":
			values := make([]string, len(m.Value.Members))
			for i, e := range m.Value.Members {
				values[i] = "`" + e.Value.Text + "`"
			}
			words = append(words, "one of "+strings.Join(values, ", "))
		case "default", "pattern", "format", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems":
			value := m.Value.Text
			if value == "" {
				value = spaced(&m.Value)
			}
			words = append(words, fmt.Sprintf("%s `%s`", m.Key, value))
		}
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, "; ") + ")"
}

func (p *page) paths(c *contract.Contract) {
	for _, policy := range c.Paths {
		if len(policy.Allow) > 0 {
			p.paragraph(fmt.Sprintf("Paths in `%s`: only %s.", policy.Arg, patterns(policy.Allow)))
		}
		if len(policy.Deny) > 0 {
			p.paragraph(fmt.Sprintf("Always denied, at any depth and in any letter case: %s. "+
				"Paths outside the root, and links that lead there, are denied too.", patterns(policy.Deny)))
		}
		if policy.Max > 0 {
			p.line("Files of at most %s.\n", policy.Max)
		}
	}
}

func patterns(list []string) string {
	quoted := make([]string, len(list))
	for i, pattern := range list {
		quoted[i] = "`" + pattern + "`"
	}
	return strings.Join(quoted, ", ")
}

func (p *page) errors(c *contract.Contract) {
	p.line("Errors:\n")
	for _, kind := range contract.Kinds() {
		rule := c.Errors[kind]
		name := string(kind)
		if rule.Code != "" {
			name += " (`" + rule.Code + "`)"
		}
		p.item("%s: %s", name, rule.When)
	}
	p.line("")
}

func (p *page) example(c *contract.Contract, e *contract.Example) {
	p.line("**%s**\n", e.Title)
	answer := e.Result
	if answer.Kind == jsontree.Null {
		answer = e.Error
	}
	call, result := c.Name+"(", "→ "
	p.line("```json\n%s%s)\n%s%s\n```\n",
		call, layout(&e.Arguments, maxColumns-len(call)-len(")"), ""), result, layout(&answer, maxColumns-len(result), ""))
}
