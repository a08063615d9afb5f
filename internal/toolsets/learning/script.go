package learning

import (
	"html"
	"regexp"
	"strings"
	"sync"
)

// scripted tells whether a page that shows the Markdown could be made to run
// something. It would rather refuse too much: a practice can be worded without.
func scripted(markdown string) bool {
	plain := html.UnescapeString(markdown) // as a browser reads &#106;avascript:
	return activeTag().MatchString(plain) || activeURL().MatchString(strings.Map(visible, plain))
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
	activeTag = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)</?(script|iframe|frame|frameset|object|embed|applet|form|svg|math|style|link|meta|base|template|portal)\b|<[a-z!/?][^>]*[\s/"'` + "`" + `]on[a-z]+\s*=`)
	})
	activeURL = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(\]\(|\]:|<|=)["'<(]*(javascript|vbscript|livescript|data:text/html|data:image/svg)`)
	})
)
