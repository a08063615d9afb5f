package entries

import (
	"bytes"
	"encoding/json"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"remit/internal/search/tokenize"
)

// Sketch is what two entries are compared by.
type Sketch struct {
	ID string

	text    string    // the beginning of what the entry says
	size    int       // how many distinct words it has
	words   []uint32  // the smallest hashes of them, in order
	bits    [4]uint64 // a bit for each of these
	numbers uint64    // all words with digits
}

const (
	maxExcerpt = 200 // bytes
	// maxWords limits the work to compare two long entries. If two sets of words are similar, so
	// are their smallest hashes.
	maxWords = 256
)

// Sketches returns the sketches of the entries in a text, except for those that only take others
// back.
func Sketches(name string, content []byte) (list []Sketch) {
	if IsLog(name) && bytes.IndexByte(content, '\n') < 0 { // a new entry, which has to be fast
		if e := newLine(strings.TrimSpace(string(content)), 1); !e.Undo {
			list = []Sketch{SketchOf(name, &e)}
		}
		return list
	}
	for _, e := range Parse(name, content) {
		if e.State == Live && !e.Undo {
			list = append(list, SketchOf(name, &e))
		}
	}
	return list
}

// SketchOf returns the sketch of an entry.
func SketchOf(name string, e *Entry) Sketch {
	s := Sketch{ID: e.ID, words: make([]uint32, 0, 8+len(e.Text)/8)}
	if IsLog(name) {
		eachValue(e.Text, s.add)
	} else {
		s.add(e.Text)
	}
	slices.Sort(s.words)
	s.words = slices.Compact(s.words)
	if s.size = len(s.words); s.size > maxWords {
		s.words = slices.Clone(s.words[:maxWords])
	}
	for _, word := range s.words {
		s.bits[word>>6&3] |= 1 << (word & 63)
	}
	return s
}

// add adds a text that the entry says.
func (s *Sketch) add(text string) {
	if missing := maxExcerpt - len(s.text); s.text == "" {
		s.text = strings.Clone(text[:min(len(text), maxExcerpt)])
	} else if missing > 1 {
		s.text += " " + text[:min(len(text), missing-1)]
	}
	for word := range tokenize.All(text) {
		hash := hashOf(word)
		s.words = append(s.words, uint32(hash))
		if word[0] >= '0' && word[0] <= '9' {
			s.numbers += hash
		}
	}
}

// Excerpt returns the beginning of what the entry says, on one line.
func (s *Sketch) Excerpt() string {
	text := s.text
	if len(text) == maxExcerpt {
		for text != "" && !utf8.ValidString(text) && len(text) > maxExcerpt-utf8.UTFMax {
			text = text[:len(text)-1]
		}
		text += "…"
	}
	return strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
}

// hashOf is FNV-1a.
func hashOf(word []byte) uint64 {
	hash := uint64(14695981039346656037)
	for _, c := range word {
		hash = (hash ^ uint64(c)) * 1099511628211
	}
	return hash
}

// similar reports whether at least 4 of 5 words that either entry has are in both, and their
// numbers are equal: "lesson 3 is done" does not repeat "lesson 2 is done".
func similar(a, b *Sketch) bool {
	all := len(a.words) + len(b.words)
	if a.numbers != b.numbers || all == 0 || 5*min(a.size, b.size) < 4*max(a.size, b.size) {
		return false
	}
	differ := 0 // at least so many words are in one of them only
	for i := range a.bits {
		differ += bits.OnesCount64(a.bits[i] ^ b.bits[i])
	}
	if differ*9 > all {
		return false
	}
	both := 0
	for i, j := 0, 0; i < len(a.words) && j < len(b.words); {
		switch x, y := a.words[i], b.words[j]; {
		case x < y:
			i++
		case x > y:
			j++
		default:
			both, i, j = both+1, i+1, j+1
		}
	}
	return both*9 >= all*4 // both / (all-both) >= 4/5
}

// Recent holds the newest entries of a file, for comparison with the next one. The zero value has
// none. It is not safe for concurrent use.
type Recent struct {
	list []Sketch
	hint []uint64 // bits of each, together in memory: most entries are ruled out by them
	next int      // the oldest of a full list
}

// maxRecent limits the work for each new entry.
const maxRecent = 256

// Add adds an entry.
func (r *Recent) Add(s Sketch) {
	if len(r.list) < maxRecent {
		r.list, r.hint = append(r.list, s), append(r.hint, s.hint())
		return
	}
	r.list[r.next], r.hint[r.next] = s, s.hint()
	r.next = (r.next + 1) % maxRecent
}

// Remove removes the entries with an ID.
func (r *Recent) Remove(id string) {
	for i := range r.list {
		if r.list[i].ID == id {
			r.list[i] = Sketch{}
		}
	}
}

// Has reports whether there is an entry with an ID.
func (r *Recent) Has(id string) bool {
	return slices.ContainsFunc(r.list, func(s Sketch) bool { return s.ID == id })
}

// Find returns the newest entry that is similar to a sketch, or nil.
func (r *Recent) Find(s *Sketch) *Sketch {
	hint := s.hint()
	// Of a similar entry with n words, at most a ninth of n and size together differ, and n is at
	// most 5/4 of size.
	atMost := len(s.words) / 4
	// The newest entries are those before next.
	for _, part := range [][2]int{{0, r.next}, {r.next, len(r.list)}} {
		for i := part[1] - 1; i >= part[0]; i-- {
			if bits.OnesCount64(r.hint[i]^hint) <= atMost && similar(&r.list[i], s) {
				return &r.list[i]
			}
		}
	}
	return nil
}

// hint returns the bits of a sketch in one number.
func (s *Sketch) hint() uint64 {
	return s.bits[0] ^ bits.RotateLeft64(s.bits[1], 16) ^ bits.RotateLeft64(s.bits[2], 32) ^ bits.RotateLeft64(s.bits[3], 48)
}

// eachValue calls a function with the texts and numbers of a JSON line, without those that differ
// between entries which say the same: when and in which session it was written, and its type.
func eachValue(line string, use func(string)) {
	skip := false // the next value
	for at := 0; at < len(line); {
		switch c := line[at]; {
		case c == '"':
			end := literalEnd(line, at)
			literal := line[at:end]
			if at = end; strings.HasPrefix(strings.TrimLeft(line[at:], " \t"), ":") {
				skip = isMetadata(literal)
				continue
			}
			if !skip {
				use(unquote(literal))
			}
		case c >= '0' && c <= '9':
			end := at + 1
			for end < len(line) && strings.IndexByte("0123456789.eE+-", line[end]) >= 0 {
				end++
			}
			if !skip {
				use(line[at:end])
			}
			at = end
		default:
			if c == ',' || c == '{' || c == '[' {
				skip = false
			}
			at++
		}
	}
}

// literalEnd returns the offset after the string that begins at an offset.
func literalEnd(line string, at int) int {
	for i := at + 1; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(line)
}

func unquote(literal string) string {
	if strings.IndexByte(literal, '\\') < 0 {
		return strings.Trim(literal, `"`)
	}
	var text string
	if json.Unmarshal([]byte(literal), &text) != nil {
		return literal
	}
	return text
}

func isMetadata(key string) bool {
	switch strings.ToLower(unquote(key)) {
	case "timestamp", "date", "time", "datetime", "ts", "created_at", "createdat", "created", "updated_at", "updatedat", "type", "id", "uuid",
		"session", "session_id", "sessionid", supersedesKey:
		return true
	}
	return false
}
