package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"sync"
	"time"

	"remit/internal/contract/jsontree"
)

// Change describes one change of a memory file or a book, so that it can be found out later whether
// it was made. It holds hashes and sizes, no content.
type Change struct {
	Store string // MemoryStore, or the name of the store of a book
	Op    string // append, write, delete, upload, import, restore or register
	Path  string // the memory file, or the key of the object
	At    int64  // where in a memory file the entry begins, or later if others change the file
	Size  int64  // of the entry or the new content
	Lines int    // of the entry
	// The SHA-256 of the content before, "" if there is none; not for memory files.
	Old  string
	New  string    // the SHA-256 of the entry or the new content; "" after a delete
	Line string    // the key of the line in the history of a book
	End  time.Time // a store on the network may make the change until then; zero if it is none
}

// MemoryStore is the Store of a change of a memory file.
const MemoryStore = "memory"

// Appended describes an entry that is appended to a memory file, at a place or later.
func Appended(file string, at int64, entry []byte) Change {
	sum := sha256.Sum256(entry)
	return Change{
		Store: MemoryStore, Op: "append", Path: file, At: at, Size: int64(len(entry)),
		Lines: 1 + bytes.Count(entry, []byte{'\n'}), New: hex.EncodeToString(sum[:]),
	}
}

// value returns the change as a record holds it. Each step of a call but the first has its number.
func (c *Change) value(step int) jsontree.Value {
	v := jsontree.Obj(jsontree.M("store", jsontree.Str(c.Store)), jsontree.M("op", jsontree.Str(c.Op)),
		jsontree.M("path", jsontree.Str(c.Path)))
	text := func(key, value string) {
		if value != "" {
			v.Members = append(v.Members, jsontree.M(key, jsontree.Str(value)))
		}
	}
	number := func(key string, n int64) { v.Members = append(v.Members, jsontree.M(key, jsontree.Int(n))) }
	if c.Store == MemoryStore {
		number("at", c.At)
		number("lines", int64(c.Lines))
	}
	number("size", c.Size)
	text("old", c.Old)
	text("new", c.New)
	text("line", c.Line)
	if !c.End.IsZero() {
		text("end", c.End.UTC().Format(time.RFC3339Nano))
	}
	if step > 1 {
		number("step", int64(step))
	}
	return v
}

// parseChange parses what value returns.
func parseChange(v *jsontree.Value) (c Change, step int) {
	text := func(key string) string { f := v.Field(key); return f.Text }
	number := func(key string) int64 {
		n, _ := strconv.ParseInt(text(key), 10, 64) // 0 if it is missing
		return n
	}
	c = Change{
		Store: text("store"), Op: text("op"), Path: text("path"), At: number("at"), Size: number("size"), Lines: int(number("lines")),
		Old: text("old"), New: text("new"), Line: text("line"),
	}
	c.End, _ = time.Parse(time.RFC3339Nano, text("end")) // the zero time if it is missing
	return c, int(min(max(1, number("step")), maxSteps))
}

// maxSteps is how many changes a call may announce, so that a forged record costs little memory.
const maxSteps = 1 << 20

// State says whether a change was made.
type State int

// The states of a change.
const (
	Unknown State = iota
	Made
	NotMade
)

// steps holds the states of the changes of a call, by number from 1 on.
type steps struct {
	mu     sync.Mutex
	states []State
}

func (s *steps) add() (number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states = append(s.states, Unknown)
	return len(s.states)
}

func (s *steps) set(number int, state State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states[number-1] = state
}

// in returns the numbers of the steps in a state.
func (s *steps) in(state State) (numbers []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, is := range s.states {
		if is == state {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

// Step is a change that a call has announced with Begin. While nothing else is reported, it is not
// known whether it was made. A nil Step belongs to no call.
type Step struct {
	effect *Effect
	number int
}

// Report says whether the change was made.
func (s *Step) Report(state State) {
	if s != nil {
		s.effect.steps.set(s.number, state)
	}
}

// AddTo adds the id of the call to its record, with the changes that were not made, those of which
// it is not known whether they were, and if the call failed, those that it made nevertheless.
func (e *Effect) AddTo(r *Record) {
	if e == nil {
		return
	}
	r.Call, r.Undone, r.Unknown = e.Call, e.steps.in(NotMade), e.steps.in(Unknown)
	if r.Outcome != "ok" {
		r.Made = e.steps.in(Made)
	}
	if encoded := e.arguments.Load(); encoded != nil && isSame(r.Arguments.Members, e.record.Arguments.Members) {
		r.encoded = *encoded
	}
}

// isSame reports whether two lists are one in memory.
func isSame(a, b []jsontree.Member) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// HasBegun reports whether a record of the call is stored already with the outcome Begun.
func (e *Effect) HasBegun() bool {
	return e != nil && len(e.steps.in(Made))+len(e.steps.in(Unknown)) > 0
}

func appendNumbers(b []byte, key string, numbers []int) []byte {
	if len(numbers) == 0 {
		return b
	}
	b = append(append(append(b, `,"`...), key...), `":[`...)
	for i, n := range numbers {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return append(b, ']')
}

func parseNumbers(v jsontree.Value) (numbers []int) {
	for _, m := range v.Members {
		if n, err := strconv.Atoi(m.Value.Text); err == nil {
			numbers = append(numbers, n)
		}
	}
	return slices.Clip(numbers)
}
