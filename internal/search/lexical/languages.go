package lexical

// A language says what its comments and literals look like.
type language struct {
	line    []string    // what begins a comment that ends with the line
	block   [][2]string // what begins and ends any other
	nested  bool        // such comments stand within each other
	spliced bool        // a backslash at a line's end makes the next line a part of a comment
	spaced  bool        // a comment to the end of the line has a blank before it
	quotes  string      // strings of these end on their line; a quote that is not closed there is none
	long    []string    // strings of these go on over lines, up to the same again
	escapes bool        // in those, a backslash takes the meaning from what follows it
	chars   bool        // 'x' is a character, while a single quote that is not closed like that is none
	// Preprocessed tells that a line that begins with # is for the preprocessor.
	Preprocessed bool
	// backslash tells that one takes the meaning from what follows it outside of strings as well.
	backslash bool
	wordQuote byte // what may stand around a name, if anything
	separator byte // what may stand between the digits of a number besides _, if anything
	// begin moves past what is before the first token.
	begin func(s *Scanner)
	// special reads what is like nothing in the table, and is asked first where a token begins with one of the bytes of asked. It
	// gives End if nothing of the kind is there.
	special func(s *Scanner) Kind
	asked   string

	class [256]uint8 // what each byte may be
}

const (
	inWord = 1 << iota // part of a word
	begins             // the beginning of a comment, a literal or a name in quotes
	asks               // the beginning of something special
)

// classify notes what each byte may be.
func (l *language) classify() {
	for c := range l.class {
		if IsWordByte(byte(c)) {
			l.class[c] = inWord
		}
	}
	for i := range len(l.asked) {
		l.class[l.asked[i]] |= asks
	}
	marks := append(append([]string{l.quotes, "'\\", string(rune(l.wordQuote))}, l.line...), l.long...)
	for _, pair := range l.block {
		marks = append(marks, pair[0])
	}
	for i, mark := range marks {
		for j := range len(mark) {
			if i == 0 || i == 1 || j == 0 {
				l.class[mark[j]] |= begins
			}
		}
	}
}

// languageOf gives what is known of a language by the name that package source gives it. One that is not known has the
// commonest comments and strings.
func languageOf(name string) *language {
	slashes := language{line: []string{"//"}, block: [][2]string{{"/*", "*/"}}, quotes: `"'`}
	l := slashes
	switch name {
	case "go":
		l.long = []string{"`"}
	case "javascript", "typescript":
		l.quotes, l.special, l.asked, l.begin = "", scriptToken, "\"'`}/<+-\\", beginElements
	case "plainscript":
		l.quotes, l.special, l.asked, l.begin = "", scriptToken, "\"'`}/<+-\\", beginScript
	case "c", "cpp", "objectivec", "cuda":
		l.spliced, l.separator, l.special, l.asked, l.Preprocessed = true, '\'', rawStringOfC, "RLuU", true
	case "csharp":
		l.special, l.asked, l.Preprocessed = textOfCSharp, `"#@$`, true
	case "java", "groovy", "dart":
		l.long = []string{`"""`}
	case "kotlin", "swift":
		l.long, l.nested, l.wordQuote = []string{`"""`}, true, '`'
	case "scala":
		l.long, l.nested, l.wordQuote, l.quotes, l.chars = []string{`"""`}, true, '`', `"`, true
	case "rust":
		l.nested, l.quotes, l.long, l.escapes, l.chars = true, "", []string{`"`}, true, true
		l.special, l.asked = rawStringOfRust, "rbc'"
	case "php":
		l = language{block: l.block, special: tokenOfPHP, asked: "?/#'\"`<", begin: outsidePHP}
	case "css":
		l.line = nil
	case "scss", "less":
		l.line, l.special, l.asked = nil, commentOfSCSS, "/"
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

// hashLanguage knows the languages whose comments begin with a hash.
func hashLanguage(name string, slashes language) language {
	l := language{line: []string{"#"}, quotes: `"'`, spaced: true, backslash: true}
	switch name {
	case "python":
		return language{line: []string{"#"}, special: textOfPython, asked: `"'rRuUbBfFtT`}
	case "ruby":
		return language{line: []string{"#"}, special: tokenOfRuby, asked: "=_'\"`/%<?!$"}
	case "graphql":
		return language{line: []string{"#"}, quotes: `"`, long: []string{`"""`}}
	case "shell":
		l.special, l.asked = hereDocumentOfShell, "<"
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

// otherLanguage knows the languages that are like few others.
func otherLanguage(name string, slashes language) language {
	switch name {
	case "text", "csv", "diff":
		return language{}
	case "sql":
		return language{
			line: []string{"--"}, block: slashes.block, nested: true, long: []string{"'"}, special: dollarsOfSQL, asked: "$",
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
		return language{line: []string{"::"}, spaced: true, special: commentOfBatch, asked: "rR"}
	}
	return slashes
}
