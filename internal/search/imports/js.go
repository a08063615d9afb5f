package imports

import (
	"bytes"
	"strconv"
	"strings"
)

// extractJS reads what a script imports. An element of JSX that does not end was no element, but something of
// TypeScript that looks like one: then the script is read once more, without elements.
func extractJS(content []byte) ([]spec, error) {
	specs, lexer := jsRead(content, true)
	if lexer.fault != nil && lexer.elements || lexer.unclosed() {
		if again, plain := jsRead(content, false); plain.fault == nil {
			return again, nil
		}
	}
	if f := lexer.fault; f != nil {
		return nil, &SyntaxError{Line: 1 + bytes.Count(content[:f.start], []byte("\n")), Why: f.why}
	}
	return specs, nil
}

// unclosed tells whether the text ended within an element.
func (l *jsLexer) unclosed() bool {
	for _, f := range l.open {
		if f.kind == jsxTag || f.kind == jsxContent {
			return true
		}
	}
	return false
}

// A jsReader finds the imports among the tokens of a script. Its methods take the tokens that they know, and leave the
// first that they do not.
type jsReader struct {
	lexer  *jsLexer
	token  jsToken
	before jsToken
	specs  []spec
	lines  webLines
}

func jsRead(content []byte, jsx bool) ([]spec, *jsLexer) {
	r := &jsReader{lexer: newJSLexer(content, jsx), lines: webLines{src: content}}
	r.advance()
	for _, header := range r.lexer.headers {
		r.add(header, jsReference)
	}
	for r.token.kind != jsEnd {
		r.step()
	}
	return r.specs, r.lexer
}

// step takes one token at least.
func (r *jsReader) step() {
	word, property := "", r.lexer.dotted
	if r.token.kind == jsName {
		word = r.text()
	}
	declared := word == "module" && r.before.kind == jsName && string(r.lexer.src[r.before.start:r.before.end]) == "declare"
	r.advance()
	switch {
	case property:
	case word == "import":
		r.importing()
	case word == "export":
		r.exporting()
	case word == "require":
		r.requiring()
	case word == "new":
		r.creating()
	case declared && r.token.kind == jsString:
		r.declaring()
	}
}

func (r *jsReader) advance() {
	r.before = r.token
	r.token = r.lexer.next()
}

func (r *jsReader) text() string {
	return string(r.lexer.src[r.token.start:r.token.end])
}

// is tells whether the token at hand is that name or sign.
func (r *jsReader) is(text string) bool {
	return (r.token.kind == jsName || r.token.kind == jsSign) && string(r.lexer.src[r.token.start:r.token.end]) == text
}

// take goes on if the token at hand is that name or sign.
func (r *jsReader) take(text string) bool {
	if !r.is(text) {
		return false
	}
	r.advance()
	return true
}

// add notes what a string names.
func (r *jsReader) add(token jsToken, k kind) {
	text, ok := jsUnquote(r.lexer.src[token.start:token.end])
	if !ok || text == "" {
		return
	}
	r.specs = append(r.specs, spec{text, r.lines.of(token.start), k})
}

// importing reads what follows import.
func (r *jsReader) importing() {
	switch {
	case r.take("("):
		r.argument(0)
	case r.take("."):
		r.meta()
	case r.token.kind == jsString:
		r.add(r.token, 0)
	default:
		r.clause()
	}
}

// meta reads import.meta.resolve("x"), import.defer("x") and import.source("x").
func (r *jsReader) meta() {
	named := r.take("defer") || r.take("source") || r.take("meta") && r.take(".") && r.take("resolve")
	if named && r.take("(") {
		r.argument(0)
	}
}

// clause reads what is imported, and from where.
func (r *jsReader) clause() {
	k := kind(0)
	if r.take("type") && !r.is(",") && !r.is("from") && !r.is("=") {
		k = jsTypeOnly
	}
	for r.token.kind == jsName || r.token.kind == jsString || r.is("{") || r.is("}") || r.is(",") || r.is("*") || r.is("=") {
		switch {
		case r.take("="):
			r.assigned(k)
			return
		case r.is("from"):
			if r.from(k) {
				return
			}
		default:
			r.advance()
		}
	}
}

// assigned reads require("x") in import a = require("x").
func (r *jsReader) assigned(k kind) {
	if k == 0 {
		k = jsRequire
	}
	if r.take("require") && r.take("(") {
		r.argument(k)
	}
}

// from reads from "x". Without the string it takes the word alone, which may be a name.
func (r *jsReader) from(k kind) bool {
	if !r.take("from") || r.token.kind != jsString {
		return false
	}
	r.add(r.token, k)
	r.advance()
	return true
}

// exporting reads what follows export, if it comes from another file.
func (r *jsReader) exporting() {
	k := kind(0)
	if r.take("type") {
		k = jsTypeOnly
	}
	switch {
	case r.take("*"):
		if r.take("as") {
			r.advance()
		}
		r.from(k)
	case r.take("{"):
		for r.token.kind == jsName || r.token.kind == jsString || r.is(",") {
			r.advance()
		}
		if r.take("}") {
			r.from(k)
		}
	}
}

// requiring reads what follows require.
func (r *jsReader) requiring() {
	if r.take(".") && !r.take("resolve") {
		return
	}
	if r.take("(") {
		r.argument(jsRequire)
	}
}

// argument reads a string that is an argument of its own.
func (r *jsReader) argument(k kind) {
	token := r.token
	if token.kind != jsString && token.kind != jsTemplate {
		return
	}
	r.advance()
	if r.is(")") || r.is(",") {
		r.add(token, k)
	}
}

// creating reads URL("x", import.meta.url) behind new.
func (r *jsReader) creating() {
	if !r.take("URL") || !r.take("(") || r.token.kind != jsString {
		return
	}
	token := r.token
	r.advance()
	if r.take(",") && r.take("import") && r.take(".") && r.take("meta") && r.take(".") && r.is("url") {
		r.add(token, jsURL)
	}
}

// declaring reads the name of a module whose declarations are added to.
func (r *jsReader) declaring() {
	token := r.token
	r.advance()
	if r.is("{") {
		r.add(token, jsTypeOnly)
	}
}

// jsUnquote gives what stands between quotes, escapes resolved.
func jsUnquote(quoted []byte) (string, bool) {
	text := string(quoted[1 : len(quoted)-1])
	if !strings.Contains(text, `\`) {
		return text, true
	}
	var out strings.Builder
	for text != "" {
		if strings.HasPrefix(text, `\/`) {
			text = text[1:]
		}
		r, _, rest, err := strconv.UnquoteChar(text, 0)
		if err != nil && len(text) > 1 && (text[1] == '\'' || text[1] == '"' || text[1] == '`') {
			r, rest, err = rune(text[1]), text[2:], nil
		}
		if err != nil {
			return "", false
		}
		out.WriteRune(r)
		text = rest
	}
	return out.String(), true
}
