package ledger

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strings"
	"time"

	"remit/internal/engine/audit"
)

const (
	// pause is how long what was seen counts as new enough.
	pause = 250 * time.Millisecond
	// atOnce is how many records are there when Refresh returns, if there are so many.
	atOnce = 1000
	// farBehind is how many bytes may have been added to a day before it is read anew,
	// from its end, so that the newest records are there first.
	farBehind = 16 << 20
)

// Refresh looks at what was recorded since it was last called, 250 ms ago or more. The
// first time it reads the newest records, and goes on with older ones in the background,
// until there are enough or Close is called. An error says that the files cannot be read now.
func (l *Ledger) Refresh() error {
	l.reading.Lock()
	defer l.reading.Unlock()
	if now := l.Now(); l.looked.IsZero() || now.Sub(l.looked).Abs() >= pause {
		l.looked = now
		l.note(l.look())
	}
	for l.total() < atOnce && l.older() {
	}
	if !l.loading && l.trouble == nil && !l.closed && l.unread() != nil {
		l.loading = true
		l.loader.Go(l.load)
	}
	return l.trouble
}

// load reads older records until there are enough, or no more.
func (l *Ledger) load() {
	for more := true; more; {
		l.reading.Lock()
		more = l.older()
		l.loading = more
		l.reading.Unlock()
	}
}

// older reads a piece of what is older than all that is at hand, and tells whether
// there was one to read.
func (l *Ledger) older() bool {
	d := l.unread()
	if d == nil || l.closed || l.trouble != nil {
		return false
	}
	if !d.begun {
		l.note(l.follow(d)) // which notes how long the file is, too
		return true
	}
	l.note(l.visit(d, func(lines Lines) error { return l.backwards(d, lines) }))
	return true
}

// note remembers whether files can be read.
func (l *Ledger) note(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trouble = err
}

// look compares the files with what is known of them. Records are added to the newest
// day, and around midnight to the one before it.
func (l *Ledger) look() error {
	names, err := audit.Files(l.Files)
	if err != nil {
		return err
	}
	l.list(names)
	last := len(l.days) - 1
	if last > 0 && l.days[last-1].begun {
		if err := l.follow(l.days[last-1]); err != nil {
			return err
		}
	}
	if last < 0 {
		return nil
	}
	return l.follow(l.days[len(l.days)-1])
}

// list takes up new days, and forgets those that are gone.
func (l *Ledger) list(names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.words == nil {
		l.words = newWords()
	}
	known := map[string]*day{}
	for _, d := range l.days {
		known[d.name] = d
	}
	l.days = make([]*day, 0, len(names))
	for _, name := range names {
		name = strings.TrimSuffix(name, audit.FileOf(""))
		d := known[name]
		if d == nil {
			d = &day{name: name, low: math.MaxInt64}
		}
		delete(known, name)
		l.days = append(l.days, d)
	}
	if len(known) > 0 {
		l.version++
	}
}

// follow reads what was added to a day. One that is shorter than it was is another.
func (l *Ledger) follow(d *day) error {
	info, err := fs.Stat(l.Files, audit.FileOf(d.name))
	if errors.Is(err, fs.ErrNotExist) {
		l.forget(d)
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at audit file: %w", err)
	}
	size := info.Size()
	if d.begun && size == d.size {
		return nil
	}
	if d.begun && (size < d.size || size-d.size > farBehind) {
		l.restart(d)
	}
	err = l.visit(d, func(lines Lines) error {
		if !d.begun {
			return l.backwards(d, lines)
		}
		return l.forwards(d, lines)
	})
	if err == nil {
		d.size = size
	}
	return err
}

// visit opens the file of a day. One that is gone is forgotten.
func (l *Ledger) visit(d *day, read func(Lines) error) error {
	lines, file, err := linesOf(l.Files, audit.FileOf(d.name))
	if errors.Is(err, fs.ErrNotExist) {
		l.forget(d)
		return nil
	}
	if err != nil {
		return err
	}
	defer closed(file)
	return read(lines)
}

// closed closes what was only read.
func closed(file io.Closer) { _ = file.Close() }

func (l *Ledger) forget(d *day) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.days = slices.DeleteFunc(l.days, func(other *day) bool { return other == d })
	l.version++
}

func (l *Ledger) restart(d *day) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*d = day{name: d.name, low: math.MaxInt64}
	l.version++
}

// forwards reads all that was added at the end.
func (l *Ledger) forwards(d *day, lines Lines) error {
	for {
		some, err := lines.From(d.high)
		if err != nil || len(some) == 0 {
			return err
		}
		records := parseAll(some)
		l.mu.Lock()
		d.high = some[len(some)-1].Next
		for i := range records {
			l.keep(d, &d.newer, &records[i])
		}
		l.trim()
		l.mu.Unlock()
	}
}

// backwards reads a piece of what stands before all that was read.
func (l *Ledger) backwards(d *day, lines Lines) error {
	some, err := lines.Before(d.low)
	if err != nil {
		return err
	}
	records := parseAll(some)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !d.begun && len(some) > 0 {
		d.high = some[0].Next
	}
	d.begun = true
	if d.whole = len(some) == 0; !d.whole {
		d.low = some[len(some)-1].Place
	}
	for i := range records {
		l.keep(d, &d.older, &records[i])
	}
	l.trim()
	return nil
}

func parseAll(lines []Line) []parsed {
	records := make([]parsed, len(lines))
	for i := range lines {
		records[i] = parse(&lines[i])
	}
	return records
}

func (l *Ledger) keep(d *day, to *[]entry, record *parsed) {
	if !record.whole {
		d.broken++
		return
	}
	*to = append(*to, l.words.named(record))
	l.version++
}

// trim lets go of the oldest records, a good many at a time.
func (l *Ledger) trim() {
	if l.total() <= l.most()+l.most()/8 {
		return
	}
	room := l.most()
	for _, d := range slices.Backward(l.days) {
		d.cut(room)
		room -= d.count()
	}
	l.reword()
}

// cut leaves the newest n records of a day; what is below them counts as not read.
func (d *day) cut(n int) {
	if n >= d.count() {
		return
	}
	if n <= 0 {
		*d = day{name: d.name, low: math.MaxInt64}
		return
	}
	fromNewer := min(n, len(d.newer))
	d.newer = slices.Clone(d.newer[len(d.newer)-fromNewer:])
	d.older = slices.Clone(d.older[:n-fromNewer])
	d.whole = false
	if len(d.older) > 0 {
		d.low = d.older[len(d.older)-1].place
	} else {
		d.low = d.newer[0].place
	}
}

// reword forgets the words that only lost records had.
func (l *Ledger) reword() {
	before := l.words.texts
	l.words = newWords()
	for _, d := range l.days {
		for _, part := range [][]entry{d.older, d.newer} {
			for i := range part {
				for _, w := range part[i].words() {
					*w = l.words.add(before[*w])
				}
			}
		}
	}
}
