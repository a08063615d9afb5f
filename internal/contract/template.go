package contract

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"remit/internal/contract/jsontree"
)

// template is a text with places for arguments, such as "Add {title}[, due {due_date}]". A place
// {name} is filled with the value of an argument, and {a.b} with that of a member of an argument. A
// section in brackets is left out if an argument that it names is missing. {?name} is filled with
// nothing, and counts as missing if the argument is missing or false.
type template []section

// section is a part of a template that is used as a whole.
type section struct {
	optional bool // in brackets
	pieces   []piece
}

// piece is either a text or a place for an argument.
type piece struct {
	text  string
	field []string // the names on the way to the value; nil for a text
	test  bool     // {?name}
}

// maxTemplate is how many characters a template may have. People read the sentence in a list.
const maxTemplate = 250

// parseTemplate parses a template.
func parseTemplate(text string) (template, error) {
	var t template
	for text != "" {
		at := strings.IndexAny(text, "[]")
		if at < 0 {
			at = len(text)
		}
		optional := strings.HasPrefix(text, "[")
		if optional {
			if at = strings.IndexAny(text[1:], "[]") + 1; at == 0 || text[at] == '[' {
				return nil, errors.New("a [ has no ] of its own")
			}
		} else if at < len(text) && text[at] == ']' {
			return nil, errors.New("a ] has no [")
		}
		pieces, err := parsePieces(strings.TrimPrefix(text[:at], "["))
		if err != nil {
			return nil, err
		}
		t = append(t, section{optional, pieces})
		text = strings.TrimPrefix(text[at:], "]")
	}
	return t, nil
}

func parsePieces(text string) (pieces []piece, err error) {
	for text != "" {
		before, after, found := strings.Cut(text, "{")
		if strings.Contains(before, "}") {
			return nil, errors.New("a } has no {")
		}
		if before != "" {
			pieces = append(pieces, piece{text: before})
		}
		if !found {
			break
		}
		name, rest, closed := strings.Cut(after, "}")
		if !closed || strings.Contains(name, "{") {
			return nil, errors.New("a { has no } of its own")
		}
		name, test := strings.CutPrefix(name, "?")
		pieces = append(pieces, piece{field: strings.Split(name, "."), test: test})
		text = rest
	}
	return pieces, nil
}

// fill fills the places with arguments, each as show returns it. It returns false if an argument
// that is not in brackets is missing.
func (t template) fill(args *jsontree.Value, show func(text string) string) (string, bool) {
	var b strings.Builder
	for _, s := range t {
		text, complete := s.fill(args, show)
		if complete {
			b.WriteString(text)
		} else if !s.optional {
			return "", false
		}
	}
	return b.String(), true
}

func (s section) fill(args *jsontree.Value, show func(text string) string) (text string, complete bool) {
	var b strings.Builder
	for _, p := range s.pieces {
		b.WriteString(p.text)
		if p.field == nil {
			continue
		}
		v := args.Member(p.field...)
		if v == nil || v.Kind == jsontree.Null || p.test && v.Kind == jsontree.Bool && !v.True() {
			return "", false
		}
		if !p.test {
			b.WriteString(show(v.Text))
		}
	}
	return b.String(), true
}

// Sentence returns what a call with these arguments does, in one sentence for people: the
// contract's summary, or its title if it has none. The arguments must be accepted; show escapes and
// shortens the value of one of them.
func (c *Contract) Sentence(args *jsontree.Value, show func(text string) string) string {
	if text := filled(c.Summary, args, show); text != "" {
		return text
	}
	return c.Title
}

// TargetOf returns what a call with these arguments changes, such as the path of a file, or "" if
// the contract does not say. See Sentence.
func (c *Contract) TargetOf(args *jsontree.Value, show func(text string) string) string {
	return filled(c.Target, args, show)
}

func filled(text string, args *jsontree.Value, show func(text string) string) string {
	t, err := parseTemplate(text)
	if err != nil {
		return "" // the linter reports it
	}
	if filled, complete := t.fill(args, show); complete {
		return filled
	}
	return ""
}

// templates checks that a person who decides about a call is told what it does.
func (l *linter) templates(c *Contract) {
	l.need(c.Summary != "" || c.Hints.ReadOnly && !c.Approval.Required, "summary",
		`is missing; say in one sentence what a call does, such as "Append to {file}"`)
	l.template(c, "summary", c.Summary)
	l.template(c, "target", c.Target)
}

func (l *linter) template(c *Contract, where, text string) {
	l.need(utf8.RuneCountInString(text) <= maxTemplate, where, "has more than %d characters", maxTemplate)
	t, err := parseTemplate(text)
	l.need(err == nil, where, "%v", err)
	for _, s := range t {
		named := slices.ContainsFunc(s.pieces, func(p piece) bool { return p.field != nil })
		l.need(named || !s.optional, where, "a part in brackets must name an argument")
		for _, p := range s.pieces {
			if p.field != nil {
				l.place(c, where, p, s.optional)
			}
		}
	}
}

// place checks a place of a template: it must name an argument that people may see, and one that
// every call has, unless the place is in brackets.
func (l *linter) place(c *Contract, where string, p piece, optional bool) {
	name := strings.Join(p.field, ".")
	always, redacted, secret := true, false, false
	s := c.Input
	for i, step := range p.field {
		fields := s.Field("properties")
		next, known := fields.Get(step)
		if !known {
			l.need(false, where, "there is no argument %q", name)
			return
		}
		_, fallback := next.Get("default")
		always = always && (isRequired(&s, step) || i == 0 && fallback)
		if marked, stated := next.Get("x-redact"); stated {
			redacted = marked.True() // the innermost mark counts
		}
		secret = secret || IsSecretName(step)
		s = next
	}
	l.need(always || optional, where, "a call need not have %s; put it in brackets", name)
	if p.test {
		l.need(optional, where, "{?%s} has an effect in brackets only", name)
		return
	}
	kind := s.Field("type")
	l.need(slices.Contains([]string{"string", "integer", "number", "boolean"}, kind.Text), where,
		"%s is not a text, a number or a boolean", name)
	l.need(!redacted && !secret, where, "%s is not shown to people; {?%s} in brackets says that a call has it", name, name)
}
