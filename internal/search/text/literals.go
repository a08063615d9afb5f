package text

import (
	"math"
	"math/bits"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxLiterals = 64 // maximum kept of a pattern
	fewLiterals = 4  // this many are worth searching at any length; more must be longer
	trigram     = 3
)

// A Literal is text that a match contains. If Fold is set, its letters A to Z are in lower case and
// match both cases.
type Literal struct {
	Text string
	Fold bool
}

func (l Literal) hasNewline() bool { return strings.Contains(l.Text, "\n") }

// literalInfo describes the literals in the matches of a pattern or of a part of it.
type literalInfo struct {
	whole   []Literal // all texts that match; nil if there are too many
	inexact bool      // some texts in whole may not match, because of their place or case
	some    []Literal // each match contains one of these; nil if none are known
}

// needs returns literals of three bytes or more. Every line that matches contains at least one of
// them.
func needs(re *syntax.Regexp) []Literal {
	set, _ := extractor{limit: maxLiterals, trigrams: true}.extract(re).required()
	if !haveTrigrams(set) {
		return nil
	}
	return set
}

// needles returns literals that are worth searching for. Every line that matches contains at least
// one of them. exact reports whether every line that contains one matches.
func needles(re *syntax.Regexp) (set []Literal, exact bool) {
	few, exact := extractor{limit: fewLiterals}.extract(re).required()
	if exact {
		return few, true
	}
	many, exact := extractor{limit: maxLiterals, trigrams: true}.extract(re).required()
	if (exact || few == nil) && haveTrigrams(many) {
		return many, exact
	}
	return few, false
}

// required returns literals of which every matching line contains at least one. exact reports
// whether every line that contains one matches.
func (k literalInfo) required() (set []Literal, exact bool) {
	complete := k.whole != nil && !k.inexact && !slices.ContainsFunc(k.whole, func(l Literal) bool {
		return l.Text == "" || strings.Contains(l.Text, "\n")
	})
	if complete {
		return k.whole, true
	}
	return k.some, false
}

// An extractor extracts the literals of a pattern.
type extractor struct {
	limit    int  // maximum number of literals to keep
	trigrams bool // prefer literals of three bytes or more
}

// extract returns the literals of a pattern.
func (l extractor) extract(re *syntax.Regexp) literalInfo {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return l.exactly(Literal{})
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return literalInfo{whole: []Literal{{}}, inexact: true}
	case syntax.OpLiteral:
		return l.extractLiteral(re.Rune, re.Flags&syntax.FoldCase != 0)
	case syntax.OpCharClass:
		return l.extractClass(re.Rune)
	case syntax.OpCapture:
		return l.extract(re.Sub[0])
	case syntax.OpPlus:
		return literalInfo{some: l.extract(re.Sub[0]).some}
	case syntax.OpRepeat:
		if re.Min > 0 {
			return literalInfo{some: l.extract(re.Sub[0]).some}
		}
	case syntax.OpQuest:
		return l.alternation([]literalInfo{l.extract(re.Sub[0]), l.exactly(Literal{})})
	case syntax.OpConcat:
		return l.concatenation(l.extractAll(re.Sub))
	case syntax.OpAlternate:
		return l.alternation(l.extractAll(re.Sub))
	}
	return literalInfo{}
}

func (l extractor) extractAll(parts []*syntax.Regexp) []literalInfo {
	known := make([]literalInfo, len(parts))
	for i, part := range parts {
		known[i] = l.extract(part)
	}
	return known
}

func (l extractor) exactly(texts ...Literal) literalInfo {
	return literalInfo{whole: texts, some: l.better(nil, texts)}
}

// extractLiteral handles characters one by one if some of them can be encoded in more than one way.
func (l extractor) extractLiteral(runes []rune, fold bool) literalInfo {
	plain := !slices.ContainsFunc(runes, func(r rune) bool { return !spelled(r, fold) })
	if plain && !fold {
		return l.exactly(Literal{Text: string(runes)})
	}
	if plain {
		return l.exactly(Literal{Text: lower(string(runes)), Fold: true})
	}
	if len(runes) == 1 {
		return literalInfo{}
	}
	var known []literalInfo
	for _, r := range runes {
		known = append(known, l.extractLiteral([]rune{r}, fold))
	}
	return l.concatenation(known)
}

// spelled reports whether a character has the same bytes wherever it matches, apart from the case
// of A to Z. U+FFFD does not: it also stands for every byte of invalid UTF-8.
func spelled(r rune, fold bool) bool {
	return r < utf8.RuneSelf || r != utf8.RuneError && (!fold || unicode.SimpleFold(r) == r)
}

