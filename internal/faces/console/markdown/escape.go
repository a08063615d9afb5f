package markdown

import (
	"html"
	"strings"
	"unicode/utf8"
)

// hidden tells whether a character turns the direction of the text after it, so that
// people would read something else than what is there.
func hidden(r rune) bool { return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 }

func escape(text string) string {
	var b strings.Builder
	AppendEscaped(&b, text)
	return b.String()
}

// AppendEscaped writes text that is harmless in HTML, in elements and in attributes in
// double quotes, and shows the marks that turn its direction.
func AppendEscaped(b *strings.Builder, text string) {
	from := 0
	for i := 0; i < len(text); i++ {
		var as string
		size := 1
		switch text[i] {
		case '<':
			as = "&lt;"
		case '>':
			as = "&gt;"
		case '&':
			as = "&amp;"
		case '"':
			as = "&quot;"
		case 0:
			as = "\ufffd"
		case 0xe2: // where those that turn the text are
			r, n := utf8.DecodeRuneInString(text[i:])
			if !hidden(r) {
				continue
			}
			as, size = "\ufffd", n
		default:
			continue
		}
		b.WriteString(text[from:i])
		b.WriteString(as)
		i += size - 1
		from = i + 1
	}
	b.WriteString(text[from:])
}

// isPunct tells whether a byte is one of those that a backslash takes the meaning from.
func isPunct(c byte) bool {
	return c >= '!' && c <= '/' || c >= ':' && c <= '@' || c >= '[' && c <= '`' || c >= '{' && c <= '~'
}

// unescape takes the backslashes off, and puts characters in place of their names.
func unescape(text string) string {
	if strings.IndexByte(text, '\\') < 0 && strings.IndexByte(text, '&') < 0 {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		switch {
		case text[i] == '\\' && i+1 < len(text) && isPunct(text[i+1]):
			b.WriteByte(text[i+1])
			i += 2
		case text[i] == '&':
			as, length := entity(text[i:])
			if length == 0 {
				as, length = "&", 1
			}
			b.WriteString(as)
			i += length
		default:
			b.WriteByte(text[i])
			i++
		}
	}
	return b.String()
}

// longestEntity is how long the name of a character may be.
const longestEntity = 34

// entity reads the name of a character, such as &amp; or &#39;. Its length is 0 if the
// text does not begin with one.
func entity(text string) (as string, length int) {
	end := strings.IndexByte(text[:min(len(text), longestEntity)], ';')
	if end < 2 {
		return "", 0
	}
	name := text[1:end]
	if name[0] == '#' {
		return numeric(name[1:]), lengthIf(numeric(name[1:]) != "", end+1)
	}
	for i := range len(name) {
		if c := name[i]; c < '0' || c > '9' && c < 'A' || c > 'Z' && c < 'a' || c > 'z' {
			return "", 0
		}
	}
	as = html.UnescapeString(text[:end+1])
	known := as != text[:end+1] && (name == "semi" || !strings.HasSuffix(as, ";"))
	return as, lengthIf(known, end+1)
}

func lengthIf(ok bool, length int) int {
	if ok {
		return length
	}
	return 0
}

// numeric reads the number of a character. It is "" for what is no number.
func numeric(digits string) string {
	base, most := rune(10), 7
	if digits != "" && (digits[0] == 'x' || digits[0] == 'X') {
		base, most, digits = 16, 6, digits[1:]
	}
	if digits == "" || len(digits) > most {
		return ""
	}
	n := rune(0)
	for _, c := range []byte(digits) {
		d := rune(99)
		switch {
		case c >= '0' && c <= '9':
			d = rune(c - '0')
		case c >= 'a' && c <= 'f':
			d = rune(c-'a') + 10
		case c >= 'A' && c <= 'F':
			d = rune(c-'A') + 10
		}
		if d >= base {
			return ""
		}
		n = n*base + d
	}
	if n == 0 || !utf8.ValidRune(n) {
		n = utf8.RuneError
	}
	return string(n)
}
