package text

import (
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// An alphabet sorts characters into classes: a pattern treats all characters of a class alike.
type alphabet struct {
	ofByte  [256]uint8 // the class of an ASCII character; beyond for other bytes
	starts  []rune     // where stretches of characters beyond ASCII begin, in order
	stretch []int      // the class of each stretch
	word    []bool     // for each class, whether it is of \w
	size    int        // how many classes there are, with those that are no characters
	invalid int        // the class of a byte that belongs to no character

	lineFeed int
}

// These are no characters, and have classes of their own.
const (
	end     = iota // the data ends
	beyond         // the first byte of a character that is not ASCII
	garbled        // a byte that belongs to no character, if it is not taken for U+FFFD
	firstClass
)

// A charset is what one place of a pattern takes: pairs of the first and last character of a range, in order.
type charset []rune

// charsetOf returns what an instruction takes.
func charsetOf(in *syntax.Inst) charset {
	switch {
	case in.Op == syntax.InstRuneAny || in.Op == syntax.InstRuneAnyNotNL: // a line has no \n
		return charset{0, unicode.MaxRune}
	case len(in.Rune) != 1:
		return in.Rune
	}
	r := in.Rune[0]
	set := charset{r, r}
	if syntax.Flags(in.Arg)&syntax.FoldCase != 0 {
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			set = append(set, f, f)
		}
	}
	return set
}

// newAlphabet makes the classes that tell the sets apart, and for each set returns its classes.
// Those of words are told from others, if the pattern asks for words.
func newAlphabet(sets []charset, words charset) (a *alphabet, classes [][]int) {
	own := []charset{{'\n', '\n'}, {utf8.RuneSelf, unicode.MaxRune}, words}
	all := slices.Concat(own, sets)
	starts := cut(all)
	class, size := partition(starts, all)

	a = &alphabet{size: size}
	ascii := 0
	for b := range a.ofByte {
		if b >= utf8.RuneSelf {
			a.ofByte[b] = beyond
			continue
		}
		if ascii+1 < len(starts) && int(starts[ascii+1]) <= b {
			ascii++
		}
		a.ofByte[b] = uint8(class[ascii])
	}
	a.starts, a.stretch = starts[ascii+1:], class[ascii+1:]
	a.lineFeed = int(a.ofByte['\n'])
	a.invalid = a.ofRune(utf8.RuneError)
	a.word = make([]bool, a.size)
	for _, c := range classesOf(words, starts, class) {
		a.word[c] = true
	}
	for _, set := range sets {
		classes = append(classes, classesOf(set, starts, class))
	}
	return a, classes
}

// ofRune returns the class of a character beyond ASCII.
func (a *alphabet) ofRune(r rune) int {
	if len(a.starts) == 1 {
		return a.stretch[0]
	}
	i, exact := slices.BinarySearch(a.starts, r)
	if !exact {
		i--
	}
	return a.stretch[i]
}

// cut returns where stretches begin that lie wholly inside or outside of every set.
func cut(sets []charset) []rune {
	starts := []rune{0}
	for _, set := range sets {
		for i := 0; i < len(set); i += 2 {
			starts = append(starts, set[i])
			if set[i+1] < unicode.MaxRune {
				starts = append(starts, set[i+1]+1)
			}
		}
	}
	slices.Sort(starts)
	return slices.Compact(starts)
}

// partition gives the same class to stretches that are in the same sets, and tells how many numbers are taken.
func partition(starts []rune, sets []charset) (class []int, size int) {
	class = make([]int, len(starts))
	size = 1
	for _, set := range sets {
		inside := map[int]int{} // the class of what is in the set, by what it was before
		eachStretch(set, starts, func(i int) {
			to, ok := inside[class[i]]
			if !ok {
				to = size
				inside[class[i]] = to
				size++
			}
			class[i] = to
		})
	}
	return compact(class)
}

// compact numbers classes without gaps, which are left where a set took all of a class. ASCII comes first, so its
// classes have numbers that fit into a byte.
func compact(class []int) ([]int, int) {
	number := map[int]int{}
	for i, c := range class {
		if _, ok := number[c]; !ok {
			number[c] = firstClass + len(number)
		}
		class[i] = number[c]
	}
	return class, firstClass + len(number)
}

// classesOf returns the classes that make up a set.
func classesOf(set charset, starts []rune, class []int) []int {
	var of []int
	eachStretch(set, starts, func(i int) { of = append(of, class[i]) })
	slices.Sort(of)
	return slices.Compact(of)
}

// eachStretch calls f with each stretch that is in the set.
func eachStretch(set charset, starts []rune, f func(i int)) {
	for i := 0; i < len(set); i += 2 {
		at, _ := slices.BinarySearch(starts, set[i])
		for ; at < len(starts) && starts[at] <= set[i+1]; at++ {
			f(at)
		}
	}
}
