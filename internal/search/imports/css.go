package imports

import (
	"bytes"
	"strings"
)

// A cssReader finds imports in a style sheet.
type cssReader struct {
	src   []byte
	pos   int
	specs []spec
	lines webLines
	fault *SyntaxError
}

// extractCSS reads CSS and the languages that are made into it.
func extractCSS(content []byte) ([]spec, error) {
	r := &cssReader{src: content, lines: webLines{src: content}}
	for r.pos < len(r.src) {
		r.step()
	}
	if r.fault != nil {
		return nil, r.fault
	}
	return r.specs, nil
}

// step takes one byte at least.
func (r *cssReader) step() {
	c := r.src[r.pos]
	switch {
	case r.blank():
	case c == '"' || c == '\'':
		r.string()
	case c == '@':
		r.pos++
		r.rule(r.word())
	case cssWordByte(c):
		r.declaration(r.word())
	default:
		r.pos++
	}
}

// blank skips white space or a comment, if it stands here.
func (r *cssReader) blank() bool {
	rest := r.src[r.pos:]
	switch {
	case rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\n' || rest[0] == '\r' || rest[0] == '\f':
		r.pos++
	case bytes.HasPrefix(rest, []byte("/*")):
		n := bytes.Index(rest[2:], []byte("*/"))
		if n < 0 {
			r.fault = &SyntaxError{1 + bytes.Count(r.src[:r.pos], []byte("\n")), "unterminated comment"}
			r.pos = len(r.src)
			return true
		}
		r.pos += n + 4
	case bytes.HasPrefix(rest, []byte("//")):
		// In CSS itself that is no comment, but nobody means anything else by it.
		r.pos = lineEnd(r.src, r.pos)
	default:
		return false
	}
	return true
}

func (r *cssReader) blanks() {
	for r.pos < len(r.src) && r.blank() {
		continue
	}
}

// at gives the byte at hand, 0 at the end.
func (r *cssReader) at() byte {
	if r.pos < len(r.src) {
		return r.src[r.pos]
	}
	return 0
}

func cssWordByte(c byte) bool {
	return c == '-' || jsNameByte(c) && c != '@' && c != '#' && c != '$'
}

func (r *cssReader) word() string {
	start := r.pos
	for r.pos < len(r.src) && cssWordByte(r.src[r.pos]) {
		r.pos++
	}
	return strings.ToLower(string(r.src[start:r.pos]))
}

// string reads a string, which ends with its line at the latest, and gives what stands in it.
func (r *cssReader) string() string {
	start, quote := r.pos+1, r.src[r.pos]
	for r.pos++; r.pos < len(r.src) && r.src[r.pos] != '\n'; r.pos++ {
		switch r.src[r.pos] {
		case quote:
			r.pos++
			return string(r.src[start : r.pos-1])
		case '\\':
			r.pos++
		}
	}
	r.pos = min(r.pos, len(r.src))
	return ""
}

func (r *cssReader) add(place int, text string, k kind) {
	if text = strings.TrimSpace(text); text != "" {
		r.specs = append(r.specs, spec{text, r.lines.of(place), k})
	}
}

// rule reads what stands behind the name of a rule, if it imports something.
func (r *cssReader) rule(name string) {
	switch name {
	case "import":
		r.list()
	case "use", "forward", "reference", "config", "plugin":
		r.blanks()
		r.target()
	case "value":
		r.origin()
	}
}

// list reads targets with commas between them, behind the options that Less has in parentheses.
func (r *cssReader) list() {
	r.blanks()
	if r.at() == '(' {
		r.parentheses()
	}
	for r.blanks(); r.target(); r.blanks() {
		r.blanks()
		if r.at() != ',' {
			return
		}
		r.pos++
	}
}

// parentheses skips up to the one that closes.
func (r *cssReader) parentheses() {
	n := bytes.IndexAny(r.src[r.pos:], ");{}")
	if n < 0 {
		n = len(r.src) - r.pos
	}
	if r.pos += n; r.at() == ')' {
		r.pos++
	}
}

// target reads a string or url(x) that is imported.
func (r *cssReader) target() bool {
	start := r.pos
	switch c := r.at(); {
	case c == '"' || c == '\'':
		r.add(start, r.string(), cssImport)
		return true
	case cssWordByte(c) && r.word() == "url" && r.at() == '(':
		r.url(cssImport)
		return true
	}
	return false
}

// url reads what stands in the parentheses of url(x).
func (r *cssReader) url(k kind) {
	start := r.pos
	r.pos++
	for c := r.at(); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = r.at() {
		r.pos++
	}
	if c := r.at(); c == '"' || c == '\'' {
		r.add(start, r.string(), k)
		return
	}
	from := r.pos
	for r.pos < len(r.src) && r.src[r.pos] != ')' && r.src[r.pos] != '\n' {
		r.pos++
	}
	r.add(start, string(r.src[from:r.pos]), k)
}

// declaration reads what stands behind a word, if it imports something.
func (r *cssReader) declaration(word string) {
	switch {
	case word == "url" && r.at() == '(':
		r.url(cssURL)
	case word == "load-css" && r.at() == '(':
		r.pos++
		r.blanks()
		r.target()
	case word == "composes":
		if r.blanks(); r.at() == ':' {
			r.origin()
		}
	}
}

// origin reads up to from "x", or to the end of the declaration.
func (r *cssReader) origin() {
	for r.pos < len(r.src) {
		switch c := r.src[r.pos]; {
		case c == ';' || c == '{' || c == '}' || c == '"' || c == '\'':
			return
		case r.blank():
		case cssWordByte(c):
			if r.word() == "from" {
				r.blanks()
				r.target()
				return
			}
		default:
			r.pos++
		}
	}
}