// extractClass lists the characters of a small class.
func (l extractor) extractClass(ranges []rune) literalInfo {
	var texts []Literal
	for i := 0; i < len(ranges); i += 2 {
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			if len(texts) == l.limit || r == utf8.RuneError {
				return literalInfo{}
			}
			texts = append(texts, Literal{Text: string(r)})
		}
	}
	return l.exactly(texts...)
}

// alternation combines alternatives.
func (l extractor) alternation(parts []literalInfo) literalInfo {
	k := parts[0]
	for _, part := range parts[1:] {
		k.inexact = k.inexact || part.inexact
		k.whole = l.union(k.whole, part.whole)
		k.some = l.union(k.some, part.some)
	}
	k.some = l.better(k.some, k.whole)
	return k
}

// union returns nil if either list is unknown or the union is too large.
func (l extractor) union(a, b []Literal) []Literal {
	if a == nil || b == nil {
		return nil
	}
	both := slices.Clone(a)
	for _, one := range b {
		if !slices.Contains(both, one) {
			both = append(both, one)
		}
	}
	if len(both) > l.limit {
		return nil
	}
	return both
}

// concatenation combines consecutive parts. It joins their literals as long as there are few.
func (l extractor) concatenation(parts []literalInfo) literalInfo {
	k := l.exactly(Literal{})
	run := k.whole
	for _, part := range parts {
		k.inexact = k.inexact || part.inexact
		k.some = l.better(k.some, part.some)
		joined, mixed := l.product(run, part.whole)
		k.inexact = k.inexact || mixed
		if joined == nil {
			k.whole = nil
			k.some = l.better(k.some, run)
			joined = part.whole
		}
		if joined == nil {
			joined = []Literal{{}}
		}
		run = joined
	}
	k.some = l.better(k.some, run)
	if k.whole != nil {
		k.whole = run
	}
	return k
}

// product joins each of a with each of b. It returns nil if b is unknown or the product is too
// large. mixed reports whether case was lost by joining a literal with Fold and one without.
func (l extractor) product(a, b []Literal) (joined []Literal, mixed bool) {
	if b == nil || len(a)*len(b) > l.limit {
		return nil, false
	}
	joined = make([]Literal, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			one := Literal{Text: x.Text + y.Text, Fold: x.Fold || y.Fold}
			if one.Fold {
				one.Text = lower(one.Text)
				mixed = mixed || x.Fold != y.Fold && x.Text != "" && y.Text != ""
			}
			joined = append(joined, one)
		}
	}
	return joined, mixed
}

// lower converts A to Z to lower case and leaves all other bytes.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] += 'a' - 'A'
		}
	}
	return string(b)
}

// better returns the list of rarer literals.
func (l extractor) better(a, b []Literal) []Literal {
	if l.rarity(b) > l.rarity(a) {
		return b
	}
	return a
}

// rarity returns the rarity of the most common literal, reduced as their number grows. It returns 0
// if the literals do not narrow the search.
func (l extractor) rarity(set []Literal) int {
	const trigrams, each = 1000, 4
	if len(set) == 0 {
		return 0
	}
	least := math.MaxInt
	for _, one := range set {
		least = min(least, one.rarity())
	}
	if least == 0 {
		return 0
	}
	least = max(1, least-each*bits.Len(uint(len(set)-1)))
	if l.trigrams && haveTrigrams(set) {
		return least + trigrams
	}
	return least
}

func haveTrigrams(set []Literal) bool {
	return len(set) > 0 && !slices.ContainsFunc(set, func(l Literal) bool { return len(l.Text) < trigram })
}

// rarity estimates how rare the literal is in text. Rarer literals score higher.
func (l Literal) rarity() int {
	first, second := l.rarest()
	score := min(len(l.Text), 8)
	if len(l.Text) > 0 {
		score += rank(l.Text[first])
	}
	if len(l.Text) > 1 {
		score += rank(l.Text[second])
	}
	return score
}

// rarest returns the offsets of the two rarest bytes, in the order of the text. Both are 0 if the
// text has only one byte.
func (l Literal) rarest() (first, second int) {
	if len(l.Text) < 2 {
		return 0, 0
	}
	first, second = 0, 1
	for i := 2; i < len(l.Text); i++ {
		if rank(l.Text[first]) > rank(l.Text[second]) {
			first, second = second, first
		}
		if rank(l.Text[i]) > rank(l.Text[first]) {
			first = i
		}
	}
	return min(first, second), max(first, second)
}

// rank returns how rare a byte is in prose and source. The rarest bytes have the highest rank.
func rank(c byte) int {
	const common = " etaoinsrhldcumfpgwyb.,\"-()_v/k:=*'`0x1;>#2|{}<3j[]!q5z4698&7?\t"
	if n := strings.IndexByte(common, c); n >= 0 {
		return n
	}
	return len(common)
}
