package ignore

import (
	"math"
	"strings"
)

// A verdict is the number of the rule that decided, counted from 1. It is negative if the rule
// includes the entry again, and 0 if no rule matched.
type verdict int32

func (v verdict) number() int32 { return max(int32(v), -int32(v)) }

// lastOf returns the verdict of the rule further down, which takes precedence.
func lastOf(a, b verdict) verdict {
	if b.number() > a.number() {
		return b
	}
	return a
}

// A list holds the rules of one file, grouped by how they are matched. Most are found by a lookup.
type list struct {
	names     table // rules for names of entries in any folder
	endings   table // rules for the extension of names, from the last dot on
	paths     table // rules for paths from the rules' folder
	wild      []rule
	onPath    bool      // some rules in wild match the path
	lastBytes [4]uint64 // set of last bytes of the names that wild can match
}

// newList parses the rules of a file. It returns nil if there are none. above is the prefix of
// paths passed to last.
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
		t.buildIndex()
	}
	return l
}

// add adds a rule, and reports whether it can ever match.
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

// addLast records the byte that a rule needs at the end of a name.
func (l *list) addLast(r *rule) {
	end := r.text
	if r.kind != byEnding {
		end = r.pattern[len(r.pattern)-1].text
	}
	if end == "" {
		l.lastBytes = [4]uint64{math.MaxUint64, math.MaxUint64, math.MaxUint64, math.MaxUint64}
		return
	}
	last := end[len(end)-1]
	l.lastBytes[last/64] |= 1 << (last % 64)
}

// An entry is a file or folder to match against a list.
type entry struct {
	name      string
	nameBit   uint64
	ending    string // extension of the name, from the last dot on, or ""
	endingBit uint64
	folder    int  // 1 if it is a folder
	last      byte // last byte of the name
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

// last returns the verdict of the last rule that matches. path is the path of the entry, and above
// the prefix that makes it a path from the rules' folder.
func (l *list) last(e *entry, path, above string) (v verdict) {
	if l.names.bits&e.nameBit != 0 {
		v = l.names.last(e.name, e.folder)
	}
	if l.endings.bits&e.endingBit != 0 {
		v = lastOf(v, l.endings.last(e.ending, e.folder))
	}
	if l.paths.bits&e.nameBit != 0 {
		v = lastOf(v, l.paths.last(path, e.folder))
	}
	if l.lastBytes[e.last/64]>>(e.last%64)&1 == 0 {
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

// maxLinear is the number of words up to which a table is searched linearly.
const maxLinear = 12

// A table holds, for each word, the last rule for an entry that is not a folder, and the last rule
// for a folder.
type table struct {
	words []word
	index map[string]int // nil if there are few words
	bits  uint64         // bits of all words: most names need no further lookup
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
	t.bits |= bit
}

// buildIndex must be called after all words are added.
func (t *table) buildIndex() {
	if len(t.words) <= maxLinear {
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

// last looks up a word. A rule for folders alone does not apply to a file, so an earlier rule for
// the same word decides.
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

// bit returns a hash of a word as one of 64 bits, by its length and both ends. It returns 0 for an
// empty word.
func bit(text string) uint64 {
	if text == "" {
		return 0
	}
	return 1 << ((len(text)*7 + int(text[0])*3 + int(text[len(text)-1])*5) % 64)
}
