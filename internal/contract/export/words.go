package export

import (
	"strings"

	"remit/internal/contract/jsontree"
)

// Words says in a description what a keyword says of a single value; "" for a
// keyword that says something of the structure.
func Words(keyword string, v *jsontree.Value) string {
	text := string(v.Append(nil))
	switch keyword {
	case "default":
		return "default " + text
	case "format":
		return "of the format " + v.Text
	case "minLength":
		return "at least " + counted(text, "character")
	case "maxLength":
		return "at most " + counted(text, "character")
	case "minItems":
		return "at least " + counted(text, "element")
	case "maxItems":
		return "at most " + counted(text, "element")
	case "minimum":
		return "at least " + text
	case "maximum":
		return "at most " + text
	case "pattern":
		return "matches " + v.Text
	case "const":
		return "always " + text
	case "examples":
		return "for example " + text
	case "uniqueItems":
		if v.True() {
			return "no element twice"
		}
		return "an element may be there twice"
	case "deprecated":
		return "deprecated: " + text
	default:
		return ""
	}
}

func counted(number, thing string) string {
	if number == "1" {
		return number + " " + thing
	}
	return number + " " + thing + "s"
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
