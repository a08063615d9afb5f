package text

import (
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// FindAll returns the start and end of all matches in a text that is one line without its line end,
// or with Options.Multiline any text: the leftmost match, the leftmost after it, and so on. It
// prefers alternatives and repetitions as Go's regexp does. An inverted pattern has no matches.
func (p *Pattern) FindAll(text []byte) [][]int {
	if p.Invert {
		return nil
	}
	return p.findAll(text)
}

// findAll is like FindAll, also for an inverted pattern.
func (p *Pattern) findAll(text []byte) [][]int {
	if !p.Word && isASCII(text) {
		return p.finder().FindAllIndex(text, -1)
	}
	m := matcher{Pattern: p, prog: p.matcher(), text: text}
	return m.all()
}

func isASCII(text []byte) bool {
	return !slices.ContainsFunc(text, func(b byte) bool { return b >= utf8.RuneSelf })
}

// program compiles a pattern that CompileAny has already accepted.
func program(pattern string, flags syntax.Flags) *syntax.Prog {
	tree, err := syntax.Parse(pattern, flags)
	if err != nil {
		panic(err)
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		panic(err)
	}
	return prog
}

// A matcher finds the places of matches as Go's regexp does, but with the boundaries of words in
// Unicode, which regexp lacks. It simulates the pattern's NFA: the threads of a list have read the
// same text, and those that regexp prefers come first.
type matcher struct {
	*Pattern
	prog          *syntax.Prog
	text          []byte
	current, next threadList
}

// A thread is a way to match: the instruction it has reached, and where the match begins.
type thread struct {
	pc    uint32
	start int
}

// A threadList holds at most one thread for each instruction.
type threadList struct {
	threads []thread
	place   []uint32 // for each instruction, where its thread is in reached, if it is there
	reached []uint32
}

// insert reports whether an instruction was not reached before.
func (l *threadList) insert(pc uint32) bool {
	if at := l.place[pc]; int(at) < len(l.reached) && l.reached[at] == pc {
		return false
	}
	l.place[pc] = uint32(len(l.reached))
	l.reached = append(l.reached, pc)
	return true
}

func (l *threadList) clear() { l.threads, l.reached = l.threads[:0], l.reached[:0] }

// all returns all matches. A match that is empty does not begin where the one before it ends.
func (m *matcher) all() [][]int {
	m.current.place = make([]uint32, len(m.prog.Inst))
	m.next.place = make([]uint32, len(m.prog.Inst))
	var found [][]int
	for at, last := 0, -1; at <= len(m.text); {
		start, end := m.find(at)
		if start < 0 {
			break
		}
		if end > start || start != last {
			found = append(found, []int{start, end})
		}
		at, last = end, end
		if end == start {
			_, size := utf8.DecodeRune(m.text[end:])
			at += max(size, 1)
		}
	}
	return found
}

// find returns the first match that begins at from or later, or -1.
func (m *matcher) find(from int) (start, end int) {
	start, end = -1, -1
	m.current.clear()
	before := m.runeBefore(from)
	for at := from; ; {
		r, size := m.runeAt(at)
		holds := m.assertions(at, before, r)
		if start < 0 && (!m.Word || !m.isWord(before)) {
			m.add(&m.current, thread{uint32(m.prog.Start), at}, holds)
		}
		m.next.clear()
		following, _ := m.runeAt(at + size)
		later := m.assertions(at+size, r, following)
		for _, t := range m.current.threads {
			in := &m.prog.Inst[t.pc]
			if in.Op == syntax.InstMatch {
				if m.Word && m.isWord(r) {
					continue
				}
				start, end = t.start, at
				break // regexp does not prefer the threads after it
			}
			if r >= 0 && in.MatchRune(r) {
				m.add(&m.next, thread{in.Out, t.start}, later)
			}
		}
		m.current, m.next = m.next, m.current
		if at == len(m.text) || start >= 0 && len(m.current.threads) == 0 {
			return start, end
		}
		before, at = r, at+size
	}
}

// add follows a thread to the next instructions that read a character or end the match.
func (m *matcher) add(l *threadList, t thread, holds syntax.EmptyOp) {
	if !l.insert(t.pc) {
		return
	}
	switch in := &m.prog.Inst[t.pc]; in.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		m.add(l, thread{in.Out, t.start}, holds)
		m.add(l, thread{in.Arg, t.start}, holds)
	case syntax.InstCapture, syntax.InstNop:
		m.add(l, thread{in.Out, t.start}, holds)
	case syntax.InstEmptyWidth:
		if syntax.EmptyOp(in.Arg)&^holds == 0 {
			m.add(l, thread{in.Out, t.start}, holds)
		}
	case syntax.InstFail:
	default:
		l.threads = append(l.threads, t)
	}
}

// Values for what is not a character.
const (
	noRune      rune = -1 // the text begins or ends
	invalidRune rune = -2 // a byte of invalid UTF-8, which nothing matches
)

// runeAt returns the character at an offset and its size.
func (m *matcher) runeAt(at int) (r rune, size int) {
	if at >= len(m.text) {
		return noRune, 0
	}
	return m.checked(utf8.DecodeRune(m.text[at:]))
}

func (m *matcher) runeBefore(at int) rune {
	if at == 0 {
		return noRune
	}
	r, _ := m.checked(utf8.DecodeLastRune(m.text[:at]))
	return r
}

func (m *matcher) checked(r rune, size int) (checked rune, length int) {
	if r == utf8.RuneError && size == 1 && m.Unicode {
		return invalidRune, 1
	}
	return r, size
}

// assertions returns what holds between two characters.
func (m *matcher) assertions(at int, before, after rune) syntax.EmptyOp {
	holds := syntax.EmptyNoWordBoundary
	if m.isWord(before) != m.isWord(after) {
		holds = syntax.EmptyWordBoundary
	}
	if at == 0 {
		holds |= syntax.EmptyBeginText | syntax.EmptyBeginLine
	}
	if at >= len(m.text) {
		holds |= syntax.EmptyEndText | syntax.EmptyEndLine
	}
	if before == '\n' {
		holds |= syntax.EmptyBeginLine
	}
	if after == '\n' {
		holds |= syntax.EmptyEndLine
	}
	return holds
}

// isWord reports whether a character belongs to words.
func (m *matcher) isWord(r rune) bool {
	if r < utf8.RuneSelf || !m.Unicode {
		return r >= 0 && syntax.IsWordChar(r)
	}
	words := unicodeWords()
	i, exact := slices.BinarySearch(words, r)
	return exact || i%2 == 1
}
