package ledger

import (
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"remit/internal/contract/jsontree"
)

// entry is what is kept of a record: words by their number, the arguments not at all.
type entry struct {
	at      int64 // when the call began, in microseconds
	place   int64 // in the file of its day
	micros  int64 // how long it took
	mark    uint32
	bytes   uint32
	tool    word
	caller  word
	face    word
	client  word
	version word
	outcome word
}

// word is the number of a text in the table of words. Zero is the empty text.
type word uint32

// words gives every text one number: calls are many, and their tools, callers and
// outcomes few.
type words struct {
	texts   []string
	numbers map[string]word
}

func newWords() *words { return &words{texts: []string{""}, numbers: map[string]word{"": 0}} }

// longestWord is how much of a text is kept: clients name themselves as they like.
const longestWord = 256

func (w *words) add(text string) word {
	if len(text) > longestWord {
		text = strings.ToValidUTF8(text[:longestWord], "")
	}
	number, known := w.numbers[text]
	if !known {
		text = strings.Clone(text) // it would hold on to a whole piece of a file
		number = word(len(w.texts))
		w.texts = append(w.texts, text)
		w.numbers[text] = number
	}
	return number
}

// parsed is a record as it was read, before its words have numbers.
type parsed struct {
	entry
	texts [6]string
	whole bool // it is a record
}

// parse reads a line. A line that is no record, whatever somebody did to it, says so.
func parse(line *Line) (p parsed) {
	record, err := jsontree.Parse(line.Text)
	if err != nil || record.Kind != jsontree.Object {
		return p
	}
	var hash string
	for i := range record.Members {
		m := &record.Members[i]
		switch m.Key {
		case "time":
			p.at, p.whole = timeOf(m.Value.Text)
		case "tool":
			p.texts[0] = m.Value.Text
		case "principal":
			p.texts[1] = m.Value.Text
		case "face":
			p.texts[2] = m.Value.Text
		case "client":
			p.texts[3] = m.Value.Text
		case "version":
			p.texts[4] = m.Value.Text
		case "outcome":
			p.texts[5] = m.Value.Text
		case "micros":
			p.micros = max(0, numberOf(m.Value.Text))
		case "bytes":
			p.bytes = uint32(min(max(0, numberOf(m.Value.Text)), 1<<32-1))
		case "hash":
			hash = m.Value.Text
		}
	}
	p.place, p.mark = line.Place, markOf(hash)
	p.whole = p.whole && p.texts[0] != "" && p.texts[5] != ""
	return p
}

// named gives the words of a record their numbers.
func (w *words) named(p *parsed) entry {
	e := p.entry
	for i, to := range e.words() {
		*to = w.add(p.texts[i])
	}
	return e
}

// words are the parts that are numbers of texts.
func (e *entry) words() [6]*word {
	return [6]*word{&e.tool, &e.caller, &e.face, &e.client, &e.version, &e.outcome}
}

func timeOf(text string) (micros int64, ok bool) {
	at, err := time.Parse(time.RFC3339Nano, text)
	return at.UnixMicro(), err == nil
}

func numberOf(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// markOf is the start of a hash, by which an id is told from one of another record at
// the same place.
func markOf(hash string) uint32 {
	var mark uint32
	if start, err := hex.DecodeString(hash[:min(len(hash), 8)]); err == nil {
		for _, b := range start {
			mark = mark<<8 | uint32(b)
		}
	}
	return mark
}
