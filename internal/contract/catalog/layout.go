package catalog

import (
	"strings"
	"unicode/utf8"

	"remit/internal/contract/jsontree"
)

// layout returns JSON on one line if it fits into width columns. Otherwise it returns one line for
// each member or element, with further indentation. Strings are not broken.
func layout(v *jsontree.Value, width int, indent string) string {
	line := spaced(v)
	if utf8.RuneCountInString(line) <= width || len(v.Members) == 0 {
		return line
	}
	deeper := indent + "  "
	var b strings.Builder
	b.WriteString(line[:1])
	for i, m := range v.Members {
		key := ""
		if v.Kind == jsontree.Object {
			key = string(jsontree.AppendString(nil, m.Key)) + ": "
		}
		b.WriteString("\n" + deeper + key)
		b.WriteString(layout(&m.Value, maxColumns-len(deeper)-utf8.RuneCountInString(key)-len(","), deeper))
		if i < len(v.Members)-1 {
			b.WriteString(",")
		}
	}
	b.WriteString("\n" + indent + line[len(line)-1:])
	return b.String()
}

// spaced returns JSON with a space after each colon and comma.
func spaced(v *jsontree.Value) string {
	parts := make([]string, len(v.Members))
	for i, m := range v.Members {
		parts[i] = spaced(&m.Value)
		if v.Kind == jsontree.Object {
			parts[i] = string(jsontree.AppendString(nil, m.Key)) + ": " + parts[i]
		}
	}
	switch v.Kind {
	case jsontree.Object:
		return "{" + strings.Join(parts, ", ") + "}"
	case jsontree.Array:
		return "[" + strings.Join(parts, ", ") + "]"
	default:
		return string(v.Append(nil))
	}
}
