package text

import "regexp/syntax"

// A builder builds an automaton from a compiled pattern.
type builder struct {
	prog           *syntax.Prog
	pcs            []uint32 // the instruction of each position
	position       []int    // the position of each instruction that matches a character
	words          int
	wordBoundaries bool // the pattern has word boundaries
	unicode        bool // use Unicode's word characters, and match no class against invalid UTF-8
	hasAssertions  bool // the pattern has zero-width assertions

	stack      []uint32 // used by reach
	seen       []uint32 // used by reach: the generation in which it visited an instruction
	generation uint32
}

func newBuilder(prog *syntax.Prog, unicode bool) *builder {
	b := &builder{prog: prog, unicode: unicode, position: make([]int, len(prog.Inst)), seen: make([]uint32, len(prog.Inst))}
	for pc := range prog.Inst {
		switch in := &prog.Inst[pc]; in.Op {
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			b.position[pc] = len(b.pcs)
			b.pcs = append(b.pcs, uint32(pc))
		case syntax.InstEmptyWidth:
			b.hasAssertions = true
			b.wordBoundaries = b.wordBoundaries || syntax.EmptyOp(in.Arg)&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0
		}
	}
	b.words = (len(b.pcs) + 63) / 64
	return b
}

// wordSet returns the word characters, or nil if the pattern has no word boundaries.
func (b *builder) wordSet() charset {
	switch {
	case !b.wordBoundaries:
		return nil
	case b.unicode:
		return unicodeWords()
	}
	return charset{'0', '9', 'A', 'Z', '_', '_', 'a', 'z'}
}

func (b *builder) newSet() set { return make(set, b.words) }

// alphabet computes the classes and the positions that match each of them. The copies of a repeated
// part share their characters, so each such set is processed once.
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
		a.invalid = invalidByte
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

// follow computes the successors of each position and the last positions, for each context that can
// occur between characters and at the end of a line.
func (b *builder) follow(a *automaton) {
	for _, c := range []context{0, atBoundary, atEnd, atEnd | atBoundary} {
		like := c
		if !b.wordBoundaries {
			like &^= atBoundary
		}
		if !b.hasAssertions {
			like = 0
		}
		if like != c {
			a.last[c] = a.last[like]
		} else {
			a.last[c] = b.newSet()
			b.collect(a, c)
		}
	}
	if !b.wordBoundaries {
		a.moves[atBoundary] = a.moves[0]
	}
}

// collect fills the tables for one context.
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

// A jumpTable collects jumps. It merges those to the same positions.
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

// reach returns the positions that can be reached from an instruction without reading a character,
// and whether a match can end there.
func (b *builder) reach(pc uint32, around context) (positions set, ends bool) {
	positions = b.newSet()
	b.generation++
	b.stack = append(b.stack[:0], pc)
	for len(b.stack) > 0 {
		pc := b.stack[len(b.stack)-1]
		b.stack = b.stack[:len(b.stack)-1]
		if b.seen[pc] == b.generation {
			continue
		}
		b.seen[pc] = b.generation
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

// satisfies reports whether the context fulfils all assertions of op.
func (c context) satisfies(op syntax.EmptyOp) bool {
	holds := syntax.EmptyNoWordBoundary
	if c&atBoundary != 0 {
		holds = syntax.EmptyWordBoundary
	}
	if c&atBegin != 0 {
		holds |= syntax.EmptyBeginLine | syntax.EmptyBeginText
	}
	if c&atEnd != 0 {
		holds |= syntax.EmptyEndLine | syntax.EmptyEndText
	}
	return op&^holds == 0
}
