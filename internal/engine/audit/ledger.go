package audit

import (
	"bytes"
	"context"
	"time"

	"remit/internal/contract/jsontree"
)

// Announced is a change that a call has announced, with what the records say about it.
type Announced struct {
	Change
	State State
	Call  *AnnouncedCall
}

// AnnouncedCall is a call that has announced changes.
type AnnouncedCall struct {
	ID, Owner, Tool string
	Time            time.Time // when the call began
	Steps           []*Announced
	Concluded       bool   // it has another record, which may leave open whether changes were made
	Settled         bool   // it is known of each step whether it was made, or that nobody can tell
	line            []byte // its first record; nil once it is settled
}

// Ledger collects from the records of a workspace which changes calls have announced, and which of
// them were made.
type Ledger struct {
	Changes []*Announced // in the order of their records
	calls   map[string]*AnnouncedCall
}

const (
	callMark  = `,"call":"`
	begunMark = `"outcome":"` + Begun + `"`
)

// Add reads the next record. It returns the call that the record is about, or nil if that call has
// announced nothing.
func (l *Ledger) Add(line []byte) *AnnouncedCall {
	at := bytes.LastIndex(line, []byte(callMark))
	if at < 0 {
		return nil
	}
	id, _, _ := bytes.Cut(line[at+len(callMark):], []byte{'"'})
	if l.calls[string(id)] == nil && !bytes.Contains(line, []byte(begunMark)) {
		return nil // most calls announce nothing
	}
	record, err := jsontree.ParseTrusted(line)
	if err != nil || record.Kind != jsontree.Object {
		return nil
	}
	field := func(key string) string { f := record.Field(key); return f.Text }
	c := l.calls[field("call")]
	switch {
	case field("outcome") == Begun:
		if c == nil {
			began, _ := time.Parse(time.RFC3339Nano, field("time")) // the record is ours
			c = &AnnouncedCall{ID: field("call"), Owner: field("owner"), Tool: CurrentTool(field("tool")), Time: began, line: bytes.Clone(line)}
			if l.calls == nil {
				l.calls = map[string]*AnnouncedCall{}
			}
			l.calls[c.ID] = c
		}
		l.announce(c, record.Field("effect"))
	case c != nil:
		c.conclude(&record)
	}
	return c
}

func (l *Ledger) announce(c *AnnouncedCall, effect jsontree.Value) {
	change, number := parseChange(&effect)
	a := &Announced{Change: change, Call: c}
	for len(c.Steps) < number { // their records may be out of order
		c.Steps = append(c.Steps, nil)
	}
	c.Steps[number-1] = a
	l.Changes = append(l.Changes, a)
}

// conclude applies another record of the call: what it does not except was made.
func (c *AnnouncedCall) conclude(record *jsontree.Value) {
	if c.Settled {
		return
	}
	undone, unknown := parseNumbers(record.Field("undone")), parseNumbers(record.Field("unknown"))
	for _, a := range c.Steps {
		if a != nil {
			a.State = Made
		}
	}
	c.set(undone, NotMade)
	c.set(unknown, Unknown)
	recovered := record.Field("recovered")
	c.Concluded = true
	c.Settled = len(unknown) == 0 || recovered.Text == "true"
	if c.Settled {
		c.line = nil
	}
}

func (c *AnnouncedCall) set(numbers []int, state State) {
	for _, n := range numbers {
		if n >= 1 && n <= len(c.Steps) && c.Steps[n-1] != nil {
			c.Steps[n-1].State = state
		}
	}
}

// Open returns the calls that are not settled, in the order of their records.
func (l *Ledger) Open() (open []*AnnouncedCall) {
	seen := map[*AnnouncedCall]bool{}
	for _, a := range l.Changes {
		if !a.Call.Settled && !seen[a.Call] {
			seen[a.Call] = true
			open = append(open, a.Call)
		}
	}
	return open
}

// Place is a place in the records of a day.
type Place struct {
	Day    string `json:"day"`
	Offset int64  `json:"offset"`
}

// Ends returns where the next records will be: at the end of the last day, or of the day before it,
// to which other processes may still write at midnight.
func Ends(ctx context.Context, records Reader) ([]Place, error) {
	days, err := records.Days(ctx)
	var ends []Place
	for _, d := range days[max(0, len(days)-2):] {
		ends = append(ends, Place{d.Name, d.End})
	}
	return ends, err
}

// readFrom passes the lines that follow some places, as Ends returns them, to visit. Without places
// it passes all lines. It returns the places where the next lines will be.
func readFrom(ctx context.Context, records Reader, from []Place, visit func(line []byte)) (next []Place, err error) {
	days, err := records.Days(ctx)
	if err != nil {
		return from, err
	}
	for _, d := range days {
		place := int64(0)
		for _, start := range from {
			if start.Day == d.Name {
				place = start.Offset
			}
		}
		if len(from) > 0 && d.Name < from[0].Day {
			continue
		}
		for {
			lines, err := records.From(ctx, d.Name, place, 1000)
			if err != nil {
				return from, err
			}
			if len(lines) == 0 {
				break
			}
			for i := range lines {
				visit(lines[i].Text)
			}
			place = lines[len(lines)-1].Next
		}
		next = append(next, Place{d.Name, place})
	}
	return next, nil
}

// ReadAll reads all records.
func (l *Ledger) ReadAll(ctx context.Context, records Reader) error {
	_, err := readFrom(ctx, records, nil, func(line []byte) { l.Add(line) })
	return err
}

// Comparison is the result of comparing a store with the records.
type Comparison struct {
	// Problems names changes that have no record, and recorded changes that are not there.
	Problems []string `json:"problems"`
	Notes    []string `json:"notes"` // what people have added by hand, which is no problem
}
