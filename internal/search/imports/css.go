package imports

import (
	"path"
	"strings"

	"remit/internal/search/lexical"
)

// A cssReader finds imports in a style sheet.
type cssReader struct {
	scanner
	specs []spec
}

// extractCSS reads CSS and the languages that compile to it. It treats // as a comment in CSS too,
// since authors mean it so.
func extractCSS(content []byte) ([]spec, error) {
	r := &cssReader{scanner: scan("scss", content)}
	for r.Tok.Kind != lexical.End {
		switch {
		case r.Accept("@"):
			r.rule()
		case r.Tok.Kind == lexical.Word:
			r.declaration()
		default:
			r.Next()
		}
	}
	if r.Err != nil {
		return nil, r.problem()
	}
	return r.specs, nil
}

// word consumes the current word, including hyphens, and returns it in lower case.
func (r *cssReader) word() string {
	start := r.Tok.Start
	for r.At < len(r.Src) && (r.Src[r.At] == '-' || lexical.IsWordByte(r.Src[r.At])) {
		r.At++
	}
	for start > 0 && r.Src[start-1] == '-' {
		start--
	}
	return strings.ToLower(r.Src[start:r.At])
}

func (r *cssReader) add(line int, text string, k kind) {
	if text = strings.TrimSpace(text); text != "" {
		r.specs = append(r.specs, spec{text, line, k})
	}
}

// rule reads an at-rule after the @, and adds its targets if it is a rule that imports.
func (r *cssReader) rule() {
	name := ""
	if r.Tok.Kind == lexical.Word {
		name = r.word()
		r.Next()
	}
	line := r.Tok.Line
	switch name {
	case "import":
		if !r.list() {
			r.malformed(line, "@import")
		}
	case "use", "forward":
		if !r.target() {
			r.malformed(line, "@"+name)
		}
	case "reference", "config", "plugin":
		r.target()
	case "value":
		r.origin()
	}
}

// list reads targets separated by commas, after the optional parentheses of Less. It returns false
// if a target is missing.
func (r *cssReader) list() bool {
	if r.Accept("(") {
		for r.Tok.Kind != lexical.End && !r.IsAt(")", ";", "{", "}") {
			r.Next()
		}
		r.Accept(")")
	}
	for r.target() {
		if !r.Accept(",") {
			return true
		}
	}
	return false
}

// target reads an imported string or url(x).
func (r *cssReader) target() bool {
	switch {
	case isText(r.Tok):
		r.add(r.Tok.Line, r.Tok.Text, cssImport)
		r.Next()
		return true
	case r.Tok.Kind == lexical.Word && r.word() == "url" && r.HasPrefix("("):
		r.url(cssImport)
		return true
	}
	return false
}

// url reads the contents of url(x), and advances past it.
func (r *cssReader) url(k kind) {
	line := r.Line
	rest := strings.TrimLeft(r.Src[r.At+1:], " \t\r\n")
	r.Skip(len(r.Src) - len(rest) - r.At)
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		if r.Next(); isText(r.Tok) {
			r.add(line, r.Tok.Text, k)
		}
		r.Next()
	} else {
		end := strings.IndexAny(rest, ")\n")
		if end < 0 {
			end = len(rest)
		}
		r.add(line, rest[:end], k)
		r.Skip(end)
		r.Next()
	}
	r.Accept(")")
}

// declaration reads what follows a word, if it imports something.
func (r *cssReader) declaration() {
	switch word := r.word(); {
	case word == "url" && r.HasPrefix("("):
		r.url(cssURL)
	case word == "load-css" && r.HasPrefix("("):
		r.Next()
		r.Next()
		r.target()
	case word == "composes":
		if r.Next(); r.IsAt(":") {
			r.origin()
		}
	default:
		r.Next()
	}
}

// origin reads up to from "x", or to the end of the declaration.
func (r *cssReader) origin() {
	for r.Tok.Kind != lexical.End && r.Tok.Kind != lexical.Text && !r.IsAt(";", "{", "}") {
		from := r.Tok.Kind == lexical.Word && r.word() == "from"
		if r.Next(); from {
			r.target()
			return
		}
	}
}

// stylesheet resolves the path of a style sheet, whose extension may be omitted. In Sass it may be
// a partial, whose name begins with an underscore, or a folder with an index.
func (r *nodeResolver) stylesheet(full string) (string, bool) {
	if file, ok := r.exact(full); ok {
		return file, true
	}
	if path.Ext(r.from) == ".less" {
		return r.firstExact(full+".less", full+".css")
	}
	folder, name := path.Split(full)
	part := folder + "_" + name
	return r.firstExact(
		full+".scss", part+".scss", full+".sass", part+".sass", part, full+".css", full+".less",
		full+"/_index.scss", full+"/index.scss", full+"/_index.sass", full+"/index.sass",
	)
}

func (r *nodeResolver) firstExact(candidates ...string) (string, bool) {
	return firstFound(candidates, r.exact)
}

// link resolves a URL in a page. One that begins with a slash is relative to the root of the site:
// the folder of the page or of its package, or their folder of static files.
func (r *nodeResolver) link(text string) (string, bool) {
	folder := path.Dir(r.from)
	if !strings.HasPrefix(text, "/") {
		return r.exact(path.Join(folder, text))
	}
	candidates := []string{path.Join(folder, text), path.Join(folder, "public", text)}
	if p := r.packageOf(r.from); p != nil {
		candidates = append(candidates, path.Join(p.folder, text), path.Join(p.folder, "public", text))
	}
	return r.firstExact(candidates...)
}
