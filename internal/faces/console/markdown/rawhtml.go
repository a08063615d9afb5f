package markdown

import (
	"strings"
)

// element is the tag of an HTML element.
type element struct {
	name       string
	role       int
	attributes []string // key and value by turns
}

// The roles of a tag.
const (
	shown   = iota // as text
	opening        // opening, closing and single ones are built anew
	closing
	single
)

func roleOf(name string) int {
	switch name {
	case "br", "img":
		return single
	case "sub", "sup", "kbd":
		return opening
	}
	return shown
}

// scanTag reads a tag.
func scanTag(text string) (el element, length int, ok bool) {
	name, isEnd := strings.CutPrefix(text[1:], "/")
	name = nameAt(name)
	if name == "" || name[0] <= '9' {
		return el, 0, false
	}
	at := len(text) - len(strings.TrimPrefix(text[1:], "/")) + len(name)
	el.name = strings.ToLower(name)
	el.attributes, at, ok = scanAttributes(text, at)
	switch el.role = roleOf(el.name); {
	case isEnd && len(el.attributes) > 0:
		ok = false
	case isEnd && el.role == single:
		el.role = shown
	case isEnd && el.role == opening:
		el.role = closing
	}
	return el, at, ok
}

// scanAttributes reads the attributes of a tag, and its end.
func scanAttributes(text string, at int) (attributes []string, end int, ok bool) {
	for at < len(text) && at < longestPart {
		spaced := at
		at = skipSpaces(text, at)
		rest := text[at:]
		switch {
		case strings.HasPrefix(rest, "/>"):
			return attributes, at + 2, true
		case strings.HasPrefix(rest, ">"):
			return attributes, at + 1, true
		case at == spaced:
			return nil, 0, false
		}
		key := nameAt(rest)
		if key == "" {
			return nil, 0, false
		}
		value, length, ok := scanValue(rest[len(key):])
		if !ok {
			return nil, 0, false
		}
		attributes = append(attributes, strings.ToLower(key), value)
		at += len(key) + length
	}
	return nil, 0, false
}

func nameAt(text string) string {
	n := 0
	for n < len(text) && (isAlnum(text[n]) || n > 0 && strings.IndexByte("-_:.", text[n]) >= 0) {
		n++
	}
	return text[:n]
}

// scanValue reads "=value"; an attribute may also be without one.
func scanValue(text string) (value string, length int, ok bool) {
	at := skipSpaces(text, 0)
	if at == len(text) || text[at] != '=' {
		return "", 0, true
	}
	at = skipSpaces(text, at+1)
	if at == len(text) {
		return "", 0, false
	}
	if mark := text[at]; mark == '"' || mark == '\'' {
		end := strings.IndexByte(text[at+1:min(len(text), at+longestPart)], mark)
		if end < 0 {
			return "", 0, false
		}
		return unescapeEntities(text[at+1 : at+1+end]), at + end + 2, true
	}
	end := at
	for end < len(text) && end-at < longestPart && strings.IndexByte(" \t\n\"'=<>`", text[end]) < 0 {
		end++
	}
	return unescapeEntities(text[at:end]), end, end > at
}

// unescapeEntities puts characters in place of their names; backslashes stay.
func unescapeEntities(text string) string { return unescape(strings.ReplaceAll(text, `\`, `\\`)) }

// beginsMarkup tells whether a line begins HTML, and what ends it: "" is a blank line.
func beginsMarkup(text string, inParagraph bool) (until string, ok bool) {
	lower := strings.ToLower(text[:min(len(text), 40)])
	for _, name := range []string{"script", "pre", "style", "textarea"} {
		if rest, ok := strings.CutPrefix(lower, "<"+name); ok && (rest == "" || strings.IndexByte(" \t>", rest[0]) >= 0) {
			return "</" + name + ">", true
		}
	}
	switch {
	case strings.HasPrefix(lower, "<!--"):
		return "-->", true
	case strings.HasPrefix(lower, "<?"):
		return "?>", true
	case strings.HasPrefix(lower, "<![cdata["):
		return "]]>", true
	case len(lower) > 2 && lower[1] == '!' && lower[2] >= 'a' && lower[2] <= 'z':
		return ">", true
	}
	name := nameAt(strings.TrimPrefix(lower[1:], "/"))
	if rest := strings.TrimPrefix(lower[1:], "/")[len(name):]; isBlockElement(name) && (rest == "" || strings.IndexByte(" \t>", rest[0]) >= 0 || strings.HasPrefix(rest, "/>")) {
		return "", true
	}
	if inParagraph || roleOf(name) != shown {
		return "", false
	}
	_, length, ok := scanTag(text)
	return "", ok && strings.Trim(text[length:], " \t") == ""
}

// isBlockElement tells whether an element stands on lines of its own.
func isBlockElement(name string) bool {
	const names = " address article aside base basefont blockquote body caption center col colgroup dd details dialog dir div dl dt " +
		"fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html iframe legend li link main menu " +
		"menuitem nav noframes ol optgroup option p param search section summary table tbody td tfoot th thead title tr track ul "
	return name != "" && strings.Contains(names, " "+name+" ")
}
