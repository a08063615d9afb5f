package glob

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A matcher matches one pattern without braces. Most patterns are of a form that needs no
// more than a look at both ends of a path.
type matcher struct {
	form   form
	prefix string // every path that matches begins with it
	suffix string // and ends with it
	tokens []token
	leaf   int // the token from which on only the last element of a path is matched, or -1
}

type form byte

const (
	other   form = iota // the tokens say
	exact               // prefix
	one                 // prefix*suffix
	deep                // prefix**/*suffix
	named               // prefix**/suffix
	beneath             // prefix/**
)

func newMatcher(pattern string) matcher {
	all := tokens(pattern)
	m := matcher{tokens: all, leaf: leafOf(all)}
	if len(all) > 0 && all[0].kind == literal && !all[0].empty {
		m.prefix = all[0].text
	}
	if n := len(all); n > 0 && all[n-1].kind == literal {
		if slices.ContainsFunc(all, func(t token) bool { return t.empty }) {
			return m // x**/ also matches x
		}
		m.suffix = all[n-1].text
	}
	m.form = formOf(all)
	return m
}

// leafOf is the first of the tokens after the last **/ if they match no slash. Only the last element of a path can be what they match.
func leafOf(all []token) int {
	for i := len(all) - 1; i >= 0; i-- {
		switch t := &all[i]; {
		case t.kind == folders:
			return i + 1
		case t.kind == literal && strings.Contains(t.text, "/"), t.kind == class && t.has('/'):
			return -1
		}
	}
	return -1
}

// formOf tells which form tokens have, by those between a prefix and a suffix.
func formOf(all []token) form {
	if len(all) == 3 && all[0].kind == literal && !all[0].empty && all[1].text == "/" && all[2].kind == everything {
		return beneath
	}
	if len(all) == 0 || len(all) == 1 && all[0].kind == literal {
		return exact
	}
	if all[0].kind == literal {
		all = all[1:]
	}
	suffix := all[len(all)-1].kind == literal
	if suffix {
		all = all[:len(all)-1]
	}
	switch {
	case len(all) == 1 && all[0].kind == star:
		return one
	case len(all) == 1 && all[0].kind == folders && suffix:
		return named
	case len(all) == 2 && all[0].kind == folders && all[1].kind == star:
		return deep
	}
	return other
}

func (m *matcher) match(path string) bool {
	switch m.form {
	case exact:
		return path == m.prefix
	case beneath:
		return strings.HasPrefix(path, m.prefix) && (len(path) == len(m.prefix) || path[len(m.prefix)] == '/')
	}
	left := len(path) - len(m.prefix) - len(m.suffix)
	if left < 0 || !strings.HasSuffix(path, m.suffix) || !strings.HasPrefix(path, m.prefix) {
		return false
	}
	switch m.form {
	case one:
		return strings.IndexByte(path[len(m.prefix):len(m.prefix)+left], '/') < 0
	case deep:
		return left > 0 || m.suffix != ""
	case named:
		return left == 0 || path[len(path)-len(m.suffix)-1] == '/'
	}
	return m.walk(path)
}

// mark is a place to come back to: what stands before it may take more of the path.
type mark struct{ token, path int }

// walk matches token by token. It only ever comes back to the last * and the last **/:
// whatever could be had by coming back to one before, these can have as well.
func (m *matcher) walk(path string) bool {
	lastStar, lastFolders := mark{token: -1}, mark{token: -1}
	at, i := 0, 0
	for at < len(path) {
		if i < len(m.tokens) {
			switch m.tokens[i].kind {
			case everything:
				return true
			case folders:
				i++
				lastFolders, lastStar.token = mark{i, at}, -1
				continue
			case star:
				i++
				lastStar = mark{i, at}
				continue
			}
			if size := m.tokens[i].size(path[at:]); size > 0 {
				at += size
				i++
				continue
			}
		}
		if !lastStar.further(path) && !lastFolders.nextFolder(path, m.leaf) {
			return false
		}
		if lastStar.token < 0 {
			at, i = lastFolders.path, lastFolders.token
			continue
		}
		at, i = lastStar.path, lastStar.token
	}
	return i == len(m.tokens) || m.tokens[i].empty
}

// size is how much of a path a token takes at its beginning, 0 if it does not match.
func (t *token) size(path string) int {
	if t.kind == literal {
		if strings.HasPrefix(path, t.text) {
			return len(t.text)
		}
		return 0
	}
	r, size := utf8.DecodeRuneInString(path)
	switch {
	case t.kind == char && r == utf8.RuneError, t.kind == any1 && r != '/', t.kind == class && t.has(r):
		return size
	}
	return 0
}

// further lets a star take one more character. If there is none, the star is done with.
func (m *mark) further(path string) bool {
	if m.token < 0 || path[m.path] == '/' {
		m.token = -1
		return false
	}
	_, size := utf8.DecodeRuneInString(path[m.path:])
	m.path += size
	return true
}

// nextFolder lets **/ take one more element, or all up to the leaf.
func (m *mark) nextFolder(path string, leaf int) bool {
	if m.token < 0 {
		return false
	}
	slash := strings.IndexByte(path[m.path:], '/')
	if m.token == leaf {
		slash = strings.LastIndexByte(path[m.path:], '/')
	}
	m.path += slash + 1
	return slash >= 0
}
