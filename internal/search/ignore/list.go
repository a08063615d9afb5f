package ignore

import (
	"math"
	"strings"
)

// A verdict is the number of the rule that decided, from 1, less than 0 if it includes again. 0 is none.
type verdict int32

func (v verdict) number() int32 { return max(int32(v), -int32(v)) }

// later is the verdict of the rule that stands further down, which is the one that counts.
func later(a, b verdict) verdict {
	if b.number() > a.number() {
		return b
	}
	return a
}

// A list has the rules of one file, by what has to be looked at to see whether they match. Most are looked up.
type list struct {
	names   table // of entries, wherever they are
	endings table // what names end with, from their last dot on
	paths   table // from the folder of the rules
	wild    []rule
	onPath  bool      // some of wild look at the path
	lasts   [4]uint64 // the bytes with which names end that wild can match
}

// newList reads the rules of a file, nil if there are none. above is what goes before a path that last is asked for.
func newList(content string, fold bool, above string) *list {
	l, any := &list{}, false
	number := verdict(0)
	for line := range lines(content) {
		number++
		if r, ok := newRule(line, fold); ok {
			r.verdict = number
			if r.include {
				r.verdict = -number
			}
			any = l.add(r, above) || any
		}
	}
	if !any {
		return nil
	}
	for _, t := range []*table{&l.names, &l.endings, &l.paths} {
		t.arrange()
	}
	return l
}

// add takes a rule, and tells whether it can ever match.
func (l *list) add(r rule, above string) bool {
	switch {
	case r.kind == byName:
		l.names.add(r.text, bit(r.text), &r)
	case r.kind == byEnding && strings.LastIndexByte(r.text, '.') == 0:
		l.endings.add(r.text, bit(r.text), &r)
	case r.kind == byPath:
		path, beneath := strings.CutPrefix(r.text, above)
		if beneath {
			l.paths.add(path, bit(path[strings.LastIndexByte(path, '/')+1:]), &r)
		}
		return beneath
	default:
		l.wild = append(l.wild, r)
		l.onPath = l.onPath || r.kind == byPathPattern
		l.addLast(&r)
	}
	return true
}

// addLast notes the byte that a rule needs at the end of a name.
func (l *list) addLast(r *rule) {
	end := r.text
	if r.kind != byEnding {
		end = r.pattern[len(r.pattern)-1].text
	}
	if end == "" {
		l.lasts = [4]uint64{math.MaxUint64, math.MaxUint64, math.MaxUint64, math.MaxUint64}
		return
	}
	last := end[len(end)-1]
	l.lasts[last/64] |= 1 << (last % 64)
}

// An entry is what is looked for in a list.
type entry struct {
	name      string
	nameBit   uint64
	ending    string // of the name, from its last dot on, "" if there is none
	endingBit uint64
	folder    int  // 1 if it is one
	last      byte // of the name
}

func newEntry(path string, folder bool) entry {
	e := entry{name: path[strings.LastIndexByte(path, '/')+1:]}
	e.nameBit = bit(e.name)
	if dot := strings.LastIndexByte(e.name, '.'); dot >= 0 {
		e.ending = e.name[dot:]
		e.endingBit = bit(e.ending)
	}
	if folder {
		e.folder = 1
	}
	if e.name != "" {
		e.last = e.name[len(e.name)-1]
	}
	return e
}

// last is the verdict of the last rule that matches. path is that of the entry, above what stands before it to make it one
// from the folder of the rules.
func (l *list) last(e *entry, path, above string) (v verdict) {
	if l.names.seen&e.nameBit != 0 {
		v = l.names.last(e.name, e.folder)
	}
	if l.endings.seen&e.endingBit != 0 {
		v = later(v, l.endings.last(e.ending, e.folder))
	}
	if l.paths.seen&e.nameBit != 0 {
		v = later(v, l.paths.last(path, e.folder))
	}
	if l.lasts[e.last/64]>>(e.last%64)&1 == 0 {
		return v
	}
	if l.onPath && above != "" {
		path = above + path
	}
	for i := len(l.wild) - 1; i >= 0; i-- {
		r := &l.wild[i]
		if r.verdict.number() < v.number() {
			break
		}
		if (e.folder == 1 || !r.folder) && r.matches(e.name, path) {
			return r.verdict
		}
	}
	return v
}

// few is how many words are looked up one after another.
const few = 12

// A table has the last rules for a word: for an entry that is no folder, and for one that is.
type table struct {
	words []word
	index map[string]int // nil if there are few
	seen  uint64         // bits of the words that are there: most names need no further look
}

type word struct {
	text string
	last [2]verdict
}

func (t *table) add(text string, bit uint64, r *rule) {
	w := word{text: text, last: [2]verdict{0, r.verdict}}
	if !r.folder {
		w.last[0] = r.verdict
	}
	if t.words == nil {
		t.words = make([]word, 0, 8)
	}
	t.words = append(t.words, w)
	t.seen |= bit
}

// arrange is called when all words are there.
func (t *table) arrange() {
	if len(t.words) <= few {
		return
	}
	t.index = make(map[string]int, len(t.words))
	for i := range t.words {
		w := &t.words[i]
		if before, ok := t.index[w.text]; ok && w.last[0] == 0 {
			w.last[0] = t.words[before].last[0]
		}
		t.index[w.text] = i
	}
}

// last looks a word up. What is said of folders alone leaves to an earlier rule what is none.
func (t *table) last(text string, folder int) verdict {
	if t.index != nil {
		if i, ok := t.index[text]; ok {
			return t.words[i].last[folder]
		}
		return 0
	}
	for i := len(t.words) - 1; i >= 0; i-- {
		if w := &t.words[i]; w.text == text && w.last[folder] != 0 {
			return w.last[folder]
		}
	}
	return 0
}

// bit is one of 64, by the length and both ends of a word; none for no word.
func bit(text string) uint64 {
	if text == "" {
		return 0
	}
	return 1 << ((len(text)*7 + int(text[0])*3 + int(text[len(text)-1])*5) % 64)
}
