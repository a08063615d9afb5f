package licence

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
)

// Forbids reports whether a file states, near its start or end, that its licence is not permissive.
// This overrides the gate, because packages often contain single files from elsewhere.
func Forbids(text []byte) bool {
	const head, tail = 8 << 10, 4 << 10
	if len(text) > head+tail {
		text = bytes.Join([][]byte{text[:head], text[len(text)-tail:]}, []byte("\n"))
	}
	lower := bytes.ToLower(text)
	if _, rest, ok := bytes.Cut(lower, []byte("spdx-license-identifier:")); ok {
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		expression := strings.TrimRight(strings.TrimSpace(string(line)), " */->\r\"'`\\")
		return OfExpression(expression, nil) == Restricted
	}
	if !bytes.Contains(lower, []byte("public")) {
		return false
	}
	return ownLicence().MatchString(flatten(string(lower)))
}

// ownLicence matches the sentences with which files state their licence. The bare name of a licence
// is not enough, because documentation may mention it.
var ownLicence = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(terms of|under|subject to) (version [0-9.]+ of )?the (terms of )?(the )?(gnu (affero |lesser |library )?(general )?public|mozilla public|eclipse public|server side public) licen[cs]e`)
})
