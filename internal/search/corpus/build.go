package corpus

import (
	"bytes"
	varint "encoding/binary"
)

// A gramBuilder makes the trigrams of texts that are given to it one by one, in order. A text is read once: what was found in
// it is kept until all are there, and then sorted by trigram in one pass. Its tables are outside the heap.
type gramBuilder struct {
	classes *classTable
	tables  *arena
	seen    []uint32 // of each trigram, the last text that has it; texts are counted from 1 here
	before  []uint32 // as seen, before the present text; later, while lists are written
	size    []uint32 // bytes of its list
	count   []uint32 // texts that have it
	found   []uint32 // the trigrams of all texts, one text after another
	ends    []uint32 // of each text in found
	bytes   int64    // of all lists
	strange []uint32
}

// mostGrams is how many trigrams are found at most in all texts of a builder.
const mostGrams = 32 << 20

func newGramBuilder(classes *classTable) *gramBuilder {
	const tables = 4 * 4 * trigramCount
	b := &gramBuilder{classes: classes, tables: newArena(tables+4*mostGrams, false)}
	b.seen = b.tables.numbers(0, trigramCount)
	b.before = b.tables.numbers(4*trigramCount, trigramCount)
	b.size = b.tables.numbers(8*trigramCount, trigramCount)
	b.count = b.tables.numbers(12*trigramCount, trigramCount)
	b.found = b.tables.numbers(tables, mostGrams)[:0]
	return b
}

// close gives back the memory of the tables.
func (b *gramBuilder) close() { b.tables.letGo() }

// add takes the next text, which may have no bytes.
func (b *gramBuilder) add(text []byte) {
	id := uint32(len(b.ends)) + 1
	from := len(b.found)
	b.collect(text, id)
	for _, gram := range b.found[from:] {
		size := sizeOf(id - b.before[gram])
		b.before[gram] = id
		b.size[gram] += size
		b.count[gram]++
		b.bytes += int64(size)
	}
	if bytes.Contains(text, []byte("\u017f")) || bytes.Contains(text, []byte("\u212a")) {
		b.strange = append(b.strange, id-1)
	}
	b.ends = append(b.ends, uint32(len(b.found)))
}

// collect adds the trigrams of a text to those found, each once.
func (b *gramBuilder) collect(text []byte, id uint32) {
	if len(text) < 3 {
		return
	}
	seen, classes := b.seen[:trigramCount], b.classes
	n := len(b.found)
	found := b.found[:n+most(text)+1]
	gram := uint32(classes[text[0]])<<classBits | uint32(classes[text[1]])
	for _, c := range text[2:] {
		gram = gram<<classBits&trigramMask | uint32(classes[c])
		found[n] = gram
		if seen[gram] != id {
			n++
		}
		seen[gram] = id
	}
	b.found = found[:n]
}

// most returns how many different trigrams a text can have.
func most(text []byte) int { return min(len(text), trigramCount) }

// fits tells whether a text can be added, and takes no more than so many bytes with all others.
func (b *gramBuilder) fits(text []byte, bytes int64) bool {
	return len(b.found)+most(text) < cap(b.found) && b.bytes+int64(most(text)) <= bytes
}

// finish returns the trigrams of all texts. The caller holds their memory.
func (b *gramBuilder) finish() *trigrams {
	texts := len(b.ends)
	x := &trigrams{covered: texts, strange: b.strange}
	total := uint32(0)
	for gram, n := range b.count {
		if int(n) > texts/2 && texts > 8 {
			b.size[gram] = 0
		}
		total += b.size[gram]
	}
	x.memory = newArena(trigramTable+int(total), true)
	x.memory.index = true
	x.starts = x.memory.numbers(0, trigramCount+1)
	x.common = x.memory.numbers(4*(trigramCount+1), trigramCount/32)
	x.lists = x.memory.data[trigramTable:]
	b.lay(x)
	b.write(x)
	return x
}

// lay says where each list begins, and which trigrams have none.
func (b *gramBuilder) lay(x *trigrams) {
	at := uint32(0)
	for gram, size := range b.size {
		x.starts[gram] = at
		at += size
		if size == 0 && b.count[gram] > 0 {
			x.common[gram/32] |= 1 << (gram % 32)
		}
	}
	x.starts[trigramCount] = at
}

// write fills the lists.
func (b *gramBuilder) write(x *trigrams) {
	clear(b.before)
	at := b.seen // where each list goes on
	copy(at, x.starts)
	from := uint32(0)
	for i, end := range b.ends {
		id := uint32(i) + 1
		for _, gram := range b.found[from:end] {
			if b.size[gram] == 0 {
				continue
			}
			at[gram] += uint32(varint.PutUvarint(x.lists[at[gram]:], uint64(id-b.before[gram])))
			b.before[gram] = id
		}
		from = end
	}
}
