package contract

import (
	"fmt"
	"slices"
	"strings"

	"remit/internal/contract/jsontree"
)

// acceptedType reads x-accepts. There is one type whose text everybody writes the
// same way.
func acceptedType(v *jsontree.Value) (string, error) {
	if v.Kind != jsontree.String || v.Text != "integer" {
		return "", fmt.Errorf("want integer, not %s", orNothing(v))
	}
	return v.Text, nil
}

// withText gives arguments as the contract takes them: an integer as its digits
// where x-accepts says so, text without the white space around it where x-trim
// does. The caller's own members stay as they are: the audit record is made of
// them later.
func (c *Contract) withText(members []jsontree.Member) []jsontree.Member {
	own := false
	for i := range members {
		known := c.input.prop(members[i].Key)
		if known == nil {
			continue
		}
		text, changed := known.textOf(&members[i].Value)
		if !changed {
			continue
		}
		if !own {
			members, own = slices.Clone(members), true
		}
		members[i].Value = jsontree.Str(text)
	}
	return members
}

// textOf is the text that an argument stands for, if that is not what was sent.
func (s *schema) textOf(v *jsontree.Value) (text string, changed bool) {
	switch {
	case v.Kind == jsontree.String && s.trim:
		text = strings.TrimSpace(v.Text)
		return text, text != v.Text
	case v.Kind == jsontree.Number && s.accepts != "":
		return v.Text, isDigits(strings.TrimPrefix(v.Text, "-"))
	default:
		return "", false
	}
}

// isDigits tells whether a number is spelt as a plain integer: 1e3 and 2.0 are
// integers too, but nobody writes an id like that.
func isDigits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }
