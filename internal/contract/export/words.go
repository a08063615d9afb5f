package export

import (
	"fmt"
	"strings"

	"remit/internal/contract/jsontree"
)

// phrases say keywords of a single value. %s is the value as JSON, except for a format
// and a pattern, which are not quoted.
var phrases = map[string]string{
	"default": "default %s", "format": "of the format %s", "pattern": "matches %s", "const": "always %s", "examples": "for example %s",
	"minLength": "at least %s character", "maxLength": "at most %s character",
	"minItems": "at least %s element", "maxItems": "at most %s element",
	"minimum": "at least %s", "maximum": "at most %s", "deprecated": "deprecated: %s",
}

// Words says in a description what a keyword says of a single value; "" for a
// keyword that says something of the structure.
func Words(keyword string, v *jsontree.Value) string {
	phrase, known := phrases[keyword]
	text := string(v.Append(nil))
	switch {
	case keyword == "uniqueItems" && v.True():
		return "no element twice"
	case keyword == "uniqueItems":
		return "an element may be there twice"
	case !known:
		return ""
	case keyword == "format" || keyword == "pattern":
		text = v.Text
	case text != "1" && (strings.HasSuffix(phrase, "character") || strings.HasSuffix(phrase, "element")):
		phrase += "s"
	}
	return fmt.Sprintf(phrase, text)
}

// described adds words to the description of a schema, in brackets at its end.
func described(s jsontree.Value, more []string) jsontree.Value {
	if len(more) == 0 {
		return s
	}
	said := strings.Join(more, "; ")
	about := s.Field("description")
	if opened, bracketed := strings.CutSuffix(about.Text, ")"); bracketed {
		said = opened + "; " + said + ")"
	} else if about.Text != "" {
		said = about.Text + " (" + said + ")"
	}
	return with(s, "description", jsontree.Str(said))
}
