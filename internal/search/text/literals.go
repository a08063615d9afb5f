package text

import (
	"math"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLiterals is how many literals are searched at once; more take longer than the automaton.
const maxLiterals = 4

// A literal is text that a match contains. With fold its letters A to Z are lower case and stand for both cases.
type literal struct {
	text string
	fold bool
}

// knowledge is what is known of every match of a pattern, or of a part of it.
type knowledge struct {
	whole   []literal // all the texts that match; nil if they are too many
	inexact bool      // of the texts in whole some may not match, by their place or case
	some    []literal // each match contains one of these; nil if none are known
}

// required returns literals, one of which is in every line that matches, and whether all lines that contain one match.
func (k knowledge) required() (set []literal, sure bool) {
	complete := k.whole != nil && !k.inexact && !slices.ContainsFunc(k.whole, func(l literal) bool {
		return l.text == "" || strings.ContainsAny(l.text, "\r\n")
	})
	if complete {
		return k.whole, true
	}
	return k.some, false
}

// learn finds the literals of a pattern.
func learn(re *syntax.Regexp) knowledge {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return exactly(literal{})
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return knowledge{whole: []literal{{}}, inexact: true}
	case syntax.OpLiteral:
		return learnLiteral(re.Rune, re.Flags&syntax.FoldCase != 0)
	case syntax.OpCharClass:
		return learnClass(re.Rune)
	case syntax.OpCapture:
		return learn(re.Sub[0])
	case syntax.OpPlus:
		return knowledge{some: learn(re.Sub[0]).some}
	case syntax.OpRepeat:
		if re.Min > 0 {
			return knowledge{some: learn(re.Sub[0]).some}
		}
	case syntax.OpQuest:
		return either([]knowledge{learn(re.Sub[0]), exactly(literal{})})
	case syntax.OpConcat:
		return inTurn(learnAll(re.Sub))
	case syntax.OpAlternate:
		return either(learnAll(re.Sub))
	}
	return knowledge{}
}

func learnAll(parts []*syntax.Regexp) []knowledge {
	known := make([]knowledge, len(parts))
	for i, part := range parts {
		known[i] = learn(part)
	}
	return known
}

func exactly(texts ...literal) knowledge {
	return knowledge{whole: texts, some: better(nil, texts)}
}

// learnLiteral takes characters one by one where some of them have no single spelling.
func learnLiteral(runes []rune, fold bool) knowledge {
	plain := !slices.ContainsFunc(runes, func(r rune) bool { return !spelled(r, fold) })
	if plain && !fold {
		return exactly(literal{text: string(runes)})
	}
	if plain {
		return exactly(literal{text: lower(string(runes)), fold: true})
	}
	if len(runes) == 1 {
		return knowledge{}
	}
	var known []knowledge
	for _, r := range runes {
		known = append(known, learnLiteral([]rune{r}, fold))
	}
	return inTurn(known)
}

// spelled tells whether a character is written with the same bytes wherever it matches, but for the case of A to Z. U+FFFD
// is not: it is also every byte that belongs to no character.
func spelled(r rune, fold bool) bool {
	return r < utf8.RuneSelf || r != utf8.RuneError && (!fold || unicode.SimpleFold(r) == r)
}

// learnClass spells out a class of a few characters.
func learnClass(ranges []rune) knowledge {
	var texts []literal
	for i := 0; i < len(ranges); i += 2 {
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			if len(texts) == maxLiterals || r == utf8.RuneError {
				return knowledge{}
			}
			texts = append(texts, literal{text: string(r)})
		}
	}
	return exactly(texts...)
}

// either is what is known of alternatives.
func either(parts []knowledge) knowledge {
	k := parts[0]
	for _, part := range parts[1:] {
		k.inexact = k.inexact || part.inexact
		k.whole = union(k.whole, part.whole)
		k.some = union(k.some, part.some)
	}
	k.some = better(k.some, k.whole)
	return k
}

// union returns nil if either is not known or both together are too many.
func union(a, b []literal) []literal {
	if a == nil || b == nil {
		return nil
	}
	both := slices.Clone(a)
	for _, l := range b {
		if !slices.Contains(both, l) {
			both = append(both, l)
		}
	}
	if len(both) > maxLiterals {
		return nil
	}
	return both
}

// inTurn is what is known of parts that follow each other: their literals are joined as long as they are few.
func inTurn(parts []knowledge) knowledge {
	k := exactly(literal{})
	run := k.whole
	for _, part := range parts {
		k.inexact = k.inexact || part.inexact
		k.some = better(k.some, part.some)
		joined, mixed := product(run, part.whole)
		k.inexact = k.inexact || mixed
		if joined == nil {
			k.whole = nil
			k.some = better(k.some, run)
			joined = part.whole
		}
		if joined == nil {
			joined = []literal{{}}
		}
		run = joined
	}
	k.some = better(k.some, run)
	if k.whole != nil {
		k.whole = run
	}
	return k
}

// product joins each of a with each of b. It returns nil if b is not known or the product is too large, and mixed if the case of letters
// was forgotten.
func product(a, b []literal) (joined []literal, mixed bool) {
	if b == nil || len(a)*len(b) > maxLiterals {
		return nil, false
	}
	joined = make([]literal, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			l := literal{text: x.text + y.text, fold: x.fold || y.fold}
			if l.fold {
				l.text = lower(l.text)
				mixed = mixed || x.fold != y.fold && x.text != "" && y.text != ""
			}
			joined = append(joined, l)
		}
	}
	return joined, mixed
}

// lower makes A to Z lower case, and nothing else.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] += 'a' - 'A'
		}
	}
	return string(b)
}

// better returns the literals that are the rarer ones.
func better(a, b []literal) []literal {
	if rarity(b) > rarity(a) {
		return b
	}
	return a
}

// rarity of literals is that of the most common one.
func rarity(set []literal) int {
	if len(set) == 0 {
		return 0
	}
	least := math.MaxInt
	for _, l := range set {
		first, second := l.rarest()
		score := min(len(l.text), 8)
		if len(l.text) > 0 {
			score += rank(l.text[first])
		}
		if len(l.text) > 1 {
			score += rank(l.text[second])
		}
		least = min(least, score)
	}
	return max(0, least-2*(len(set)-1))
}

// rarest returns the offsets of the two rarest bytes, in the order of the text; both are 0 in a text of one byte.
func (l literal) rarest() (first, second int) {
	if len(l.text) < 2 {
		return 0, 0
	}
	first, second = 0, 1
	for i := 2; i < len(l.text); i++ {
		if rank(l.text[first]) > rank(l.text[second]) {
			first, second = second, first
		}
		if rank(l.text[i]) > rank(l.text[first]) {
			first = i
		}
	}
	return min(first, second), max(first, second)
}

// rank is how rare a byte is in prose and source; the rarest have the highest.
func rank(c byte) int {
	const common = " etaoinsrhldcumfpgwyb.,\"-()_v/k:=*'`0x1;>#2|{}<3j[]!q5z4698&7?\t"
	if n := strings.IndexByte(common, c); n >= 0 {
		return n
	}
	return len(common)
}
