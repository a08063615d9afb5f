package imports

import "strings"

const (
	// pythonMember is `from module import name`: the text is both, with a space between.
	pythonMember kind = iota + 1
	// pythonDynamic is an import by a call, with the module's name in a string.
	pythonDynamic
)

// extractPython reads the import statements of a Python file, wherever they stand, and calls of import_module and
// __import__ with an absolute name.
func extractPython(content []byte) ([]spec, error) {
	p := pythonParser{pythonScanner: scanPython(content)}
	for start := true; p.tok.kind != pythonEnd && len(p.specs) < mostImports; {
		switch {
		case start && p.tok.is("import"):
			p.importStatement()
		case start && p.tok.is("from"):
			p.fromStatement()
		case p.tok.is("import_module") || p.tok.is("__import__"):
			p.call()
		default:
			// lazy is a keyword where a statement begins with it.
			start = p.tok.kind == pythonNewline || start && p.tok.is("lazy") ||
				len(p.open) == 0 && (p.tok.is(":") || p.tok.is(";"))
			p.next()
			continue
		}
		start = false
	}
	return p.specs, p.err
}

type pythonParser struct {
	*pythonScanner
	specList
}

// take goes on if the current token is as given.
func (p *pythonParser) take(text string) bool {
	if !p.tok.is(text) {
		return false
	}
	p.next()
	return true
}

// importStatement reads `import a.b as c, d`.
func (p *pythonParser) importStatement() {
	for p.next(); ; p.next() {
		line := p.tok.line
		name := p.dotted()
		if name == "" {
			return
		}
		p.add(name, line, 0)
		if p.take("as") {
			p.next()
		}
		if !p.tok.is(",") {
			return
		}
	}
}

// fromStatement reads `from ..a.b import (c as d, e)`.
func (p *pythonParser) fromStatement() {
	p.next()
	dots := 0
	for p.take(".") {
		dots++
	}
	module := strings.Repeat(".", min(dots, longestImport)) + p.dottedUnless("import")
	if module == "" || len(module) > longestImport || !p.take("import") {
		return
	}
	p.take("(")
	for len(p.specs) < mostImports && (p.tok.kind == pythonName || p.tok.is("*")) {
		p.add(module+" "+p.tok.text, p.tok.line, pythonMember)
		p.next()
		if p.take("as") {
			p.next()
		}
		if !p.take(",") {
			return
		}
	}
}

// dotted reads a.b.c; nothing if no name stands here.
func (p *pythonParser) dotted() string {
	var name strings.Builder
	for p.tok.kind == pythonName {
		if name.Len() <= longestImport {
			name.WriteString(p.tok.text)
		}
		p.next()
		if !p.take(".") {
			break
		}
		name.WriteByte('.')
	}
	return name.String()
}

func (p *pythonParser) dottedUnless(keyword string) string {
	if p.tok.is(keyword) {
		return ""
	}
	return p.dotted()
}

// call reads import_module("a.b") or __import__("a.b").
func (p *pythonParser) call() {
	p.next()
	if !p.take("(") || p.tok.kind != pythonText {
		return
	}
	name, line := p.tok.text, p.tok.line
	p.next()
	if (p.tok.is(")") || p.tok.is(",")) && isPythonModule(name) {
		p.add(name, line, pythonDynamic)
	}
}

// isPythonModule tells whether a string is an absolute name of a module.
func isPythonModule(name string) bool {
	for part := range strings.SplitSeq(name, ".") {
		if part == "" || strings.ContainsFunc(part, func(r rune) bool { return r < 0x80 && !isPythonWord(byte(r)) }) {
			return false
		}
	}
	return true
}
