package corpus

import (
	"bytes"
	varint "encoding/binary"
)

// A gramBuilder collects the trigrams of texts that are added one by one, in order. It reads each
// text once, keeps the trigrams it found, and sorts them all by trigram in one pass at the end. Its
// tables are outside the heap.
type gramBuilder struct {
	classes *classTable
	tables  *arena
	// For each trigram, the last text that has it; texts are numbered from 1 here.
	seen      []uint32
	before    []uint32 // like seen, but before the current text; reused while lists are written
	size      []uint32 // size of each list in bytes
	count     []uint32 // number of texts that have each trigram
	found     []uint32 // the trigrams of all texts, one text after another
	ends      []uint32 // the end of each text in found
	bytes     int64    // total size of the lists
	foldTexts []uint32
}

// maxGrams is the maximum number of trigrams found in all texts of a builder.
const maxGrams = 32 << 20

func newGramBuilder(classes *classTable) *gramBuilder {
	const tables = 4 * 4 * trigramCount
	b := &gramBuilder{classes: classes, tables: newArena(tables+4*maxGrams, false)}
	b.seen = b.tables.numbers(0, trigramCount)
	b.before = b.tables.numbers(4*trigramCount, trigramCount)
	b.size = b.tables.numbers(8*trigramCount, trigramCount)
	b.count = b.tables.numbers(12*trigramCount, trigramCount)
	b.found = b.tables.numbers(tables, maxGrams)[:0]
	return b
}

// close releases the memory of the tables.
func (b *gramBuilder) close() { b.tables.release() }

// add adds the next text, which may be empty.
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
		b.foldTexts = append(b.foldTexts, id-1)
	}
	b.ends = append(b.ends, uint32(len(b.found)))
}

// collect appends the trigrams of a text to found, each once.
func (b *gramBuilder) collect(text []byte, id uint32) {
	if len(text) < 3 {
		return
	}
	seen, classes := b.seen[:trigramCount], b.classes
	n := len(b.found)
	found := b.found[:n+maxTrigrams(text)+1]
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

// maxTrigrams returns the maximum number of different trigrams of a text.
func maxTrigrams(text []byte) int { return min(len(text), trigramCount) }

// fits reports whether a text can be added without the lists growing beyond the given size.
func (b *gramBuilder) fits(text []byte, bytes int64) bool {
	return len(b.found)+maxTrigrams(text) < cap(b.found) && b.bytes+int64(maxTrigrams(text)) <= bytes
}

// finish returns the trigrams of all texts. The caller owns a reference to their memory.
func (b *gramBuilder) finish() *trigrams {
	texts := len(b.ends)
	x := &trigrams{covered: texts, foldTexts: b.foldTexts}
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
	b.layOut(x)
	b.write(x)
	return x
}

// layOut sets where each list begins, and marks the trigrams that have none.
func (b *gramBuilder) layOut(x *trigrams) {
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
	at := b.seen // the next write offset of each list
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
