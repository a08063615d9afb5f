package ignore

import "strings"

// A pattern is a compiled pattern of git's wildmatch.
type pattern []token

// A token is a part of a pattern.
type token struct {
	kind tokenKind
	text string     // of a literal
	set  *[4]uint64 // of a class: one bit per byte value
}

type tokenKind byte

const (
	literal    tokenKind = iota
	any1                 // ?
	class                // [a-z]
	star                 // *: anything but a slash
	folders              // **/: nothing, or anything up to and including a slash
	upToSlash            // **\/: anything up to and including a slash
	everything           // ** at the end
)

// compile parses a pattern of a path or of a name alone. It returns false if the pattern cannot
// match anything, because a class is not closed or nothing follows the last backslash.
func (p *pattern) compile(source string, path, fold bool) bool {
	first := true // at the start of a path element
	for len(source) > 0 {
		t, size := nextToken(source, first && path, path, fold)
		if size == 0 {
			return false
		}
		first = source[size-1] == '/'
		source = source[size:]
		p.add(t)
	}
	return true
}

// add appends a token. It merges consecutive literals.
func (p *pattern) add(t token) {
	if last := len(*p) - 1; t.kind == literal && last >= 0 && (*p)[last].kind == literal {
		(*p)[last].text += t.text
		return
	}
	*p = append(*p, t)
}

// nextToken parses the first token, and returns its length, or 0 if it is invalid. Two stars have
// their special meaning only as a whole path element.
func nextToken(source string, first, path, fold bool) (token, int) {
	switch source[0] {
	case '*':
		return stars(source, first)
	case '?':
		return token{kind: any1}, 1
	case '[':
		set, size := newClass(source, fold)
		if path {
			set['/'/64] &^= 1 << ('/' % 64)
		}
		return token{kind: class, set: set}, size
	case '\\': // the next byte is not folded: like git, \A does not match A if case is ignored
		if len(source) == 1 {
			return token{}, 0
		}
		return token{text: source[1:2]}, 2
	}
	return token{text: folded(source[:1], fold)}, 1
}

func stars(source string, first bool) (token, int) {
	rest := strings.TrimLeft(source, "*")
	size := len(source) - len(rest)
	switch {
	case !first || size == 1:
		return token{kind: star}, size
	case rest == "":
		return token{kind: everything}, size
	case rest[0] == '/':
		return token{kind: folders}, size + 1
	case strings.HasPrefix(rest, `\/`):
		return token{kind: upToSlash}, size + 2
	}
	return token{kind: star}, size
}

// A backtrack is a point to return to: the star before it may take more of the text.
type backtrack struct{ token, text int }

// match reports whether the whole text matches. It only backtracks to the last star and to the last
// token that takes slashes, because these can match whatever an earlier one could.
func (p pattern) match(text string) bool {
	lastStar, lastFolders := backtrack{token: -1}, backtrack{token: -1}
	for at, i := 0, 0; ; {
		if i == len(p) {
			if at == len(text) {
				return true
			}
		} else {
			switch t := &p[i]; t.kind {
			case everything:
				return true
			case star:
				i++
				lastStar = backtrack{i, at}
				continue
			case folders:
				i++
				lastFolders, lastStar.token = backtrack{i, at}, -1
				continue
			case upToSlash:
				lastFolders, lastStar.token = backtrack{i + 1, at}, -1
			default:
				if size := t.size(text[at:]); size > 0 {
					at += size
					i++
					continue
				}
			}
		}
		switch {
		case lastStar.extend(text):
			at, i = lastStar.text, lastStar.token
		case lastFolders.extendFolder(text):
			at, i, lastStar.token = lastFolders.text, lastFolders.token, -1
		default:
			return false
		}
	}
}

// size returns how many bytes at the start of the text the token matches, or 0.
func (t *token) size(text string) int {
	switch {
	case text == "":
		return 0
	case t.kind == literal:
		if strings.HasPrefix(text, t.text) {
			return len(t.text)
		}
		return 0
	case t.kind == any1 && text[0] != '/', t.kind == class && t.set[text[0]/64]>>(text[0]%64)&1 == 1:
		return 1
	}
	return 0
}

// extend lets a star match one more byte.
func (m *backtrack) extend(text string) bool {
	if m.token < 0 || m.text == len(text) || text[m.text] == '/' {
		return false
	}
	m.text++
	return true
}

// extendFolder lets **/ match one more path element.
func (m *backtrack) extendFolder(text string) bool {
	if m.token < 0 {
		return false
	}
	slash := strings.IndexByte(text[m.text:], '/')
	m.text += slash + 1
	return slash >= 0
}
