package approval

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"remit/internal/contract/jsontree"
)

// Describe shows what a call would do, one argument a line, short ones first.
// Texts are quoted and whatever does not show itself (line breaks, marks that
// turn the direction of writing) is spelt out, so that a caller cannot word a
// question to read like another.
func (r Request) Describe() string {
	args, err := jsontree.Parse(r.Arguments)
	if err != nil {
		return Plain(string(r.Arguments)) + "\n"
	}
	var short, long strings.Builder
	for _, m := range args.Members {
		value := Plain(string(m.Value.Append(nil)))
		if m.Value.Kind == jsontree.String {
			value = strconv.QuoteToGraphic(m.Value.Text)
		}
		to := &short
		if len(value) > 80 {
			to = &long
		}
		fmt.Fprintf(to, "%s: %s\n", Plain(m.Key), value)
	}
	return short.String() + long.String()
}

// Wording is the question as the person at a client reads it: who wants to do
// what, argument by argument. What the caller wrote is quoted, so that it cannot
// pass for our own words.
func (r Request) Wording() string {
	return fmt.Sprintf("%s (%s, contract %s) asks for your approval.\n\n%s\nAccept to let it happen once; decline to refuse. (Request %s)",
		r.Summary, r.Tool, r.Version, r.Describe(), r.ID)
}

// Plain spells out the characters of a text that do not show themselves.
func Plain(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsGraphic(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}
