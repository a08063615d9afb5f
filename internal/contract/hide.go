package contract

import (
	"bytes"
	"strconv"
	"strings"

	"remit/internal/contract/jsontree"
)

const (
	hidden = "(redacted)" // stands for what a record does not show
	// window is how many bytes of a text are searched for in a hidden value: messages quote parts
	// of long values.
	window = 12
	// maxSearched limits how much of a hidden value is searched for its parts.
	maxSearched = 8 << 10
)

// Hide returns a text about arguments without the values that their redacted form, as Redacted
// returns it, does not show.
func Hide(text string, args, redacted *jsontree.Value) string {
	eachHidden(args, redacted, func(value string) {
		for _, form := range []string{value, strconv.Quote(value), string(jsontree.AppendString(nil, value))} {
			if len(form) >= 4 || form != value { // a shorter one only in quotes
				text = strings.ReplaceAll(text, form, hidden)
			}
		}
		text = withoutParts(text, value[:min(len(value), maxSearched)])
	})
	return text
}

// eachHidden calls visit for the texts and numbers in v that redacted does not show.
func eachHidden(v, redacted *jsontree.Value, visit func(string)) {
	same := v.Kind == redacted.Kind && len(v.Members) == len(redacted.Members)
	switch {
	case v.Kind == jsontree.String || v.Kind == jsontree.Number:
		if (redacted.Kind != v.Kind || redacted.Text != v.Text) && v.Text != "" {
			visit(v.Text)
		}
	case same && bytes.Equal(v.Append(nil), redacted.Append(nil)):
	default:
		for i := range v.Members {
			shown := &jsontree.Value{} // a null, which shows nothing
			if same {
				shown = &redacted.Members[i].Value
			}
			eachHidden(&v.Members[i].Value, shown, visit)
		}
	}
}

// withoutParts replaces the parts of a text that have at least window bytes and occur in a value.
func withoutParts(text, value string) string {
	if len(value) < window {
		return text
	}
	var out strings.Builder
	kept := 0
	for at := 0; at+window <= len(text); {
		if !strings.Contains(value, text[at:at+window]) {
			at++
			continue
		}
		end := at + window
		for end < len(text) && strings.Contains(value, text[at:end+1]) {
			end++
		}
		out.WriteString(text[kept:at])
		out.WriteString(hidden)
		at, kept = end, end
	}
	out.WriteString(text[kept:])
	return strings.ToValidUTF8(out.String(), "")
}
