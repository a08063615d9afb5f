package imports

import (
	"cmp"
	"strconv"
	"strings"

	"remit/internal/search/lexical"
)

// extractJS reads the imports of a script.
func extractJS(content []byte) ([]spec, error) {
	specs, err := lexical.Read("javascript", content, func(s *lexical.Scanner) []spec {
		r := &jsReader{scanner: scanner{s}}
		r.references()
		for r.Tok.Kind != lexical.End {
			r.step()
		}
		return r.specs
	})
	if err != nil {
		return nil, syntaxError(err)
	}
	return specs, nil
}

// A jsReader finds the imports among the tokens of a script. Its methods consume the tokens that
// they recognise, and stop at the first other one.
type jsReader struct {
	scanner
	before lexical.Token
	depth  int // of brackets
	specs  []spec
}

// references reads lines like /// <reference path="x" /> before the first token, and advances to
// that token.
func (r *jsReader) references() {
	r.Comments = true
	for t := r.Next(); t.Kind == lexical.Comment; t = r.Next() {
		rest, _ := strings.CutPrefix(r.Src[t.Start:t.End], "///")
		rest = strings.TrimSpace(rest)
		_, place, ok := strings.Cut(rest, "path")
		place = strings.TrimLeft(place, " \t=")
		if ok && strings.HasPrefix(rest, "<reference") && place != "" && (place[0] == '"' || place[0] == '\'') {
			if text, _, closed := strings.Cut(place[1:], place[:1]); closed && text != "" {
				r.specs = append(r.specs, spec{text, t.Line, jsReference})
			}
		}
	}
	r.Comments = false
}

// step consumes at least one token.
func (r *jsReader) step() {
	at, property := r.Tok, r.IsProperty()
	// Declarations are only at the top level. Elsewhere the words may be names of members.
	begins := r.depth == 0 && (at.FirstOnLine || r.before.Text == ";")
	declared := at.Text == "module" && r.before.Kind == lexical.Word && r.before.Text == "declare"
	r.advance()
	switch {
	case property || at.Kind != lexical.Word:
	case at.Text == "import":
		if ok := r.importing(); !ok && begins {
			r.malformed(at.Line, "import declaration")
		}
	case at.Text == "export":
		if ok := r.exporting(); !ok && begins {
			r.malformed(at.Line, "export declaration")
		}
	case at.Text == "require":
		r.requiring()
	case at.Text == "new":
		r.creating()
	case declared && r.isString():
		r.declaring()
	}
}

func (r *jsReader) advance() {
	r.before = r.Tok
	if r.Tok.Kind == lexical.Mark {
		switch r.Tok.Text {
		case "{", "(", "[":
			r.depth++
		case "}", ")", "]":
			r.depth = max(r.depth-1, 0)
		}
	}
	r.Next()
}

// isString reports whether the current token is a string, not a template.
func (r *jsReader) isString() bool { return isText(r.Tok) && r.Tok.Quote != '`' }

// take advances if the current token is that word or mark.
func (r *jsReader) take(text string) bool {
	if !r.IsAt(text) {
		return false
	}
	r.advance()
	return true
}

// add adds the import that a string names.
func (r *jsReader) add(token lexical.Token, k kind) {
	if text, ok := jsUnquote(token.Text); ok && text != "" {
		r.specs = append(r.specs, spec{text, token.Line, k})
	}
}

// importing reads what follows import. It returns false if that is not an import.
func (r *jsReader) importing() bool {
	switch {
	case r.take("("):
		empty := r.isString() && r.Tok.Text == ""
		if r.argument(0); r.Tok.Kind == lexical.End {
			r.malformed(r.Tok.Line, "import call")
		}
		return !empty
	case r.take("."):
		r.meta()
	case r.isString():
		r.add(r.Tok, 0)
		return r.Tok.Text != ""
	default:
		return r.clause()
	}
	return true
}

// meta reads import.meta.resolve("x"), import.defer("x") and import.source("x").
func (r *jsReader) meta() {
	named := r.take("defer") || r.take("source") || r.take("meta") && r.take(".") && r.take("resolve")
	if named && r.take("(") {
		r.argument(0)
	}
}

// clause reads an import clause and its from. It returns false if there is no from.
func (r *jsReader) clause() bool {
	k, depth := kind(0), r.depth
	if r.take("type") && !r.IsAt(",") && !r.IsAt("from") && !r.IsAt("=") {
		k = jsTypeOnly
	}
	for r.Tok.Kind == lexical.Word || r.isString() || r.IsAt("{") || r.IsAt("}") || r.IsAt(",") || r.IsAt("*") || r.IsAt("=") {
		switch {
		case r.take("="):
			r.assigned(k)
			return true
		case r.IsAt("from"):
			closed := r.before.Text != "," && r.depth == depth
			if r.from(k) {
				return closed
			}
		default:
			r.advance()
		}
	}
	return false
}

// assigned reads require("x") in import a = require("x").
func (r *jsReader) assigned(k kind) {
	if r.take("require") && r.take("(") {
		r.argument(cmp.Or(k, jsRequire))
	}
}

// from reads from "x". Without the string it consumes only the word, which may be a name.
func (r *jsReader) from(k kind) bool {
	if !r.take("from") || !r.isString() || r.Tok.Text == "" {
		return false
	}
	r.add(r.Tok, k)
	r.advance()
	return true
}

// exporting reads what follows export, if it re-exports from another file. It returns false if that
// file is missing.
func (r *jsReader) exporting() bool {
	k := kind(0)
	if r.take("type") {
		k = jsTypeOnly
	}
	switch {
	case r.take("*"):
		if r.take("as") {
			r.advance()
		}
		return r.from(k)
	case r.take("{"):
		for r.Tok.Kind == lexical.Word || r.isString() || r.IsAt(",") {
			r.advance()
		}
		if !r.take("}") {
			return false
		}
		if r.IsAt("from") {
			return r.from(k)
		}
	}
	return true
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

// argument reads a string that is a complete argument.
func (r *jsReader) argument(k kind) {
	token := r.Tok
	if !isText(token) {
		return
	}
	r.advance()
	if r.IsAt(")") || r.IsAt(",") {
		r.add(token, k)
	}
}

// creating reads URL("x", import.meta.url) after new.
func (r *jsReader) creating() {
	if !r.take("URL") || !r.take("(") || !r.isString() {
		return
	}
	token := r.Tok
	r.advance()
	if r.take(",") && r.take("import") && r.take(".") && r.take("meta") && r.take(".") && r.IsAt("url") {
		r.add(token, jsURL)
	}
}

// declaring reads the name of a module that is augmented.
func (r *jsReader) declaring() {
	token := r.Tok
	r.advance()
	if r.IsAt("{") {
		r.add(token, jsTypeOnly)
	}
}

// jsUnquote resolves the escapes in a string.
func jsUnquote(text string) (string, bool) {
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
