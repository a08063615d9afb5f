package ignore

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
