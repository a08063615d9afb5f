package ignore

import "strings"

// A pattern is what git's wildmatch understands, as far as it is more than plain text.
type pattern []token

// A token is a part of a pattern that is matched at once.
type token struct {
	kind tokenKind
	text string     // of a literal
	set  *[4]uint64 // of a class: a bit for each byte
}

type tokenKind byte

const (
	literal    tokenKind = iota
	any1                 // ?
	class                // [a-z]
	star                 // *: anything but a slash
	folders              // **/: nothing, or anything up to a slash and that
	upToSlash            // **\/: anything up to a slash and that
	everything           // ** at the end
)

// compile reads a pattern, of a path or of a name alone. It is false if the pattern can match nothing, since a class is not
// closed or nothing follows its last backslash.
func (p *pattern) compile(source string, path, fold bool) bool {
	first := true // of an element of a path
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

// add puts a token to the end, or two literals together.
func (p *pattern) add(t token) {
	if last := len(*p) - 1; t.kind == literal && last >= 0 && (*p)[last].kind == literal {
		(*p)[last].text += t.text
		return
	}
	*p = append(*p, t)
}

// nextToken reads one, and tells its size, 0 if it is broken. Two stars are more than one if they are a whole element.
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
	case '\\': // what follows is not folded, so that git does not find A by \A if case does not count
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

// mark is a place to come back to: what stands before it may take more of the text.
type mark struct{ token, text int }

// match tells whether the whole of a text matches. It only ever comes back to the last star and to the last of those that take
// slashes: whatever could be had by coming back to one before, these can have as well.
func (p pattern) match(text string) bool {
	lastStar, lastFolders := mark{token: -1}, mark{token: -1}
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
				lastStar = mark{i, at}
				continue
			case folders:
				i++
				lastFolders, lastStar.token = mark{i, at}, -1
				continue
			case upToSlash:
				lastFolders, lastStar.token = mark{i + 1, at}, -1
			default:
				if size := t.size(text[at:]); size > 0 {
					at += size
					i++
					continue
				}
			}
		}
		switch {
		case lastStar.further(text):
			at, i = lastStar.text, lastStar.token
		case lastFolders.nextFolder(text):
			at, i, lastStar.token = lastFolders.text, lastFolders.token, -1
		default:
			return false
		}
	}
}

// size is how much of a text a token takes at its beginning, 0 if it does not match.
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

// further lets a star take one byte more.
func (m *mark) further(text string) bool {
	if m.token < 0 || m.text == len(text) || text[m.text] == '/' {
		return false
	}
	m.text++
	return true
}

// nextFolder lets **/ take one element more.
func (m *mark) nextFolder(text string) bool {
	if m.token < 0 {
		return false
	}
	slash := strings.IndexByte(text[m.text:], '/')
	m.text += slash + 1
	return slash >= 0
}
