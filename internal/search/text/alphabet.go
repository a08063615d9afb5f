package text

import (
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// An alphabet partitions characters into classes. A pattern treats all characters of a class alike.
type alphabet struct {
	ofByte     [256]uint8 // the class of an ASCII character; nonASCII for other bytes
	starts     []rune     // the first character of each range beyond ASCII, in order
	rangeClass []int      // the class of each range
	word       []bool     // for each class, whether its characters match \w
	size       int        // the number of classes, including those that are not characters
	invalid    int        // the class of a byte that is not part of valid UTF-8

	lineFeed int
}

// Classes of input that is not a character.
const (
	end         = iota // end of the data
	nonASCII           // first byte of a character that is not ASCII
	invalidByte        // byte that is not part of valid UTF-8, unless it is treated as U+FFFD
	firstClass
)

// A charset is the set of characters that one position of a pattern matches: pairs of the first and
// last character of a range, in order.
type charset []rune

// charsetOf returns the characters that an instruction matches.
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

// newAlphabet returns the coarsest alphabet that distinguishes the sets, and the classes of each
// set. If the pattern has word boundaries, words holds the word characters, and the alphabet
// distinguishes them too.
func newAlphabet(sets []charset, words charset) (a *alphabet, classes [][]int) {
	own := []charset{{'\n', '\n'}, {utf8.RuneSelf, unicode.MaxRune}, words}
	all := slices.Concat(own, sets)
	starts := boundaries(all)
	class, size := partition(starts, all)

	a = &alphabet{size: size}
	ascii := 0
	for b := range a.ofByte {
		if b >= utf8.RuneSelf {
			a.ofByte[b] = nonASCII
			continue
		}
		if ascii+1 < len(starts) && int(starts[ascii+1]) <= b {
			ascii++
		}
		a.ofByte[b] = uint8(class[ascii])
	}
	a.starts, a.rangeClass = starts[ascii+1:], class[ascii+1:]
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
		return a.rangeClass[0]
	}
	i, exact := slices.BinarySearch(a.starts, r)
	if !exact {
		i--
	}
	return a.rangeClass[i]
}

// boundaries returns the start of each range that lies wholly inside or outside every set.
func boundaries(sets []charset) []rune {
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

// partition assigns the same class to ranges that are in the same sets. It returns the class of
// each range and the number of classes.
func partition(starts []rune, sets []charset) (class []int, size int) {
	class = make([]int, len(starts))
	size = 1
	for _, set := range sets {
		inside := map[int]int{} // new class of a range in the set, by its old class
		eachRange(set, starts, func(i int) {
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

// compact renumbers classes without gaps. A gap arises where a set takes all of a class. ASCII
// comes first, so the numbers of its classes fit into a byte.
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

// classesOf returns the classes of the characters in a set.
func classesOf(set charset, starts []rune, class []int) []int {
	var of []int
	eachRange(set, starts, func(i int) { of = append(of, class[i]) })
	slices.Sort(of)
	return slices.Compact(of)
}

// eachRange calls f with the index of each range that is in the set.
func eachRange(set charset, starts []rune, f func(i int)) {
	for i := 0; i < len(set); i += 2 {
		at, _ := slices.BinarySearch(starts, set[i])
		for ; at < len(starts) && starts[at] <= set[i+1]; at++ {
			f(at)
		}
	}
}
