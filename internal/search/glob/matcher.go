package glob

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A matcher matches one pattern without braces. Most patterns have a form for which comparing both
// ends of a path is enough.
type matcher struct {
	form   form
	prefix string // prefix of every path that matches
	suffix string // suffix of every path that matches
	tokens []token
	leaf   int // the first token that matches only the last path element, or -1
}

type form byte

const (
	other   form = iota // matched by the tokens
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

// leafOf returns the index of the first token after the last **/ if these tokens match no slash, so
// that they can match the last path element only. Otherwise it returns -1.
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

// formOf returns the form of the tokens, given by those between a prefix and a suffix.
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

// A backtrack is a point to return to: the star before it may take more of the path.
type backtrack struct{ token, path int }

// walk matches token by token. It only backtracks to the last * and the last **/, because these can
// match whatever an earlier one could.
func (m *matcher) walk(path string) bool {
	lastStar, lastFolders := backtrack{token: -1}, backtrack{token: -1}
	at, i := 0, 0
	for at < len(path) {
		if i < len(m.tokens) {
			switch m.tokens[i].kind {
			case everything:
				return true
			case folders:
				i++
				lastFolders, lastStar.token = backtrack{i, at}, -1
				continue
			case star:
				i++
				lastStar = backtrack{i, at}
				continue
			}
			if size := m.tokens[i].size(path[at:]); size > 0 {
				at += size
				i++
				continue
			}
		}
		if !lastStar.extend(path) && !lastFolders.extendFolder(path, m.leaf) {
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

// size returns how many bytes at the start of the path the token matches, or 0.
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

// extend lets a star match one more character. If that is impossible, it discards the star.
func (m *backtrack) extend(path string) bool {
	if m.token < 0 || path[m.path] == '/' {
		m.token = -1
		return false
	}
	_, size := utf8.DecodeRuneInString(path[m.path:])
	m.path += size
	return true
}

// extendFolder lets **/ match one more path element, or all up to the last one if that is enough.
func (m *backtrack) extendFolder(path string, leaf int) bool {
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
