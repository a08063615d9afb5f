package pieces

import (
	"strings"
	"unicode/utf8"
)

// A syntax says how a language marks comments, and strings, in which nothing is one.
type syntax struct {
	line   []string    // what begins a comment that ends with the line
	block  [][2]string // what begins and ends any other
	quotes string      // strings of these end on their line; a quote that is not closed there is none
	long   []string    // strings of these go on over lines, up to the same again
	escape bool        // in those, a backslash takes the meaning from what follows it
	chars  bool        // 'x' is a character, while a single quote that is not closed like that is none
	spaced bool        // a comment to the end of the line has a blank before it
}

// syntaxOf gives the syntax of a language; that of one that is not known is the commonest.
func syntaxOf(language string) syntax {
	slashes := syntax{line: []string{"//"}, block: [][2]string{{"/*", "*/"}}, quotes: `"'`}
	hash := syntax{line: []string{"#"}, quotes: `"'`, spaced: true}
	switch language {
	case "go":
		slashes.long = []string{"`"}
		return slashes
	case "javascript", "typescript":
		slashes.long, slashes.escape = []string{"`"}, true
		return slashes
	case "java", "kotlin", "swift", "scala", "groovy", "csharp", "dart":
		slashes.long = []string{`"""`}
		return slashes
	case "rust":
		slashes.quotes, slashes.long = "", []string{`"`}
		slashes.escape, slashes.chars = true, true // a single quote may begin a lifetime
		return slashes
	case "php":
		slashes.line = []string{"//", "#"}
		return slashes
	case "css":
		slashes.line = nil
		return slashes
	case "vue", "svelte", "astro":
		slashes.block = append(slashes.block, [2]string{"<!--", "-->"})
		return slashes
	case "python":
		hash.long = []string{`"""`, `'''`}
		return hash
	case "ruby":
		hash.block = [][2]string{{"=begin", "=end"}}
		return hash
	case "elixir", "julia", "toml", "graphql", "nim", "starlark":
		hash.long = []string{`"""`}
		return hash
	case "shell", "fish", "yaml", "makefile", "dockerfile", "perl", "r", "cmake", "awk", "tcl", "crystal", "meson", "nix", "dotenv":
		return hash
	case "powershell":
		hash.block = [][2]string{{"<#", "#>"}}
		return hash
	case "hcl", "terraform":
		hash.line, hash.block = []string{"#", "//"}, slashes.block
		return hash
	case "text", "json", "csv", "diff":
		return syntax{}
	}
	return otherSyntax(language, slashes)
}

// otherSyntax knows the languages that are like few others.
func otherSyntax(language string, slashes syntax) syntax {
	switch language {
	case "sql", "ada", "vhdl":
		return syntax{line: []string{"--"}, block: slashes.block, quotes: "'"}
	case "lua":
		return syntax{line: []string{"--"}, block: [][2]string{{"--[[", "]]"}}, quotes: `"'`}
	case "haskell", "elm":
		return syntax{line: []string{"--"}, block: [][2]string{{"{-", "-}"}}, quotes: `"`}
	case "lisp", "clojure", "scheme", "racket":
		return syntax{line: []string{";"}, quotes: `"`}
	case "assembly":
		return syntax{line: []string{"//", ";", "#"}, block: slashes.block, quotes: `"`, spaced: true}
	case "ini":
		return syntax{line: []string{";", "#"}, spaced: true}
	case "erlang", "latex", "matlab", "prolog":
		return syntax{line: []string{"%"}, quotes: `"`}
	case "ocaml", "fsharp", "pascal":
		return syntax{line: []string{"//"}, block: [][2]string{{"(*", "*)"}}, quotes: `"`}
	case "html", "xml", "markdown":
		return syntax{block: [][2]string{{"<!--", "-->"}}}
	case "vim":
		return syntax{line: []string{`"`}, spaced: true}
	case "fortran":
		return syntax{line: []string{"!"}, quotes: `"'`}
	case "batch":
		return syntax{line: []string{"REM ", "rem ", "::"}, spaced: true}
	}
	return slashes
}

// A comment is a comment's line: what is on it after the marks, where the marks begin, and on which line.
type comment struct {
	text         string
	line, column int
	alone        bool // nothing but blanks is before it
}

// A commentReader passes over a file and gathers its comments, in time linear in its size.
type commentReader struct {
	*file
	syntax
	at, lineNumber int
	found          []comment
}

// comments gives all comments of a file, line by line.
func (f *file) comments() []comment {
	r := commentReader{file: f, syntax: syntaxOf(f.language), lineNumber: 1}
	for r.at < len(f.text) {
		r.step()
	}
	return r.found
}

