package imports

import (
	"slices"
	"strings"

	"remit/internal/search/lexical"
)

const (
	// rustModule is `mod x;`: the text is the module's name, with those of the inline modules
	// around it, as in a::x, and after a space the path in a path attribute, if there is one.
	rustModule kind = iota + 1
	// rustInline is an inline module, named in the same way.
	rustInline
	// rustPath is a path that begins with crate, self or super, relative to the file's own module.
	rustPath
	// rustUse is a path that begins with a crate, or with a module of the file.
	rustUse
	// rustCrate is a path that begins with a crate.
	rustCrate
	// rustInclude is a file whose text is included, relative to the file.
	rustInclude
)

// extractRust reads the modules, uses and paths of a Rust file, whatever their conditions. It skips
// the bodies of macros.
func extractRust(content []byte) ([]spec, error) {
	p := rustParser{scanner: scan("rust", content)}
	for p.Tok.Kind != lexical.End && len(p.specs) < maxImports {
		p.item()
	}
	return p.specs, p.problem()
}

// A rustParser walks over a file's tokens.
type rustParser struct {
	scanner
	specList
	paths  []string    // from the attributes before the next item
	sure   bool        // one of them is unconditional
	scopes []rustScope // the inline modules around the current token
	depth  int         // of braces
	before [2]string   // the tokens before the current one, the latest first
}

// A rustScope is an inline module: its name with those around it, and the brace depth of its
// contents.
type rustScope struct {
	name, full string
	depth      int
}

// step advances to the next token.
func (p *rustParser) step() {
	p.before[1], p.before[0] = p.before[0], p.Tok.Text
	p.Next()
}

// ident reads a name, without the prefix of a raw one.
func (p *rustParser) ident() string {
	name := p.Tok.Text
	p.step()
	if name == "r" && p.IsAt("#") {
		p.step()
		name = p.Tok.Text
		p.step()
	}
	return name
}

// item reads the current token, and advances past it and what belongs to it.
func (p *rustParser) item() {
	switch {
	case p.Tok.Kind != lexical.Word:
		p.mark()
	case p.IsAt("r") && p.HasPrefix("#"):
		p.ident()
	case p.IsAt("mod"):
		p.module()
	case p.IsAt("use"):
		p.useDeclaration()
	case p.IsAt("extern"):
		p.step()
		if p.IsAt("crate") {
			line := p.Tok.Line
			p.step()
			p.path([]string{p.ident()}, line)
		}
	case p.IsAt("crate", "self", "super"):
		p.expression()
	case p.IsAt("macro_rules", "quote", "quote_spanned", "parse_quote", "include"):
		p.macro()
	default:
		p.step()
	}
}

// useDeclaration reads use and what follows it up to the semicolon. In a bound, use<T> captures.
func (p *rustParser) useDeclaration() {
	line := p.Tok.Line
	if p.step(); p.IsAt("<") {
		return
	}
	if p.IsAt(";", "}", ",") || p.Tok.Kind == lexical.End {
		p.malformed(line, "use declaration")
		return
	}
	p.use(nil, line, 0)
	p.Accept("*")
	if p.IsAt("as") {
		p.step()
		p.ident()
	}
	if !p.IsAt(";", "$") {
		p.malformed(line, "use declaration")
	}
}

// mark skips anything that is not a word.
func (p *rustParser) mark() {
	switch {
	case p.IsAt("#"):
		p.attribute()
		return
	case p.IsAt("{"):
		p.depth++
	case p.IsAt("}"):
		p.depth--
		if n := len(p.scopes); n > 0 && p.scopes[n-1].depth > p.depth {
			p.scopes = p.scopes[:n-1]
		}
	}
	if p.IsAt(";", "{", "}") {
		p.paths, p.sure = nil, false
	}
	p.step()
}

// attribute reads #[path = "..."], also in a cfg_attr.
func (p *rustParser) attribute() {
	p.step()
	inner := p.Accept("!")
	if !p.IsAt("[") {
		return
	}
	for depth := 0; p.Tok.Kind != lexical.End; p.step() {
		switch {
		case p.IsAt("[", "("):
			depth++
		case p.IsAt("]", ")"):
			if depth--; depth == 0 {
				p.step()
				return
			}
		case p.Tok.Kind == lexical.Text && p.before == [2]string{"=", "path"} && !inner:
			p.paths = append(p.paths, p.Tok.Text)
			p.sure = p.sure || depth == 1
		}
	}
}

// module reads `mod x;` or the beginning of `mod x {`.
func (p *rustParser) module() {
	line := p.Tok.Line
	p.step()
	if p.Tok.Kind != lexical.Word {
		if p.IsAt(";") || p.Tok.Kind == lexical.End {
			p.malformed(line, "mod declaration")
		}
		return
	}
	name := p.ident()
	paths, sure := p.paths, p.sure
	p.paths, p.sure = nil, false
	switch {
	case p.IsAt(";"):
		full := p.fullName(name)
		for _, file := range paths {
			p.add(full+" "+file, line, rustModule)
		}
		if !sure {
			p.add(full, line, rustModule)
		}
	case p.IsAt("{"):
		full := p.fullName(name)
		p.add(full, line, rustInline)
		p.depth++
		p.scopes = append(p.scopes, rustScope{name, full, p.depth})
		p.step()
	case !p.IsAt("$", "!", ":", ",", ")", "]", ">", "}"): // those are in the bodies of macros
		p.malformed(line, "mod declaration")
	}
}

