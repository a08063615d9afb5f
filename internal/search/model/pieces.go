package model

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
