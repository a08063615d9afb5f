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
	// Stored means that the record was stored in one transaction with the change.
	Stored bool
}

// AnnouncedCall is a call that has announced changes.
type AnnouncedCall struct {
	ID, Owner, Tool string
	Time            time.Time // when the call began
	Steps           []*Announced
	Concluded       bool   // it has another record, which may leave open whether changes were made
	succeeded       bool   // that record has the outcome "ok"
	Settled         bool   // it is known of each step whether it was made, or that nobody can tell
	line            []byte // its first record; nil once it is settled
}

// Ledger collects from the records of a workspace which changes calls have announced, which of them
// were made, and what calls have changed in the database.
type Ledger struct {
	Changes []*Announced // in the order of their records
	Tasks   TaskLedger
	calls   map[string]*AnnouncedCall
	pending map[string]bool // the calls of AddPending
}

const (
	callMark    = `,"call":"`
	begunMark   = `"outcome":"` + Begun + `"`
	effectMark  = `,"effect":{`
	trustMark   = `"tool":"trust/`
	addTaskMark = `"tool":"tasks/add_task"`
)

// Add reads the next record. It returns the call that the record is about, or nil if that call has
// announced nothing.
func (l *Ledger) Add(line []byte) *AnnouncedCall {
	id := []byte(CallOf(line))
	hasEffect := bytes.Contains(line, []byte(effectMark))
	switch {
	case hasEffect:
	case bytes.Contains(line, []byte(trustMark)):
	case l.Tasks.Since.IsZero() && bytes.Contains(line, []byte(addTaskMark)):
	case len(id) == 0 || l.calls[string(id)] == nil:
		return nil // most calls change nothing
	}
	record, err := jsontree.ParseTrusted(line)
	if err != nil || record.Kind != jsontree.Object {
		return nil
	}
	field := func(key string) string { f := record.Field(key); return f.Text }
	began, _ := time.Parse(time.RFC3339Nano, field("time")) // the record is ours
	c := &AnnouncedCall{ID: field("call"), Owner: field("owner"), Tool: CurrentTool(field("tool")), Time: began}
	known := l.calls[c.ID]
	switch outcome := field("outcome"); {
	case outcome == Begun:
		return l.begin(c, record.Field("effect"), line)
	case known != nil:
		known.conclude(&record)
		return known
	case outcome == "ok":
		l.store(c, record.Field("effect"))
	}
	return nil
}

// AddPending reads a record of the outbox, which is not in the chain yet, or was just added to it.
// Records of the outbox are read before those of the chain.
func (l *Ledger) AddPending(record []byte) {
	l.Add(record)
	if l.pending == nil {
		l.pending = map[string]bool{}
	}
	l.pending[CallOf(record)] = true
}

// begin applies the record of a call that is about to change something.
func (l *Ledger) begin(c *AnnouncedCall, effect jsontree.Value, line []byte) *AnnouncedCall {
	if known := l.calls[c.ID]; known != nil {
		c = known
	} else {
		if l.calls == nil {
			l.calls = map[string]*AnnouncedCall{}
		}
		c.line, l.calls[c.ID] = bytes.Clone(line), c
	}
	l.announce(c, effect)
	return c
}

// store applies the record of a call that has changed the database, or something that decides what
// the records before it are worth.
func (l *Ledger) store(c *AnnouncedCall, effect jsontree.Value) {
	store := effect.Field("store")
	task, isTask := parseTaskChange(&effect)
	switch {
	case c.Tool == "trust/new-data" || c.Tool == "trust/lost-records":
		l.Tasks.forget(c.Time)
	case l.pending[c.ID]:
	case isTask:
		l.Tasks.add(&task, c.ID, c.Time)
	case store.Text == MemoryStore:
		change, _ := parseChange(&effect)
		c.Concluded, c.Settled = true, true
		l.Changes = append(l.Changes, &Announced{Change: change, State: Made, Call: c, Stored: true})
	case c.Tool == "tasks/add_task" && l.Tasks.Since.IsZero():
		l.Tasks.Older = true // an earlier version has added a task
	}
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
	recovered, outcome := record.Field("recovered"), record.Field("outcome")
	c.Concluded, c.succeeded = true, outcome.Text == "ok"
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
