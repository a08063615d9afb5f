// Package ledger keeps the newest audit records at hand, small, so that pages can
// list, count and measure calls without reading the files again.
package ledger

import (
	"io/fs"
	"sync"
	"time"
)

// Ledger is what is known of the newest calls, whichever process recorded them. Nothing
// is read before the first Refresh. It is safe for concurrent use; its fields do not
// change once it is used.
type Ledger struct {
	Files fs.FS // the day files of the audit; their files are Lines or plain files
	Most  int   // how many records are kept at hand; zero is 250,000
	Now   func() time.Time

	reading sync.Mutex // held by the one who reads files
	looked  time.Time  // when files were last looked at
	loader  sync.WaitGroup
	loading bool
	closed  bool

	mu      sync.RWMutex // guards what follows; only the one who reads changes it
	days    []*day       // oldest first
	words   *words
	version uint64
	trouble error // why the files could not be read; nil once they can
}

// day is what is known of the file of a day: the lines between low and high.
type day struct {
	name      string  // 2026-01-09
	older     []entry // what stood there when the day was first looked at, newest first
	newer     []entry // what came since, oldest first
	low, high int64
	size      int64 // of the file when it was last looked at
	begun     bool
	whole     bool // there is nothing below low
	broken    int  // lines that are no records
}

func (d *day) count() int { return len(d.older) + len(d.newer) }

const mostByDefault = 250_000

func (l *Ledger) most() int {
	if l.Most > 0 {
		return l.Most
	}
	return mostByDefault
}

// Status says how much is at hand.
type Status struct {
	Calls   int   // at hand
	Broken  int   // lines that were passed over, because they are no records
	Loading bool  // older ones are still being read
	Full    bool  // there are older ones that are not kept at hand
	Err     error // why records cannot be read now; those at hand may be stale
}

// Status tells how much is at hand.
func (l *Ledger) Status() Status {
	l.mu.RLock()
	defer l.mu.RUnlock()
	s := Status{Loading: l.unread() != nil, Err: l.trouble}
	unread := false
	s.Calls = l.total()
	for _, d := range l.days {
		s.Broken += d.broken
		unread = unread || !d.whole
	}
	s.Full = unread && !s.Loading
	return s
}

// total is how many records are at hand.
func (l *Ledger) total() (n int) {
	for _, d := range l.days {
		n += d.count()
	}
	return n
}

// Version grows whenever there is something new to see.
func (l *Ledger) Version() uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.version
}

// unread is the day that is to be read next, backwards; nil if enough is at hand.
func (l *Ledger) unread() *day {
	room := l.most()
	for i := len(l.days) - 1; i >= 0; i-- {
		d := l.days[i]
		if room -= d.count(); room <= 0 {
			return nil
		}
		if !d.whole {
			return d
		}
	}
	return nil
}

// Close ends what is read in the background. What is at hand stays so.
func (l *Ledger) Close() {
	l.reading.Lock()
	l.closed = true
	l.reading.Unlock()
	l.loader.Wait()
}
