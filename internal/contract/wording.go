package contract

import (
	"errors"
	"fmt"
	"slices"

	"remit/internal/contract/jsontree"
)

// wording is what a contract says of failures at a schema: one text for all of
// them, or one for each keyword that can be broken.
type wording struct {
	all string
	by  map[string]string
}

// of is the text for a broken keyword, or "".
func (w *wording) of(rule string) string {
	if text, stated := w.by[rule]; stated {
		return text
	}
	return w.all
}

// codeOf is the code of a failure here, or "".
func (s *schema) codeOf(rule string) string { return s.code.of(rule) }

// messageOf is the contract's words for a failure here, or "". Words for all
// failures are about a value, so they do not fit one that is missing.
func (s *schema) messageOf(rule string) string {
	if rule == "required" {
		return s.message.by[rule]
	}
	return s.message.of(rule)
}

// wordedRules are the keywords that a table of words can name.
func wordedRules() []string {
	return []string{
		"required", "type", "enum", "const", "minLength", "maxLength", "pattern", "format",
		"minimum", "maximum", "minItems", "maxItems", "uniqueItems",
	}
}

func wordingOf(v *jsontree.Value) (wording, error) {
	if v.Kind == jsontree.String {
		return wording{all: v.Text}, nil
	}
	if v.Kind != jsontree.Object {
		return wording{}, fmt.Errorf("want a string, or a table of strings by keyword, not %s", v.Kind)
	}
	if len(v.Members) == 0 {
		return wording{}, errors.New("the table is empty")
	}
	table := make(map[string]string, len(v.Members))
	for i := range v.Members {
		rule, text := v.Members[i].Key, &v.Members[i].Value
		if !slices.Contains(wordedRules(), rule) {
			return wording{}, fmt.Errorf("%q is not a keyword that can be broken%s", rule, suggestOrList(rule, wordedRules()))
		}
		if err := isText(text); err != nil {
			return wording{}, fmt.Errorf("%s: %w", rule, err)
		}
		table[rule] = text.Text
	}
	return wording{by: table}, nil
}
