package train

import "remit/internal/search/model"

// uses holds which texts of a batch use which rows.
type uses struct {
	tokens []model.Token // tokens of all texts of the batch; those left out have factor zero
	ends   []int         // end of each text
	heads  []int32       // where the uses of each row begin
	sorted []use
}

type use struct {
	text   uint16
	factor uint16
}

// reset makes room for the tokens of a batch.
func (u *uses) reset(c *corpus, batch []int) {
	u.ends = u.ends[:0]
	n := 0
	for _, pair := range batch {
		for side := range 2 {
			n += len(c.text(2*pair + side))
			u.ends = append(u.ends, n)
		}
	}
	if cap(u.tokens) < n {
		u.tokens, u.sorted = make([]model.Token, n, n+n/4), make([]use, n, n+n/4)
	}
	u.tokens, u.sorted = u.tokens[:n], u.sorted[:n]
}

// text returns the space for the tokens of a text.
func (u *uses) text(i int) []model.Token {
	start := 0
	if i > 0 {
		start = u.ends[i-1]
	}
	return u.tokens[start:u.ends[i]]
}

// sort sorts the tokens by row, and those of a row by text.
func (u *uses) sort(rows int) {
	heads := u.heads[:rows+1]
	clear(heads)
	for _, t := range u.tokens {
		if t.Factor > 0 {
			heads[int(t.Row)+1]++
		}
	}
	for i := range rows {
		heads[i+1] += heads[i]
	}
	start := 0
	for text, end := range u.ends {
		for _, t := range u.tokens[start:end] {
			if t.Factor > 0 {
				u.sorted[heads[t.Row]] = use{uint16(text), t.Factor}
				heads[t.Row]++
			}
		}
		start = end
	}
}

// of returns the uses of a row. Sorting has moved each head to the end of its row.
func (u *uses) of(row int) []use {
	start := int32(0)
	if row > 0 {
		start = u.heads[row-1]
	}
	return u.sorted[start:u.heads[row]]
}
