package imports

import (
	"bytes"
	"slices"
	"strings"

	"remit/internal/search/lexical"
)

const (
	// pythonMember is `from module import name`: the text contains both, separated by a space.
	pythonMember kind = iota + 1
	// pythonDynamic is an import by a call, with the module's name in a string.
	pythonDynamic
)

// extractPython reads the import statements anywhere in a Python file, and calls of import_module
// and __import__ with an absolute name.
func extractPython(content []byte) ([]spec, error) {
	p := scanPython(content)
	for p.Tok.Kind != lexical.End && len(p.specs) < maxImports {
		text := p.Tok.Text
		if p.Tok.Kind == lexical.Text {
			text = ""
		}
		switch {
		case p.start && text == "import":
			p.importStatement()
		case p.start && text == "from":
			p.fromStatement()
		case text == "import_module" || text == "__import__":
			p.call()
		default:
			// lazy is a keyword only at the beginning of a statement.
			begins := p.start && text == "lazy" || len(p.open) == 0 && (text == ":" || text == ";")
			p.next()
			p.start = p.start || begins
		}
	}
	return p.specs, p.problem()
}

// A pythonParser walks over the tokens of a file.
type pythonParser struct {
	scanner
	specList
	open  []lexical.Token // open brackets
	start bool            // a statement begins with the current token
}

// scanPython returns a parser at the first token of a text. It accepts every kind of line end.
func scanPython(content []byte) *pythonParser {
	if bytes.IndexByte(content, '\r') >= 0 {
		content = bytes.ReplaceAll(bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
	}
	p := &pythonParser{scanner: scanner{lexical.New("python", content)}}
	p.next()
	return p
}

// next advances to the next token. A continued line, or one in brackets, begins no statement. A
// bracket that is never closed is an error.
func (p *pythonParser) next() {
	p.Next()
	p.start = p.Tok.FirstOnLine && len(p.open) == 0
	for p.Tok.Kind == lexical.Mark && p.Tok.Text == `\` {
		p.Next()
		p.start = false
	}
	switch {
	case p.Tok.Kind == lexical.Mark:
		switch p.Tok.Text[0] {
		case '(', '[', '{':
			p.open = append(p.open, p.Tok)
		case ')', ']', '}':
			p.open = p.open[:max(len(p.open)-1, 0)]
		}
	case p.Tok.Kind == lexical.End && len(p.open) > 0:
		last := p.open[len(p.open)-1]
		p.Fail(last.Line, "'"+last.Text+"' was never closed")
	}
}

// take advances if the current token has this text.
func (p *pythonParser) take(text string) bool {
	if !p.IsAt(text) {
		return false
	}
	p.next()
	return true
}

// importStatement reads `import a.b as c, d`.
func (p *pythonParser) importStatement() {
	begins := p.Tok.Line
	for p.next(); ; p.next() {
		line := p.Tok.Line
		name := p.dotted()
		if name == "" || strings.HasSuffix(name, ".") {
			p.malformed(begins, "import statement")
			return
		}
		p.add(name, line, 0)
		p.alias()
		if !p.IsAt(",") {
			p.end(begins)
			return
		}
	}
}

// alias skips `as c`.
func (p *pythonParser) alias() {
	if p.IsAt("as") && !p.start {
		if p.next(); p.Tok.Kind != lexical.Word || p.start {
			p.malformed(p.Tok.Line, "import statement")
			return
		}
		p.next()
	}
}

// end checks that a statement ends here.
func (p *pythonParser) end(line int) {
	if !p.start && p.Tok.Kind != lexical.End && !p.IsAt(";") {
		p.malformed(line, "import statement")
	}
}

// fromStatement reads `from ..a.b import (c as d, e)`.
func (p *pythonParser) fromStatement() {
	begins := p.Tok.Line
	p.next()
	dots := 0
	for p.take(".") {
		dots++
	}
	module := strings.Repeat(".", min(dots, maxImport))
	if !p.IsAt("import") {
		module += p.dotted()
	}
	if p.start || !p.take("import") || module == "" || strings.HasSuffix(strings.TrimLeft(module, "."), ".") {
		p.malformed(begins, "import statement")
		return
	}
	if len(module) > maxImport {
		return
	}
	grouped := p.take("(")
	if !grouped && !p.start && p.IsAt("*") { // alone
		p.add(module+" *", p.Tok.Line, pythonMember)
		p.next()
		p.end(begins)
		return
	}
	for more := true; more; more = p.take(",") {
		if grouped && p.IsAt(")") {
			break // after the last comma
		}
		if p.start || p.Tok.Kind != lexical.Word || len(p.specs) >= maxImports {
			p.malformed(begins, "import statement")
			return
		}
		p.add(module+" "+p.Tok.Text, p.Tok.Line, pythonMember)
		p.next()
		p.alias()
	}
	if !grouped || p.take(")") {
		p.end(begins)
		return
	}
	p.malformed(begins, "import statement")
}

// dotted reads a.b.c; it returns "" if there is no name.
func (p *pythonParser) dotted() string {
	var name strings.Builder
	for p.Tok.Kind == lexical.Word && !p.start {
		if name.Len() <= maxImport {
			name.WriteString(p.Tok.Text)
		}
		p.next()
		if !p.take(".") {
			break
		}
		name.WriteByte('.')
	}
	return name.String()
}

// call reads import_module("a.b") or __import__("a.b").
func (p *pythonParser) call() {
	p.next()
	if !p.take("(") || !isText(p.Tok) {
		return
	}
	name, line := p.Tok.Text, p.Tok.Line
	p.next()
	if (p.IsAt(")") || p.IsAt(",")) && isPythonModule(name) {
		p.add(name, line, pythonDynamic)
	}
}

// isPythonModule reports whether a string is an absolute name of a module.
func isPythonModule(name string) bool {
	isStrange := func(r rune) bool { return r < 0x80 && (!lexical.IsWordByte(byte(r)) || r == '$') }
	return !slices.ContainsFunc(strings.Split(name, "."), func(part string) bool {
		return part == "" || strings.ContainsFunc(part, isStrange)
	})
}
