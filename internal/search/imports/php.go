package imports

import "strings"

// Kinds of imports in PHP.
const (
	phpFile     kind = iota // a file beneath the including one's folder, or the include path
	phpBeside               // a file by its place from the folder of the including one: __DIR__ . '/x'
	phpClass                // use A\B
	phpFunction             // use function A\f, use const A\C
	phpOwn                  // no import: the namespace that the file itself is in
)

func phpLexicon() *lexicon {
	return &lexicon{open: "/*", shut: "*/", passes: phpPasses, literal: phpLiteral}
}

// phpPasses moves past a comment that ends with its line or with the code, and past what stands outside of the code.
func phpPasses(s *scanner) bool {
	switch {
	case s.has("?>"):
		s.at += 2
		s.outside()
	case s.has("//") || s.has("#") && !s.has("#["):
		start := s.at
		if n := strings.Index(s.restOfLine(), "?>"); n >= 0 {
			s.at = start + n
		}
	default:
		return false
	}
	return true
}

// phpLiteral reads strings of every sort.
func phpLiteral(s *scanner) (string, bool) {
	switch c := s.src[s.at]; c {
	case '\'':
		return s.quoted(true), true
	case '"', '`':
		s.at++
		return s.interpolated(0, c, "{$"), true
	case '<':
		return s.heredoc()
	}
	return "", false
}

// outside moves past text that is no code, to what follows the next <?php or <?=.
func (s *scanner) outside() {
	for {
		n := strings.Index(s.src[s.at:], "<?")
		if n < 0 {
			s.skip(len(s.src))
			return
		}
		s.skip(n + 2)
		switch {
		case s.has("="):
			s.at++
			return
		case len(s.src)-s.at >= 3 && strings.EqualFold(s.src[s.at:s.at+3], "php"):
			s.at += 3
			return
		}
	}
}

// heredoc reads a text that begins with <<<NAME and ends with a line that begins with NAME, if one begins here.
func (s *scanner) heredoc() (string, bool) {
	if !s.has("<<<") {
		return "", false
	}
	line, _, more := strings.Cut(s.src[s.at+3:], "\n")
	name := strings.Trim(line, " \t\r\"'")
	if !more || name == "" || isDigit(name[0]) || strings.IndexFunc(name, notInWord) >= 0 {
		return "", false
	}
	begin, start := s.line, s.at
	for s.restOfLine(); s.at < len(s.src); s.restOfLine() {
		s.skip(1)
		for s.has(" ") || s.has("\t") {
			s.at++
		}
		if end := s.at + len(name); s.has(name) && (end == len(s.src) || !isWordByte(s.src[end])) {
			s.at = end
			return s.src[start:end], true
		}
	}
	s.fail(begin, "heredoc "+name+" is not closed")
	return "", true
}

func notInWord(r rune) bool { return r < 0x80 && !isWordByte(byte(r)) }

// extractPHP reads what a PHP file uses and includes, wherever that stands.
func extractPHP(content []byte) ([]spec, error) {
	s := newScanner(content, phpLexicon())
	s.outside()
	s.next()
	var specs []spec
	depth, top := 0, 0 // top is the depth at which use imports: in a class it is about traits
	for before := (token{}); s.tok.kind != tokenEnd; {
		at := s.tok
		switch {
		case s.takes("{"):
			depth++
		case s.takes("}"):
			depth--
		case at.kind != tokenWord || isMember(s, before):
			s.next()
		case isKeyword(at, "namespace"):
			s.next()
			specs = append(specs, spec{s.name(`\`), at.line, phpOwn})
			if top = 0; s.sees("{") {
				top = 1
			}
		case isKeyword(at, "use") && depth == top:
			s.next()
			specs = s.uses(specs)
		case isKeyword(at, "require", "require_once", "include", "include_once"):
			s.next()
			specs = s.includes(specs, at.line)
		default:
			s.next()
		}
		before = at
	}
	return specs, s.problem()
}

// isKeyword tells whether a token is one of these words, in small or capital letters.
func isKeyword(t token, words ...string) bool {
	for _, word := range words {
		if len(word) == len(t.text) && strings.EqualFold(word, t.text) {
			return true
		}
	}
	return false
}

// isMember tells whether the word that the scanner is at is the name of a member, function or constant, whatever else
// it might mean.
func isMember(s *scanner, before token) bool {
	text := strings.TrimRight(s.src[:s.tok.start], " ")
	return strings.HasSuffix(text, "->") || strings.HasSuffix(text, "::") ||
		before.kind == tokenWord && isKeyword(before, "function", "const")
}

// uses reads what follows use: names with commas between them, each perhaps with a group in braces.
func (s *scanner) uses(specs []spec) []spec {
	k := s.useKind(phpClass)
	for s.tok.kind == tokenWord || s.sees(`\`) {
		line := s.tok.line
		s.takes(`\`)
		name := s.name(`\`)
		if s.takes(`\`) && s.takes("{") {
			specs = s.useGroup(specs, name+`\`, k)
		} else {
			specs = append(specs, spec{name, line, k})
		}
		s.useAlias()
		if !s.takes(",") {
			break
		}
	}
	return specs
}

// useGroup reads the names of a group, up to the brace that closes it.
func (s *scanner) useGroup(specs []spec, prefix string, k kind) []spec {
	for s.tok.kind == tokenWord {
		line, own := s.tok.line, s.useKind(k)
		specs = append(specs, spec{prefix + s.name(`\`), line, own})
		s.useAlias()
		if !s.takes(",") {
			break
		}
	}
	s.takes("}")
	return specs
}

// useKind moves past function or const, if a name follows.
func (s *scanner) useKind(k kind) kind {
	if s.tok.kind == tokenWord && isKeyword(s.tok, "function", "const") {
		s.next()
		return phpFunction
	}
	return k
}

func (s *scanner) useAlias() {
	if s.tok.kind == tokenWord && isKeyword(s.tok, "as") {
		s.next()
		s.next()
	}
}