// fullName returns the name of a module declared here, with those of the modules around it. It
// stops growing when it exceeds the maximum length of an import.
func (p *rustParser) fullName(name string) string {
	if len(p.scopes) == 0 {
		return name
	}
	above := p.scopes[len(p.scopes)-1].full
	if len(above) > maxImport {
		return above
	}
	return above + "::" + name
}

// expression reads a path in code that begins with crate, self or super, unless it is part of a
// visibility.
func (p *rustParser) expression() {
	line, seen := p.Tok.Line, p.before == [2]string{"in", "("}
	var names []string
	for p.Tok.Kind == lexical.Word {
		names = append(names, p.ident())
		if !p.colons() {
			break
		}
	}
	if len(names) > 1 && !seen {
		p.path(names, line)
	}
}

// colons skips ::, if it is the current token.
func (p *rustParser) colons() bool {
	if !p.IsAt(":") || !p.HasPrefix(":") {
		return false
	}
	p.step()
	p.step()
	return true
}

// rustNesting limits the nesting of braces in a use, and the names of a path.
const rustNesting = 64

// use reads a tree of paths: a::{b, c::{self, d as e}, *}. above is the path before the tree.
func (p *rustParser) use(above []string, line, depth int) {
	names := slices.Clip(above)
	if p.colons() && len(names) == 0 {
		names = []string{""}
	}
	for {
		switch {
		case p.IsAt("{") && depth < rustNesting:
			p.group(names, depth)
			return
		case p.Tok.Kind == lexical.Word && !p.IsAt("as"):
			line = p.Tok.Line
			if name := p.ident(); len(names) < rustNesting {
				names = append(names, name)
			}
		default: // a * or an error
			p.path(names, line)
			return
		}
		if !p.colons() {
			p.path(names, line)
			return
		}
	}
}

// group reads the paths between braces. names is the path before the brace.
func (p *rustParser) group(names []string, depth int) {
	p.step()
	for p.Tok.Kind != lexical.End && !p.IsAt("}", ";") && len(p.specs) < maxImports {
		at := p.Tok.Start
		p.use(names, p.Tok.Line, depth+1)
		for p.Tok.Kind != lexical.End && !p.IsAt(",", "}", ";") {
			p.step()
		}
		if !p.Accept(",") && at == p.Tok.Start {
			break
		}
	}
	if !p.Accept("}") && len(p.specs) < maxImports {
		p.malformed(p.Tok.Line, "use declaration")
	}
}

// path adds an import of a path, which may be relative to the module of the file.
func (p *rustParser) path(names []string, line int) {
	names = names[:min(len(names), rustNesting)]
	if n := len(names); n > 1 && names[n-1] == "self" {
		names = names[:n-1]
	}
	length := 0
	for _, name := range names {
		length += len(name)
	}
	if len(names) == 0 || length > maxImport {
		return
	}
	switch names[0] {
	case "crate":
		p.add(strings.Join(names, "::"), line, rustPath)
	case "self", "super":
		p.add(strings.Join(p.own(names), "::"), line, rustPath)
	case "":
		p.add(strings.Join(names[1:], "::"), line, rustCrate)
	default:
		k := rustUse
		if len(p.scopes) > 0 {
			k = rustCrate
		}
		p.add(strings.Join(names, "::"), line, k)
	}
}

// own converts a path that begins with self or super into one that begins at the file's module.
func (p *rustParser) own(names []string) []string {
	scopes := p.scopes
	for len(names) > 0 && (names[0] == "self" || names[0] == "super" && len(scopes) > 0) {
		if names[0] == "super" {
			scopes = scopes[:len(scopes)-1]
		}
		names = names[1:]
	}
	if len(names) > 0 && names[0] == "super" {
		return names
	}
	full := []string{"self"}
	for _, s := range scopes[:min(len(scopes), rustNesting)] {
		full = append(full, s.name)
	}
	return append(full, names...)
}

// macro skips the definition or invocation of a macro, and reads include!("file").
func (p *rustParser) macro() {
	name, line := p.ident(), p.Tok.Line
	if !p.Accept("!") {
		return
	}
	if name == "macro_rules" {
		p.ident()
	}
	for _, pair := range []string{"()", "[]", "{}"} {
		if !p.IsAt(pair[:1]) {
			continue
		}
		if name == "include" {
			p.step()
			if p.Tok.Kind == lexical.Text {
				p.add(p.Tok.Text, line, rustInclude)
			}
			return
		}
		p.SkipEnclosed(pair[:1], pair[1:])
		return
	}
}
