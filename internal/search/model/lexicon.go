package model

import (
	"math"
	"slices"

	"remit/internal/search/tokenize"
)

// Lexicon maps words to rows of the table. It reads the table in place: opening a table builds
// nothing.
type Lexicon struct {
	starts  string // offset of each bucket of entries, four bytes each
	entries string // a header of four bytes (length, price, row), then the word
	mask    uint32 // number of buckets minus one
	rows    int
}

// Token is a row that represents words of a text, with its weight there.
type Token struct {
	Row    uint16
	Factor uint16 // in units of 1/Whole
}

// UnitFactor is the factor of a word that occurs once.
const UnitFactor = 256

const entryHeader = 4 // bytes before the word of an entry

// HasKnownWord reports whether any word of a text has a row, its own or that of its stem. A text
// without one has no meaning to the model, only parts of words.
func (l *Lexicon) HasKnownWord(text string) bool {
	for word := range tokenize.All(text) {
		if _, ok := l.row(word); ok {
			return true
		}
	}
	return false
}

// Tokens appends the rows of the first limit words of a text to dst, each row once and sorted by
// row. A word that occurs n times has the factor 1 + log n. An unknown word is split into known
// parts.
func (l *Lexicon) Tokens(dst []Token, text string, limit int) []Token {
	start := len(dst)
	for word := range tokenize.All(text) {
		if limit--; limit < 0 {
			break
		}
		if row, ok := l.row(word); ok {
			dst = append(dst, Token{row, UnitFactor})
			continue
		}
		dst = l.parts(dst, word)
	}
	return dst[:start+merge(dst[start:])]
}

// row returns the row of a word, or of its stem.
func (l *Lexicon) row(word []byte) (uint16, bool) {
	if row, _, ok := l.find(hash(word), word); ok {
		return row, true
	}
	stem := tokenize.Stem(word)
	if len(stem) == len(word) {
		return 0, false
	}
	row, _, ok := l.find(hash(stem), stem)
	return row, ok
}

// find looks up a word by its hash, and returns its row and its price as a part of a word.
func (l *Lexicon) find(h uint32, word []byte) (row uint16, price uint8, ok bool) {
	bucket := 4 * int(h&l.mask)
	at, end := uint32At(l.starts, bucket), uint32At(l.starts, bucket+4)
	for at < end {
		entry := l.entries[at:end]
		size := entryHeader + uint32(entry[0])
		if string(word) == entry[entryHeader:size] {
			return uint16(entry[2]) | uint16(entry[3])<<8, entry[1], true
		}
		at += size
	}
	return 0, 0, false
}

// merge joins tokens of the same row, and returns how many are left.
func merge(tokens []Token) int {
	slices.SortFunc(tokens, func(a, b Token) int { return int(a.Row) - int(b.Row) })
	n := 0
	for i := 0; i < len(tokens); n++ {
		row, sum := tokens[i].Row, 0
		for ; i < len(tokens) && tokens[i].Row == row; i++ {
			sum += int(tokens[i].Factor)
		}
		tokens[n] = Token{row, factor(sum)}
	}
	return n
}

// factor dampens repetitions.
func factor(sum int) uint16 {
	if sum <= UnitFactor {
		return uint16(sum)
	}
	return uint16(math.Round(UnitFactor * (1 + math.Log(float64(sum)/UnitFactor))))
}

const (
	offset32 = 2166136261
	prime32  = 16777619
)

// hash returns the FNV-1a hash of a word. It can be computed incrementally for every prefix.
func hash(word []byte) uint32 {
	h := uint32(offset32)
	for _, c := range word {
		h = (h ^ uint32(c)) * prime32
	}
	return h
}

func uint32At(s string, at int) uint32 {
	b := s[at : at+4]
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

const (
	minPartLength = 3  // letters of a part
	maxPartLength = 20 // letters of a part
	skipPrice     = 80 // for a letter that is in no part
	maxBytes      = 68 // bytes of a word that are examined; words are shorter
)

// parts appends the rows of the parts that a word is best split into: those with the lowest total
// price. Common parts have lower prices.
func (l *Lexicon) parts(dst []Token, word []byte) []Token {
	word = word[:min(len(word), maxBytes)]
	var best [maxBytes + 1]int32  // price of the first n bytes
	var from [maxBytes + 1]uint8  // start of the last part of them
	var rows [maxBytes + 1]uint16 // row of that part
	for i := range word {
		best[i+1] = maxPrice
	}
	for start := range word {
		l.extend(word, start, &best, &from, &rows)
	}
	for end := len(word); end > 0; end = int(from[end]) {
		if size := end - int(from[end]); size >= minPartLength {
			dst = append(dst, Token{rows[end], uint16(min(UnitFactor, 2*UnitFactor*size/len(word)))})
		}
	}
	return dst
}

const maxPrice = 1 << 30

// extend tries every part that begins at start, and skipping a letter.
func (l *Lexicon) extend(word []byte, start int, best *[maxBytes + 1]int32, from *[maxBytes + 1]uint8, rows *[maxBytes + 1]uint16) {
	if price := best[start] + skipPrice; price < best[start+1] {
		best[start+1], from[start+1] = price, uint8(start)
	}
	h := uint32(offset32)
	for end := start + 1; end <= len(word) && end-start <= maxPartLength; end++ {
		h = (h ^ uint32(word[end-1])) * prime32
		if end-start < minPartLength {
			continue
		}
		row, price, ok := l.find(h, word[start:end])
		if ok && price > 0 && best[start]+int32(price) < best[end] {
			best[end], from[end], rows[end] = best[start]+int32(price), uint8(start), row
		}
	}
}
