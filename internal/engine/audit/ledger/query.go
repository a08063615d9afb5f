package ledger

import (
	"slices"
	"strings"
	"time"

	"remit/internal/contract"
)

// Failed is the Outcome of a filter that wants every call that was refused or went
// wrong.
const Failed = "failed"

// IsFailure tells whether an outcome is one of those that Failed stands for. Whoever
// asks, or waits for a person, has not failed.
func IsFailure(outcome string) bool {
	switch outcome {
	case "ok", "replayed", "asked", string(contract.Pending):
		return false
	}
	return true
}

// Filter chooses calls. What is left out chooses all.
type Filter struct {
	Tool    string // set/name, or the method of what is no tool
	Caller  string
	Outcome string // or Failed
	Face    string
	Without string    // a face whose calls are left out
	From    time.Time // the first instant
	To      time.Time // the first instant that is too late
}

// Call is one call in a list.
type Call struct {
	ID      string // of One
	Time    time.Time
	Tool    string
	Version string
	Caller  string
	Face    string
	Client  string
	Outcome string
	Took    time.Duration
	Bytes   int
}

// Page is a part of the list of calls, newest first.
type Page struct {
	Calls []Call
	Older string // the cursor of what comes next; "" at the end
	Newer string // the cursor of what came before; "" at the beginning
}

// want is a filter in the numbers of words.
type want struct {
	tool, caller, outcome, face    word
	anyTool, anyCaller, anyOutcome bool
	without                        word
	anyFace, none                  bool
	failures                       []bool // by word; nil if one outcome is wanted, or any
	from, to                       int64
	firstDay                       string
}

func (l *Ledger) compile(f *Filter) want {
	w := want{to: 1<<63 - 1, from: -1 << 63}
	if l.words == nil {
		w.none = true
		return w
	}
	find := func(text string, to *word, any *bool) {
		number, known := l.words.numbers[text]
		*to, *any = number, text == ""
		w.none = w.none || !known
	}
	find(f.Tool, &w.tool, &w.anyTool)
	find(f.Caller, &w.caller, &w.anyCaller)
	find(f.Face, &w.face, &w.anyFace)
	w.without = l.words.numbers[f.Without] // zero leaves nothing out
	if f.Outcome == Failed {
		w.failures = l.failures()
	} else {
		find(f.Outcome, &w.outcome, &w.anyOutcome)
	}
	if !f.From.IsZero() {
		w.from = f.From.UnixMicro()
		w.firstDay = f.From.UTC().Format(time.DateOnly)
	}
	if !f.To.IsZero() {
		w.to = f.To.UnixMicro()
	}
	return w
}

// failures tells of each word whether it is the outcome of a failure.
func (l *Ledger) failures() []bool {
	list := make([]bool, len(l.words.texts))
	for i, text := range l.words.texts {
		list[i] = IsFailure(text)
	}
	return list
}

func (w *want) fits(e *entry) bool {
	switch {
	case e.at < w.from || e.at >= w.to,
		!w.anyTool && e.tool != w.tool,
		!w.anyCaller && e.caller != w.caller,
		!w.anyFace && e.face != w.face,
		w.without != 0 && e.face == w.without:
		return false
	case w.failures != nil:
		return w.failures[e.outcome]
	default:
		return w.anyOutcome || e.outcome == w.outcome
	}
}

// each visits all calls that a filter chooses, in no particular order. Nothing in the
// file of a day began after that day.
func (l *Ledger) each(w *want, visit func(*entry)) {
	if w.none {
		return
	}
	for _, d := range l.days {
		if d.name < w.firstDay {
			continue
		}
		for _, part := range [2][]entry{d.older, d.newer} {
			for i := range part {
				if w.fits(&part[i]) {
					visit(&part[i])
				}
			}
		}
	}
}

// Count tells how many calls there are.
func (l *Ledger) Count(f Filter) (n int) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	w := l.compile(&f)
	l.each(&w, func(*entry) { n++ })
	return n
}

