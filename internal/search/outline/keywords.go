package outline

import (
	"slices"
	"strings"
	"sync"
)

// A keyword begins a declaration.
type keyword struct {
	kind string
	// holds: the contents of the body are members of the declaration, and are outlined.
	holds bool
	// space: the contents of the body are outlined, without an owner.
	space bool
}

// outlineKeywords outlines languages in which a keyword begins each declaration.
func outlineKeywords(language string) func(content []byte) []Symbol {
	newlines := language == "kotlin" || language == "swift" || language == "scala" || language == "graphql"
	return func(content []byte) []Symbol {
		k := keywords{scanner: newScanner(language, content), language: language, words: declaring()[language], newlines: newlines}
		k.walk(0, len(k.tokens), "")
		return k.found
	}
}

type keywords struct {
	*scanner
	language string
	words    map[string]keyword
	newlines bool // the end of a line ends a statement
}

// walk reads the declarations between two tokens. It skips other braces.
func (k keywords) walk(from, to int, owner string) {
	for i := from; i < to; {
		word, ok := k.keyword(i)
		if !ok {
			i = k.past(i)
			continue
		}
		i = max(i+1, k.declaration(word, i, to, owner))
	}
}

// keyword returns what a token declares, or false if it is a name here.
func (k keywords) keyword(i int) (keyword, bool) {
	if !k.isName(i) {
		return keyword{}, false
	}
	switch k.text(i - 1) {
	case ".", "::", "->", "new", "use":
		return keyword{}, false
	}
	text, before := k.text(i), k.text(i-1)
	word, ok := k.words[text]
	switch {
	case word.kind == "constant":
		next := k.text(i + 1)
		ok = (before == "pub" || before == ")") && next != "fn" && next != "unsafe"
	case before == "enum" && word.kind == "class" && k.language != "php":
		word.kind = "enum"
	}
	return word, ok
}

// declarations has a line for each language: the kinds of declarations, with a + if the contents of
// the body are members and a / if they have no owner; after a colon the keywords, if they differ
// from the kind.
const declarations = `
rust function:fn struct enum union type trait+ impl+ module/:mod macro:macro_rules constant:const,static
kotlin function:fun,def class+ interface+ object+ trait+ type:typealias
scala function:fun,def class+ interface+ object+ trait+ type:typealias
swift function:func,init class+ struct+ enum+ protocol+ extension+ actor+ type:typealias
php function class+ interface+ trait+ enum+ namespace/
protobuf message+ service+ function:rpc enum type interface input union scalar directive query mutation subscription fragment
graphql message+ service+ function:rpc enum type interface input union scalar directive query mutation subscription fragment
`

// declaring maps languages to their keywords.
var declaring = sync.OnceValue(func() map[string]map[string]keyword {
	all := map[string]map[string]keyword{}
	for line := range strings.Lines(strings.TrimSpace(declarations)) {
		fields := strings.Fields(line)
		all[fields[0]] = map[string]keyword{}
		for _, field := range fields[1:] {
			kind, words, named := strings.Cut(field, ":")
			word := keyword{kind: strings.TrimRight(kind, "+/"), holds: strings.HasSuffix(kind, "+"), space: strings.HasSuffix(kind, "/")}
			if !named {
				words = word.kind
			}
			for text := range strings.SplitSeq(words, ",") {
				all[fields[0]][text] = word
			}
		}
	}
	return all
})

// declaration reads one declaration and returns the token after it.
func (k keywords) declaration(word keyword, i, to int, owner string) int {
	name, at, next := k.name(word, i)
	if name == "" && word.kind != "object" {
		return i + 1
	}
	open, last := k.body(next, to, k.newlines, false)
	if equals := k.equalsBefore(next, open, last); k.newlines && equals > 0 {
		open, last = -1, k.end(equals, to)
	}
	if word.space && open < 0 { // mod x; only declares that a file exists
		return last + 1
	}
	inner := owner
	if name != "" {
		if word.kind == "function" {
			word.kind = functionKind(owner)
		}
		k.addNamed(word.kind, owner+name, at, last)
		inner = cut(owner+name) + "."
	}
	switch {
	case word.holds:
		k.within(open, last, func(from, to int) { k.walk(from, to, inner) })
	case word.space:
		k.within(open, last, func(from, to int) { k.walk(from, to, owner) })
	}
	return last + 1
}

// equalsBefore returns the = of a declaration whose value is an expression, or 0.
func (k keywords) equalsBefore(from, open, last int) int {
	to := last
	if open >= 0 {
		to = open
	}
	for i := from; i < to; i = k.past(i) {
		if k.text(i) == "=" {
			return i
		}
	}
	return 0
}

// name reads the name after a keyword. next is the token after it; name is empty if there is none.
func (k keywords) name(word keyword, i int) (name string, at, next int) {
	at = i + 1
	switch {
	case word.kind == "impl":
		return k.implemented(i)
	case word.kind == "macro":
		at++ // the !
	case k.text(i) == "init" && (k.text(at) == "(" || k.text(at) == "?" || k.text(at) == "<"):
		return "init", i, at
	case k.text(at) == "&", k.text(at) == "@", word.kind == "constant" && k.text(at) == "mut":
		at++
	}
	at = k.pastAngle(at)
	if text := k.text(at); strings.HasPrefix(text, "`") { // a quoted name may be any words
		return strings.Trim(text, "`"), at, at + 1
	}
	if !k.isName(at) {
		return "", at, at
	}
	last := at
	for {
		dot := k.pastAngle(last + 1) // List<T>.second
		if (k.text(dot) != "." && k.text(dot) != "\\") || !k.isName(dot+1) {
			break
		}
		last = dot + 1
	}
	return k.code[k.tokens[at].start:k.tokens[last].end], at, last + 1
}

// implemented reads the type in impl<T> Trait for Type<T>.
func (k keywords) implemented(i int) (name string, at, next int) {
	at = k.pastAngle(i + 1)
	for j, n := at, 0; j < len(k.tokens) && n < maxLookahead; n++ {
		switch k.text(j) {
		case "{", ";", "where":
			return k.lastOfPath(at)
		case "for":
			at = j + 1
		case "<":
			after := k.pastAngle(j)
			if after == j { // never closed
				return "", at, at
			}
			j = after
			continue
		}
		j = k.past(j)
	}
	return "", at, at
}

// lastOfPath reads the last name of &'a mut a::b::C.
func (k keywords) lastOfPath(i int) (name string, at, next int) {
	for slices.Contains([]string{"&", "mut", "dyn", "[", "("}, k.text(i)) || strings.HasPrefix(k.text(i), "'") {
		i++
	}
	for k.isName(i) && k.text(i+1) == "::" {
		i += 2
	}
	if !k.isName(i) {
		return "", i, i
	}
	return k.text(i), i, i + 1
}
