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
	maxLiterals = 64 // that are kept of a pattern
	fewLiterals = 4  // of any length that are worth looking for; more must be longer
	trigram     = 3
)

// A Literal is text that a match contains. With Fold its letters A to Z are lower case and stand for both cases.
type Literal struct {
	Text string
	Fold bool
}

// knowledge is what is known of every match of a pattern, or of a part of it.
type knowledge struct {
	whole   []Literal // all the texts that match; nil if they are too many
	inexact bool      // of the texts in whole some may not match, by their place or case
	some    []Literal // each match contains one of these; nil if none are known
}

// needs returns literals of three bytes or more, one of which is in every line that matches.
func needs(re *syntax.Regexp) []Literal {
	set, _ := learner{most: maxLiterals, trigrams: true}.learn(re).required()
	if !haveTrigrams(set) {
		return nil
	}
	return set
}

// needles returns literals that are worth looking for, one of which is in every line that matches, and whether all lines
// that contain one match.
func needles(re *syntax.Regexp) (set []Literal, sure bool) {
	few, sure := learner{most: fewLiterals}.learn(re).required()
	if sure {
		return few, true
	}
	many, sure := learner{most: maxLiterals, trigrams: true}.learn(re).required()
	if (sure || few == nil) && haveTrigrams(many) {
		return many, sure
	}
	return few, false
}

// required returns literals, one of which is in every line that matches, and whether all lines that contain one match.
func (k knowledge) required() (set []Literal, sure bool) {
	complete := k.whole != nil && !k.inexact && !slices.ContainsFunc(k.whole, func(l Literal) bool {
		return l.Text == "" || strings.Contains(l.Text, "\n")
	})
	if complete {
		return k.whole, true
	}
	return k.some, false
}

// A learner finds the literals of a pattern.
type learner struct {
	most     int  // literals that are kept
	trigrams bool // those that have any are better than those that have none
}

// learn finds what is known of a pattern.
func (l learner) learn(re *syntax.Regexp) knowledge {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return l.exactly(Literal{})
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return knowledge{whole: []Literal{{}}, inexact: true}
	case syntax.OpLiteral:
		return l.learnLiteral(re.Rune, re.Flags&syntax.FoldCase != 0)
	case syntax.OpCharClass:
		return l.learnClass(re.Rune)
	case syntax.OpCapture:
		return l.learn(re.Sub[0])
	case syntax.OpPlus:
		return knowledge{some: l.learn(re.Sub[0]).some}
	case syntax.OpRepeat:
		if re.Min > 0 {
			return knowledge{some: l.learn(re.Sub[0]).some}
		}
	case syntax.OpQuest:
		return l.either([]knowledge{l.learn(re.Sub[0]), l.exactly(Literal{})})
	case syntax.OpConcat:
		return l.inTurn(l.learnAll(re.Sub))
	case syntax.OpAlternate:
		return l.either(l.learnAll(re.Sub))
	}
	return knowledge{}
}

func (l learner) learnAll(parts []*syntax.Regexp) []knowledge {
	known := make([]knowledge, len(parts))
	for i, part := range parts {
		known[i] = l.learn(part)
	}
	return known
}

func (l learner) exactly(texts ...Literal) knowledge {
	return knowledge{whole: texts, some: l.better(nil, texts)}
}

// learnLiteral takes characters one by one where some of them have no single spelling.
func (l learner) learnLiteral(runes []rune, fold bool) knowledge {
	plain := !slices.ContainsFunc(runes, func(r rune) bool { return !spelled(r, fold) })
	if plain && !fold {
		return l.exactly(Literal{Text: string(runes)})
	}
	if plain {
		return l.exactly(Literal{Text: lower(string(runes)), Fold: true})
	}
	if len(runes) == 1 {
		return knowledge{}
	}
	var known []knowledge
	for _, r := range runes {
		known = append(known, l.learnLiteral([]rune{r}, fold))
	}
	return l.inTurn(known)
}

// spelled tells whether a character is written with the same bytes wherever it matches, but for the case of A to Z. U+FFFD
// is not: it is also every byte that belongs to no character.
func spelled(r rune, fold bool) bool {
	return r < utf8.RuneSelf || r != utf8.RuneError && (!fold || unicode.SimpleFold(r) == r)
}

// learnClass spells out a class of a few characters.
func (l learner) learnClass(ranges []rune) knowledge {
	var texts []Literal
	for i := 0; i < len(ranges); i += 2 {
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			if len(texts) == l.most || r == utf8.RuneError {
				return knowledge{}
			}
			texts = append(texts, Literal{Text: string(r)})
		}
	}
	return l.exactly(texts...)
}

// either is what is known of alternatives.
func (l learner) either(parts []knowledge) knowledge {
	k := parts[0]
	for _, part := range parts[1:] {
		k.inexact = k.inexact || part.inexact
		k.whole = l.union(k.whole, part.whole)
		k.some = l.union(k.some, part.some)
	}
	k.some = l.better(k.some, k.whole)
	return k
}

// union returns nil if either is not known or both together are too many.
func (l learner) union(a, b []Literal) []Literal {
	if a == nil || b == nil {
		return nil
	}
	both := slices.Clone(a)
	for _, one := range b {
		if !slices.Contains(both, one) {
			both = append(both, one)
		}
	}
	if len(both) > l.most {
		return nil
	}
	return both
}

// inTurn is what is known of parts that follow each other: their literals are joined as long as they are few.
func (l learner) inTurn(parts []knowledge) knowledge {
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

// product joins each of a with each of b. It returns nil if b is not known or the product is too large, and mixed if the case of letters
// was forgotten.
func (l learner) product(a, b []Literal) (joined []Literal, mixed bool) {
	if b == nil || len(a)*len(b) > l.most {
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
func (l learner) better(a, b []Literal) []Literal {
	if l.rarity(b) > l.rarity(a) {
		return b
	}
	return a
}

// rarity of literals is that of the most common one, less as there are more of them. It is 0 if they tell nothing.
func (l learner) rarity(set []Literal) int {
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

// rarity is greater the fewer texts are likely to contain the literal.
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

// rarest returns the offsets of the two rarest bytes, in the order of the text; both are 0 in a text of one byte.
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

// rank is how rare a byte is in prose and source; the rarest have the highest.
func rank(c byte) int {
	const common = " etaoinsrhldcumfpgwyb.,\"-()_v/k:=*'`0x1;>#2|{}<3j[]!q5z4698&7?\t"
	if n := strings.IndexByte(common, c); n >= 0 {
		return n
	}
	return len(common)
}
