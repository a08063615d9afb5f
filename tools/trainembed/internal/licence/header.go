package licence

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
)

// Forbids tells whether a file says of itself, near its start or end, that it is under a licence
// that is not permissive. It overrules the gate: single files of other origin are common.
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

// ownLicence finds the sentences by which files put themselves under a licence. The bare name of
// a licence is no such sentence: documentation may mention it.
var ownLicence = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(terms of|under|subject to) (version [0-9.]+ of )?the (terms of )?(the )?(gnu (affero |lesser |library )?(general )?public|mozilla public|eclipse public|server side public) licen[cs]e`)
})
