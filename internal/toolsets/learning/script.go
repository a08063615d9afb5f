package learning

import (
	"html"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// unfit says why Markdown cannot be kept, "" if it can. A page that shows the file
// must not be made to run anything, not even by two entries that only together
// make a tag: so a tag is either bare (<br>, <kbd>) or not there.
func unfit(markdown string) string {
	plain := html.UnescapeString(markdown) // as a browser reads &#106;avascript:
	switch {
	case strings.ContainsFunc(strings.ReplaceAll(markdown, "\r\n", "\n"), isControl):
		return "it has control characters in it"
	case strings.Contains(tagLike().ReplaceAllStringFunc(markdown, keepActive), "<tag"):
		return "scripts, frames, forms and tags with attributes are not kept; write < as &lt; if it is meant as text"
	case activeURL().MatchString(strings.Map(visible, plain)):
		return "links that run something are not kept"
	}
	return ""
}

func isControl(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

// keepActive drops what is harmless of the things that look like tags, and marks
// the rest.
func keepActive(tag string) string {
	if harmless().MatchString(tag) && !active().MatchString(tag) {
		return ""
	}
	return "<tag"
}

// visible drops what browsers skip inside a URL.
func visible(r rune) rune {
	if r <= ' ' || r == 0x7f || r == 0xad || r >= 0x200b && r <= 0x200f || r == 0xfeff {
		return -1
	}
	return r
}

// They are compiled on first use: a start should not pay for them.
var (
	tagLike   = lazily(`<[A-Za-z/!?][^>]*>?`)
	harmless  = lazily(`^<(/?[A-Za-z][A-Za-z0-9-]*\s*/?|(https?://|mailto:)[^\s<>"']*)>$`)
	active    = lazily(`(?i)^</?(script|iframe|frame|frameset|object|embed|applet|form|svg|math|style|link|meta|base|template|portal|plaintext|xmp|textarea|title)\b`)
	activeURL = lazily(`(?i)(\]\(|\]:|<|=)["'<(]*(javascript|vbscript|livescript|data:text/html|data:image/svg)`)
)

func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