func (r *commentReader) step() {
	c := r.text[r.at]
	switch {
	case c == '\n':
		r.lineNumber++
		r.at++
	case c == '\\':
		r.at++
		if r.at < len(r.text) && r.text[r.at] != '\n' {
			r.at++
		}
	case c >= 'a' && c <= 'z' && c != 'r', c == ' ', c == '\t': // quickly: of all marks only rem begins like that
		r.at++
	case r.takeBlock(), r.takeLine(), r.takeLong(), r.takeQuoted(), r.takeChar():
	default:
		r.at++
	}
}

func (r *commentReader) sees(text string) bool { return strings.HasPrefix(r.text[r.at:], text) }

// lineStart is where the line begins that the reader is on.
func (r *commentReader) lineStart() int { return r.starts[r.lineNumber-1] }

// lineEnd is where it ends, without its newline.
func (r *commentReader) lineEnd() int { return r.lineStart() + len(r.file.line(r.lineNumber)) }

func (r *commentReader) takeLine() bool {
	for _, start := range r.syntax.line {
		if !r.sees(start) || r.spaced && r.at > r.lineStart() && !strings.ContainsAny(r.text[r.at-1:r.at], " \t;") {
			continue
		}
		end := r.lineEnd()
		r.keep(r.at+len(start), end, r.at-r.lineStart())
		r.at = end
		return true
	}
	return false
}

// keep notes the part of a comment that is on the present line. The comment begins in a column.
func (r *commentReader) keep(from, to, column int) {
	start := r.lineStart()
	r.found = append(r.found, comment{
		text: strings.TrimRight(strings.TrimLeft(r.text[from:to], "/*!#-;% \t"), "* \t"), line: r.lineNumber, column: column,
		alone: r.at < start || strings.TrimSpace(r.text[start:r.at]) == "",
	})
}

func (r *commentReader) takeBlock() bool {
	for _, marks := range r.block {
		if !r.sees(marks[0]) {
			continue
		}
		from := r.at + len(marks[0])
		end, next := len(r.text), len(r.text)
		if i := strings.Index(r.text[from:], marks[1]); i >= 0 {
			end, next = from+i, from+i+len(marks[1])
		}
		column := r.at - r.lineStart()
		for end > r.lineEnd() && r.lineNumber < r.lines() {
			r.keep(from, r.lineEnd(), column)
			r.lineNumber++
			from = r.lineStart()
		}
		r.keep(from, min(end, r.lineEnd()), column)
		r.at = next
		return true
	}
	return false
}

// takeLong passes a string that may go on over lines.
func (r *commentReader) takeLong() bool {
	for _, quote := range r.long {
		if !r.sees(quote) {
			continue
		}
		end := r.longEnd(r.at+len(quote), quote)
		r.lineNumber += strings.Count(r.text[r.at:end], "\n")
		r.at = end
		return true
	}
	return false
}

// longEnd gives the place after the next quote, or the end of the text.
func (r *commentReader) longEnd(from int, quote string) int {
	for i := from; i < len(r.text); i++ {
		switch {
		case r.text[i] == '\\' && r.escape:
			i++
		case r.text[i] == quote[0] && strings.HasPrefix(r.text[i:], quote):
			return i + len(quote)
		}
	}
	return len(r.text)
}

// takeChar passes a character in single quotes: one alone, or one after a backslash.
func (r *commentReader) takeChar() bool {
	if !r.chars || r.text[r.at] != '\'' {
		return false
	}
	rest := r.text[r.at+1:]
	escaped := strings.HasPrefix(rest, `\`)
	rest = strings.TrimPrefix(rest, `\`)
	_, size := utf8.DecodeRuneInString(rest)
	if !strings.HasPrefix(rest[size:], "'") {
		return false
	}
	r.at += 1 + size + 1
	if escaped {
		r.at++
	}
	return true
}

// takeQuoted passes a string that ends on its line, or the quote alone.
func (r *commentReader) takeQuoted() bool {
	quote := r.text[r.at]
	if strings.IndexByte(r.quotes, quote) < 0 {
		return false
	}
	for i := r.at + 1; i < len(r.text) && r.text[i] != '\n' && i < r.at+longestString; i++ {
		switch c := r.text[i]; {
		case c == '\\' && i+1 < len(r.text) && r.text[i+1] != '\n':
			i++
		case c == quote:
			r.at = i + 1
			return true
		}
	}
	r.at++
	return true
}

// longestString is how far the end of a string is looked for.
const longestString = 2000
