package lexical

// A language describes the comments and literals of a programming language.
type language struct {
	line    []string    // beginnings of comments to the end of the line
	block   [][2]string // beginnings and ends of other comments
	nested  bool        // block comments can be nested
	spliced bool        // a backslash at the end of a line comment continues it in the next line
	spaced  bool        // a line comment needs a blank before it
	// Quotes of strings that end on their line; an unclosed quote is not a string.
	quotes  string
	long    []string // quotes of strings that may span lines
	escapes bool     // a backslash in those escapes the next byte
	chars   bool     // 'x' is a character literal; any other single quote is not a literal
	// Preprocessed says that a line that begins with # is for the preprocessor.
	Preprocessed bool
	// backslash says that a backslash escapes the next byte outside of strings too.
	backslash bool
	wordQuote byte // quote around names, or 0
	separator byte // separator between the digits of a number besides _, or 0
	// begin moves past what precedes the first token.
	begin func(s *Scanner)
	// special reads tokens that the table cannot describe. It is called first if a token begins
	// with one of the bytes of specialStart. It returns End if there is no such token.
	special      func(s *Scanner) Kind
	specialStart string

	class [256]uint8 // flags of each byte
}

const (
	inWord        = 1 << iota // part of a word
	startsToken               // start of a comment, a literal or a quoted name
	startsSpecial             // start of a special token
)

// classify sets the flags of each byte.
func (l *language) classify() {
	for c := range l.class {
		if IsWordByte(byte(c)) {
			l.class[c] = inWord
		}
	}
	for i := range len(l.specialStart) {
		l.class[l.specialStart[i]] |= startsSpecial
	}
	marks := append(append([]string{l.quotes, "'\\", string(rune(l.wordQuote))}, l.line...), l.long...)
	for _, pair := range l.block {
		marks = append(marks, pair[0])
	}
	for i, mark := range marks {
		for j := range len(mark) {
			if i == 0 || i == 1 || j == 0 {
				l.class[mark[j]] |= startsToken
			}
		}
	}
}

// languageOf returns the description of a language, by its name in package source. An unknown
// language has the most common comments and strings.
func languageOf(name string) *language {
	slashes := language{line: []string{"//"}, block: [][2]string{{"/*", "*/"}}, quotes: `"'`}
	l := slashes
	switch name {
	case "go":
		l.long = []string{"`"}
	case "javascript", "typescript":
		l.quotes, l.special, l.specialStart, l.begin = "", scriptToken, "\"'`}/<+-\\", beginElements
	case "plainscript":
		l.quotes, l.special, l.specialStart, l.begin = "", scriptToken, "\"'`}/<+-\\", beginScript
	case "c", "cpp", "objectivec", "cuda":
		l.spliced, l.separator, l.special, l.specialStart, l.Preprocessed = true, '\'', rawStringOfC, "RLuU", true
	case "csharp":
		l.special, l.specialStart, l.Preprocessed = textOfCSharp, `"#@$`, true
	case "java", "groovy", "dart":
		l.long = []string{`"""`}
	case "kotlin", "swift":
		l.long, l.nested, l.wordQuote = []string{`"""`}, true, '`'
	case "scala":
		l.long, l.nested, l.wordQuote, l.quotes, l.chars = []string{`"""`}, true, '`', `"`, true
	case "rust":
		l.nested, l.quotes, l.long, l.escapes, l.chars = true, "", []string{`"`}, true, true
		l.special, l.specialStart = rawStringOfRust, "rbc'"
	case "php":
		l = language{block: l.block, special: tokenOfPHP, specialStart: "?/#'\"`<", begin: outsidePHP}
	case "css":
		l.line = nil
	case "scss", "less":
		l.line, l.special, l.specialStart = nil, commentOfSCSS, "/"
	case "vue", "svelte", "astro":
		l.block = append(l.block, [2]string{"<!--", "-->"})
	case "json":
		l.quotes, l.long, l.escapes = "", []string{`"`}, true
	default:
		l = hashLanguage(name, slashes)
	}
	l.classify()
	return &l
}

// hashLanguage returns the description of a language whose comments begin with a hash.
func hashLanguage(name string, slashes language) language {
	l := language{line: []string{"#"}, quotes: `"'`, spaced: true, backslash: true}
	switch name {
	case "python":
		return language{line: []string{"#"}, special: textOfPython, specialStart: `"'rRuUbBfFtT`}
	case "ruby":
		return language{line: []string{"#"}, special: tokenOfRuby, specialStart: "=_'\"`/%<?!$"}
	case "graphql":
		return language{line: []string{"#"}, quotes: `"`, long: []string{`"""`}}
	case "shell":
		l.special, l.specialStart = hereDocumentOfShell, "<"
	case "elixir", "julia", "toml", "nim", "starlark":
		l.long = []string{`"""`}
	case "fish", "yaml", "makefile", "dockerfile", "perl", "r", "cmake", "awk", "tcl", "crystal", "meson", "nix", "dotenv":
	case "powershell":
		l.block = [][2]string{{"<#", "#>"}}
	case "hcl", "terraform":
		l.line, l.block = []string{"#", "//"}, slashes.block
	default:
		l = otherLanguage(name, slashes)
		l.backslash = name != "sql" && name != "protobuf"
	}
	return l
}

// otherLanguage returns the description of a language unlike the others.
func otherLanguage(name string, slashes language) language {
	switch name {
	case "text", "csv", "diff":
		return language{}
	case "sql":
		return language{
			line: []string{"--"}, block: slashes.block, nested: true, long: []string{"'"}, special: dollarsOfSQL, specialStart: "$",
		}
	case "ada", "vhdl":
		return language{line: []string{"--"}, block: slashes.block, quotes: "'"}
	case "lua":
		return language{line: []string{"--"}, block: [][2]string{{"--[[", "]]"}}, quotes: `"'`}
	case "haskell", "elm":
		return language{line: []string{"--"}, block: [][2]string{{"{-", "-}"}}, quotes: `"`}
	case "lisp", "clojure", "scheme", "racket":
		return language{line: []string{";"}, quotes: `"`}
	case "assembly":
		return language{line: []string{"//", ";", "#"}, block: slashes.block, quotes: `"`, spaced: true}
	case "ini":
		return language{line: []string{";", "#"}, spaced: true}
	case "erlang", "latex", "matlab", "prolog":
		return language{line: []string{"%"}, quotes: `"`}
	case "ocaml", "fsharp", "pascal":
		return language{line: []string{"//"}, block: [][2]string{{"(*", "*)"}}, quotes: `"`}
	case "html", "xml", "markdown":
		return language{block: [][2]string{{"<!--", "-->"}}}
	case "vim":
		return language{line: []string{`"`}, spaced: true}
	case "fortran":
		return language{line: []string{"!"}, quotes: `"'`}
	case "batch":
		return language{line: []string{"::"}, spaced: true, special: commentOfBatch, specialStart: "rR"}
	}
	return slashes
}
