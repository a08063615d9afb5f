package approval

import (
	"strings"

	"remit/internal/visible"
)

// maxQuoted is how many characters of a value a sentence shows. The end of a long one is shown too,
// because that of a path says most.
const (
	maxQuoted    = 80
	maxQuotedEnd = 30
)

// Quote returns the value of an argument for a sentence about its call. Values other than plain
// names, paths, numbers and dates are quoted, so that a caller's text cannot pass for ours. Hidden
// characters are escaped.
func Quote(value string) string {
	if r := []rune(value); len(r) > maxQuoted {
		value = string(r[:maxQuoted-maxQuotedEnd-1]) + "…" + string(r[len(r)-maxQuotedEnd:])
	} else if isPlain(value) {
		return value
	}
	return "“" + quotes.Replace(visible.Line(value)) + "”"
}

// quotes escapes the quotes that Quote puts around a value.
var quotes = strings.NewReplacer("“", `\u201c`, "”", `\u201d`)

// isPlain reports whether a value can stand in a sentence without quotes.
func isPlain(value string) bool {
	return value != "" && strings.IndexFunc(value, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_./:@+#", r)
	}) < 0
}
