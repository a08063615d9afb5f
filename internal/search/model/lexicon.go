package model

import (
	"math"
	"slices"

	"remit/internal/search/tokenize"
)

// Lexicon finds the rows that stand for words. It is read where it lies: nothing is built
// when a table is opened.
type Lexicon struct {
	starts  string // where each bucket of entries begins, four bytes each
	entries string // a head of four bytes (length, price, row), then the word
	mask    uint32 // the number of buckets, less one
	rows    int
}

// Token is a row that stands for words of a text, and how much it counts there.
type Token struct {
	Row    uint16
	Factor uint16 // in parts of Whole
}

// Whole is the factor of a word that a text has once.
const Whole = 256

const head = 4 // bytes before the word of an entry

// Knows says whether any word of a text has a row, its own or one that its other forms share:
// a text without one has no meaning, only pieces of words.
func (l *Lexicon) Knows(text string) bool {
	for word := range tokenize.In(text) {
		if _, ok := l.row(word); ok {
			return true
		}
	}
	return false
}

// Tokens appends the rows of the first words of a text, each once and in the order of
// rows. A word that is there n times counts 1 + log n; an unknown one is taken apart.
func (l *Lexicon) Tokens(dst []Token, text string, limit int) []Token {
	start := len(dst)
	for word := range tokenize.In(text) {
		if limit--; limit < 0 {
			break
		}
		if row, ok := l.row(word); ok {
			dst = append(dst, Token{row, Whole})
			continue
		}
		dst = l.pieces(dst, word)
	}
	return dst[:start+merge(dst[start:])]
}

// row finds the row of a word, or of its stem.
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

// find looks a word up by its hash: its row and its price as a piece.
func (l *Lexicon) find(h uint32, word []byte) (row uint16, price uint8, ok bool) {
	bucket := 4 * int(h&l.mask)
	at, end := uint32At(l.starts, bucket), uint32At(l.starts, bucket+4)
	for at < end {
		entry := l.entries[at:end]
		size := head + uint32(entry[0])
		if string(word) == entry[head:size] {
			return uint16(entry[2]) | uint16(entry[3])<<8, entry[1], true
		}
		at += size
	}
	return 0, 0, false
}

// merge joins tokens of one row and returns how many are left.
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

// factor dampens what is there more than once.
func factor(sum int) uint16 {
	if sum <= Whole {
		return uint16(sum)
	}
	return uint16(math.Round(Whole * (1 + math.Log(float64(sum)/Whole))))
}

const (
	offset32 = 2166136261
	prime32  = 16777619
)

// hash is FNV-1a, which can be had of every prefix on the way.
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
	shortest  = 3  // letters of a piece
	longest   = 20 // likewise
	skipPrice = 80 // for a letter that is in no piece
	most      = 68 // bytes of a word that are looked at, more than any word has
)

// pieces appends the rows of the parts that a word is best made of: those whose prices add
// up to least, which are lower the more common a part is.
func (l *Lexicon) pieces(dst []Token, word []byte) []Token {
	word = word[:min(len(word), most)]
	var best [most + 1]int32  // price of the first n bytes
	var from [most + 1]uint8  // where the last piece of them begins
	var rows [most + 1]uint16 // its row
	for i := range word {
		best[i+1] = maxPrice
	}
	for start := range word {
		l.extend(word, start, &best, &from, &rows)
	}
	for end := len(word); end > 0; end = int(from[end]) {
		if size := end - int(from[end]); size >= shortest {
			dst = append(dst, Token{rows[end], uint16(min(Whole, 2*Whole*size/len(word)))})
		}
	}
	return dst
}

const maxPrice = 1 << 30

// extend tries every piece that begins at a place, and leaving out a letter.
func (l *Lexicon) extend(word []byte, start int, best *[most + 1]int32, from *[most + 1]uint8, rows *[most + 1]uint16) {
	if price := best[start] + skipPrice; price < best[start+1] {
		best[start+1], from[start+1] = price, uint8(start)
	}
	h := uint32(offset32)
	for end := start + 1; end <= len(word) && end-start <= longest; end++ {
		h = (h ^ uint32(word[end-1])) * prime32
		if end-start < shortest {
			continue
		}
		row, price, ok := l.find(h, word[start:end])
		if ok && price > 0 && best[start]+int32(price) < best[end] {
			best[end], from[end], rows[end] = best[start]+int32(price), uint8(start), row
		}
	}
}
