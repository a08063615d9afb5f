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
