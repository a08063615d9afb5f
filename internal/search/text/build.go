package text

import "regexp/syntax"

// A builder makes an automaton of a compiled pattern.
type builder struct {
	prog     *syntax.Prog
	pcs      []uint32 // the instruction of each position
	position []int    // of each instruction that takes a character
	words    int
	edges    bool // there are boundaries of words
	unicode  bool // words are those of Unicode, and no class takes what is no character
	asks     bool // there are places that ask for what is around them

	stack []uint32 // of reach
	seen  []uint32 // of reach: the round in which an instruction was met
	round uint32
}

func newBuilder(prog *syntax.Prog, unicode bool) *builder {
	b := &builder{prog: prog, unicode: unicode, position: make([]int, len(prog.Inst)), seen: make([]uint32, len(prog.Inst))}
	for pc := range prog.Inst {
		switch in := &prog.Inst[pc]; in.Op {
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			b.position[pc] = len(b.pcs)
			b.pcs = append(b.pcs, uint32(pc))
		case syntax.InstEmptyWidth:
			b.asks = true
			b.edges = b.edges || syntax.EmptyOp(in.Arg)&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0
		}
	}
	b.words = (len(b.pcs) + 63) / 64
	return b
}

// wordSet returns the characters of words, if there are boundaries of words.
func (b *builder) wordSet() charset {
	switch {
	case !b.edges:
		return nil
	case b.unicode:
		return wideWords()
	}
	return charset{'0', '9', 'A', 'Z', '_', '_', 'a', 'z'}
}

func (b *builder) newSet() set { return make(set, b.words) }

// alphabet makes the classes, and the positions that take them. A repeated part has the same characters each time: those
// are looked at once.
func (b *builder) alphabet(a *automaton) {
	type source struct {
		runes *rune
		op    syntax.InstOp
	}
	known := map[source]int{}
	var sets []charset
	which := make([]int, len(b.pcs))
	for i, pc := range b.pcs {
		in := &b.prog.Inst[pc]
		from := source{op: in.Op}
		if len(in.Rune) > 0 {
			from.runes = &in.Rune[0]
		}
		n, ok := known[from]
		if !ok {
			n = len(sets)
			known[from] = n
			sets = append(sets, charsetOf(in))
		}
		which[i] = n
	}
	var classes [][]int
	a.alphabet, classes = newAlphabet(sets, b.wordSet())
	if b.unicode {
		a.invalid = garbled
	}
	a.takes = make([]set, a.size)
	for c := range a.takes {
		a.takes[c] = b.newSet()
	}
	for i, n := range which {
		for _, c := range classes[n] {
			a.takes[c].add(i)
		}
	}
}

// follow finds what follows each position, and which are the last, in each context there can be between characters and
// at the end.
func (b *builder) follow(a *automaton) {
	for _, c := range []context{0, atBoundary, atEnd, atEnd | atBoundary} {
		like := c
		if !b.edges {
			like &^= atBoundary
		}
		if !b.asks {
			like = 0
		}
		if like != c {
			a.last[c] = a.last[like]
		} else {
			a.last[c] = b.newSet()
			b.collect(a, c)
		}
	}
	if !b.edges {
		a.moves[atBoundary] = a.moves[0]
	}
}

// collect fills in the tables for one context.
func (b *builder) collect(a *automaton, c context) {
	m := moves{onward: b.newSet(), again: b.newSet()}
	var others jumpTable
	for i, pc := range b.pcs {
		next, ends := b.reach(b.prog.Inst[pc].Out, c)
		if ends {
			a.last[c].add(i)
		}
		if next.has(i) {
			m.again.add(i)
			next.remove(i)
		}
		if i+1 < len(b.pcs) && next.has(i+1) {
			m.onward.add(i)
			next.remove(i + 1)
		}
		others.add(i, next)
	}
	m.jumps = others.jumps()
	if c&atEnd == 0 {
		a.moves[c] = m
	}
}

// A jumpTable collects jumps; those to the same positions are one.
type jumpTable struct {
	which    map[string]int
	from, to []set
}

func (t *jumpTable) add(i int, to set) {
	if to.none() {
		return
	}
	if t.which == nil {
		t.which = map[string]int{}
	}
	key := string(to.key(nil))
	n, ok := t.which[key]
	if !ok {
		n = len(t.to)
		t.which[key] = n
		t.from, t.to = append(t.from, make(set, len(to))), append(t.to, to)
	}
	t.from[n].add(i)
}

func (t *jumpTable) jumps() []jump {
	all := make([]jump, len(t.to))
	for n := range all {
		all[n] = jump{from: t.from[n].trim(), to: t.to[n].trim()}
	}
	return all
}

// reach returns the positions that can be reached from an instruction without reading, and whether a match can end so.
func (b *builder) reach(pc uint32, around context) (positions set, ends bool) {
	positions = b.newSet()
	b.round++
	b.stack = append(b.stack[:0], pc)
	for len(b.stack) > 0 {
		pc := b.stack[len(b.stack)-1]
		b.stack = b.stack[:len(b.stack)-1]
		if b.seen[pc] == b.round {
			continue
		}
		b.seen[pc] = b.round
		switch in := &b.prog.Inst[pc]; in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			b.stack = append(b.stack, in.Out, in.Arg)
		case syntax.InstCapture, syntax.InstNop:
			b.stack = append(b.stack, in.Out)
		case syntax.InstEmptyWidth:
			if around.satisfies(syntax.EmptyOp(in.Arg)) {
				b.stack = append(b.stack, in.Out)
			}
		case syntax.InstMatch:
			ends = true
		case syntax.InstFail:
		default:
			positions.add(b.position[pc])
		}
	}
	return positions, ends
}

// satisfies tells whether all that op asks for is there.
func (c context) satisfies(op syntax.EmptyOp) bool {
	there := syntax.EmptyNoWordBoundary
	if c&atBoundary != 0 {
		there = syntax.EmptyWordBoundary
	}
	if c&atBegin != 0 {
		there |= syntax.EmptyBeginLine | syntax.EmptyBeginText
	}
	if c&atEnd != 0 {
		there |= syntax.EmptyEndLine | syntax.EmptyEndText
	}
	return op&^there == 0
}