// Cursors say where a page begins and which way it goes.
const (
	olderThan = "older."
	newerThan = "newer."
)

// Page lists calls, newest first, as they were recorded: at their end. A cursor is ""
// or one that an earlier page gave; it leads to the same place however many calls came
// since. The error is contract.Invalid if it is neither.
func (l *Ledger) Page(f Filter, cursor string, limit int) (Page, error) {
	text, newer := strings.CutPrefix(cursor, newerThan)
	text, older := strings.CutPrefix(text, olderThan)
	at, ok := parseSpot(text)
	if cursor != "" && (!ok || newer == older) {
		return Page{}, contract.Errorf(contract.Invalid, "The page %q is none of this list; start without it", cursor).With("field", "page")
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	w := l.compile(&f)
	switch {
	case w.none:
		return Page{}, nil
	case newer:
		if page := l.newerPage(&w, at, limit); len(page.Calls) == limit {
			return page, nil
		}
		return l.olderPage(&w, spot{}, limit), nil // the first page is never half a page
	default:
		return l.olderPage(&w, at, limit), nil
	}
}

// olderPage lists what comes after a spot, seen from the newest; all for the zero spot.
func (l *Ledger) olderPage(w *want, at spot, limit int) (p Page) {
	for _, d := range slices.Backward(l.days) {
		if d.name < w.firstDay || at.day != "" && d.name > at.day {
			continue
		}
		take := func(e *entry) (more bool) {
			here := spot{d.name, e.place}
			if !w.fits(e) || at.day != "" && !at.after(here) {
				return true
			}
			if len(p.Calls) == limit {
				p.Older = olderThan + p.Calls[limit-1].spot()
				return false
			}
			p.Calls = append(p.Calls, l.call(d, e))
			return true
		}
		if !d.newestFirst(take) {
			break
		}
	}
	if at.day != "" && len(p.Calls) > 0 {
		p.Newer = newerThan + p.Calls[0].spot()
	}
	return p
}

// newerPage lists what comes before a spot, seen from the newest.
func (l *Ledger) newerPage(w *want, at spot, limit int) (p Page) {
	for _, d := range l.days {
		if d.name < at.day {
			continue
		}
		take := func(e *entry) (more bool) {
			here := spot{d.name, e.place}
			if !w.fits(e) || !here.after(at) {
				return true
			}
			if len(p.Calls) == limit {
				p.Newer = newerThan + p.Calls[limit-1].spot()
				return false
			}
			p.Calls = append(p.Calls, l.call(d, e))
			return true
		}
		if !d.oldestFirst(take) {
			break
		}
	}
	slices.Reverse(p.Calls)
	if len(p.Calls) > 0 {
		p.Older = olderThan + p.Calls[len(p.Calls)-1].spot()
	}
	return p
}

func (d *day) newestFirst(visit func(*entry) bool) bool {
	for i := len(d.newer) - 1; i >= 0; i-- {
		if !visit(&d.newer[i]) {
			return false
		}
	}
	for i := range d.older {
		if !visit(&d.older[i]) {
			return false
		}
	}
	return true
}

func (d *day) oldestFirst(visit func(*entry) bool) bool {
	for i := len(d.older) - 1; i >= 0; i-- {
		if !visit(&d.older[i]) {
			return false
		}
	}
	for i := range d.newer {
		if !visit(&d.newer[i]) {
			return false
		}
	}
	return true
}

func (l *Ledger) call(d *day, e *entry) Call {
	text := l.words.texts
	return Call{
		ID: idOf(d.name, e.place, e.mark), Time: time.UnixMicro(e.at).UTC(),
		Tool: text[e.tool], Version: text[e.version], Caller: text[e.caller], Face: text[e.face], Client: text[e.client], Outcome: text[e.outcome],
		Took: time.Duration(e.micros) * time.Microsecond, Bytes: int(e.bytes),
	}
}

// spot is the part of the id that says where the call stands.
func (c *Call) spot() string { return c.ID[:strings.LastIndexByte(c.ID, '.')] }
