package app

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"remit/internal/engine/audit"
	"remit/internal/stores/memlog"
	"remit/internal/stores/sqlstore"
	"remit/internal/toolsets/learning"
)

const (
	// settleInterval is how often this process looks for changes that are not settled, and notes
	// which of its own changes are. A process that shares a database counts as dead after
	// announceLease.
	settleInterval = 5 * time.Second
	announceLease  = 20 * time.Second
	settleTimeout  = 15 * time.Second // less than the lease
	// announceIdle is how long a process without a change stays among those that make changes.
	announceIdle = time.Minute
)

// announcers lists the processes that have announced changes and may not have recorded whether they
// made them.
type announcers interface {
	// Put adds this process, or keeps it alive. All changes that it has announced in the records
	// before these places are settled. Put returns when that is on disk.
	Put(ctx context.Context, before []audit.Place) error
	// Remove removes this process.
	Remove(ctx context.Context) error
	// Dead returns the processes that ended without Remove, with the places of Put. No other
	// process gets them until release is called.
	Dead(ctx context.Context) (ended map[string][]audit.Place, release func(), err error)
	// Forget removes a dead process.
	Forget(ctx context.Context, owner string) error
	// Lives reports whether a process lives, so that it may still settle its changes.
	Lives(ctx context.Context, owner string) (bool, error)
}

// announcements follows the changes that this process announces in records, and settles those of
// processes that have ended.
type announcements struct {
	owner    string
	list     announcers
	records  audit.Reader
	recovery func(ctx context.Context) (*audit.Recovery, error)
	flush    func(ctx context.Context) error // makes all queued records durable
	ready    func() error                    // returns an error while nothing may be written
	now      func() time.Time
	log      *slog.Logger
	readOnly bool

	once   sync.Once
	cancel context.CancelFunc
	loop   sync.WaitGroup

	mu     sync.Mutex
	listed bool                 // this process is in the list
	open   map[string]*openCall // the calls of this process that are not settled, by their id
	lost   bool                 // an outcome may not have been stored
	// since holds the calls that have begun while settle looks for lost outcomes; otherwise nil.
	since   map[string]bool
	period  int
	changed time.Time     // when a change was last announced
	settled []audit.Place // as in the list
	next    []audit.Place // where the records ended when the period began
}

// openCall is a call that has announced a change.
type openCall struct {
	period int  // in which it began
	ended  bool // without knowing whether all of its changes were made, or without a record of it
}

// begin notes a call that announces a change, before its record is written.
func (a *announcements) begin(ctx context.Context, r *audit.Record) error {
	r.Owner = a.owner
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.listed {
		ends, err := audit.Ends(ctx, a.records)
		if err == nil {
			err = a.list.Put(ctx, ends)
		}
		if err != nil {
			return err
		}
		a.listed, a.settled, a.next, a.open = true, ends, ends, map[string]*openCall{}
	}
	a.changed = a.now()
	if a.since != nil {
		a.since[r.Call] = true
	}
	if a.open[r.Call] == nil {
		a.open[r.Call] = &openCall{period: a.period}
	}
	return nil
}

// end notes the last record of a call.
func (a *announcements) end(r *audit.Record, err error) {
	if r.Call == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	call := a.open[r.Call]
	switch {
	case call == nil:
	case err != nil || len(r.Unknown) > 0 && !r.Recovered:
		call.ended = true
	default:
		delete(a.open, r.Call)
	}
}

// lose notes that a record was lost that may have been an outcome.
func (a *announcements) lose() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lost = true
}

// start settles what others have left, now and from time to time. A server that only reads does
// not.
func (a *announcements) start() {
	if a.readOnly {
		return
	}
	a.once.Do(func() {
		var ctx context.Context
		ctx, a.cancel = context.WithCancel(context.Background())
		a.loop.Go(func() {
			tick := time.NewTicker(settleInterval)
			defer tick.Stop()
			warned := false // one warning until it works again
			for {
				err := a.settle(ctx)
				if err != nil && ctx.Err() == nil && !warned {
					a.log.Warn("cannot find out what interrupted calls have changed; Remit tries again", "error", err)
				}
				warned = err != nil
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
				if err := a.advance(ctx); err != nil {
					a.log.Debug("cannot note which changes are settled", "error", err)
				}
			}
		})
	})
}

// advance notes which changes of this process are settled, and removes it from the list after a
// while without changes.
func (a *announcements) advance(ctx context.Context) error {
	a.mu.Lock()
	listed, may := a.listed, !a.lost
	for _, call := range a.open {
		may = may && call.period == a.period // no call of an earlier period is open
	}
	a.mu.Unlock()
	if !listed {
		return nil
	}
	ends, err := audit.Ends(ctx, a.records)
	if err == nil && may {
		err = a.flush(ctx)
	}
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if may && !a.lost {
		a.settled, a.next = a.next, ends
		a.period++
	}
	if len(a.open) == 0 && !a.lost && a.now().Sub(a.changed) > announceIdle {
		a.listed = false
		return a.list.Remove(ctx)
	}
	return a.list.Put(ctx, a.settled)
}

// settle settles the changes of processes that have ended, and those of calls of this process that
// ended without knowing, or whose outcome was lost.
func (a *announcements) settle(ctx context.Context) error {
	own, from := a.ended()
	settled := false
	defer func() { a.finish(own, settled) }()
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	dead, release, err := a.list.Dead(ctx)
	if err != nil || len(dead) == 0 && own.isEmpty() {
		return err
	}
	if release != nil {
		defer release()
	}
	if err := a.ready(); err != nil {
		return err
	}
	if !own.isEmpty() { // their records may be queued
		if err := a.flush(ctx); err != nil {
			return err
		}
	}
	first := own.isEmpty()
	for _, places := range dead {
		if first || isBefore(places, from) {
			from = places
		}
		first = false
	}
	isOurs := func(c *audit.AnnouncedCall) bool {
		_, isDead := dead[c.Owner]
		return isDead || c.Owner == a.owner && a.hasEnded(own, c.ID)
	}
	// After it is known who is dead, and before the records are read.
	recovery, err := a.recovery(ctx)
	if err != nil {
		return err
	}
	done, left, err := recovery.Settle(ctx, from, isOurs)
	if done > 0 {
		a.log.Info("settled the changes of calls that were interrupted", "calls", done, "left", left)
	}
	if err != nil || left > 0 {
		return err
	}
	for owner := range dead {
		if err := a.list.Forget(ctx, owner); err != nil {
			return err
		}
	}
	settled = true
	return nil
}

// endedCalls are the calls of this process that have ended and may not be settled.
type endedCalls struct {
	known map[string]bool // these do not know whether all of their changes were made
	// lost means that outcomes were lost: any call may be open that is neither running nor new.
	lost    bool
	running map[string]bool
}

func (e *endedCalls) isEmpty() bool { return len(e.known) == 0 && !e.lost }

// ended returns the calls of this process that have ended and may not be settled, and the places
// before which all are.
func (a *announcements) ended() (e endedCalls, from []audit.Place) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e = endedCalls{map[string]bool{}, a.lost, map[string]bool{}}
	for id, call := range a.open {
		if call.ended {
			e.known[id] = true
		} else {
			e.running[id] = true
		}
	}
	if a.lost {
		a.lost, a.since = false, map[string]bool{}
	}
	return e, a.settled
}

// hasEnded reports whether a call of this process has ended and must be settled, if it has no
// outcome in the records.
func (a *announcements) hasEnded(e endedCalls, id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return e.known[id] || e.lost && !e.running[id] && !a.since[id]
}

// finish notes whether the calls that have ended are settled.
func (a *announcements) finish(e endedCalls, settled bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.since = nil
	if !settled {
		a.lost = a.lost || e.lost
		return
	}
	for id := range e.known {
		delete(a.open, id) // also one of which no record was stored
	}
}

// isBefore reports whether places are earlier than others. No places are the beginning.
func isBefore(places, others []audit.Place) bool {
	if len(places) == 0 || len(others) == 0 {
		return len(places) == 0
	}
	p, o := places[len(places)-1], others[len(others)-1]
	return p.Day < o.Day || p.Day == o.Day && p.Offset < o.Offset
}

// stop ends the work in the background. What this process has not settled is tried once more.
func (a *announcements) stop() {
	a.once.Do(func() {})
	if a.cancel != nil {
		a.cancel()
	}
	a.loop.Wait()
	a.mu.Lock()
	open := a.listed && (len(a.open) > 0 || a.lost)
	a.mu.Unlock()
	if !open {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), settleInterval)
	defer cancel()
	if err := a.settle(ctx); err != nil {
		a.log.Debug("cannot find out what interrupted calls have changed; another process does", "error", err)
	}
}

// close stores all records, and removes this process from the list if all of its changes are
// settled. Otherwise another process settles them.
func (a *announcements) close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.listed || len(a.open) > 0 || a.lost {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), announceLease)
	defer cancel()
	if err := a.flush(ctx); err != nil {
		return err
	}
	a.listed = false
	return a.list.Remove(ctx)
}

// newAnnouncements follows the changes that this process announces.
func (a *App) newAnnouncements() *announcements {
	n := &announcements{
		owner: a.process.id, records: a.storage.audit, flush: a.storage.flush, now: time.Now, log: a.log, readOnly: a.settings.ReadOnly,
	}
	n.recovery = func(ctx context.Context) (r *audit.Recovery, err error) {
		var memory audit.Finder // nil: a shared database has no changes of memory files
		if files, ok := a.storage.memory.(*memlog.Memory); ok {
			memory, err = files.Finder(ctx, learning.MemoryFiles(a.known))
		}
		return &audit.Recovery{Records: a.storage.audit, Writer: a.records, Now: time.Now, Finder: func(store string) audit.Finder {
			if store == audit.MemoryStore {
				return memory
			}
			return a.books
		}}, err
	}
	n.ready = func() error { return errors.Join(a.records.Ready(time.Now()), a.storage.checkMemory()) }
	if a.database.isShared() {
		n.list = sqlstore.Source(a.database.open).Announcers(a.process.id, announceLease)
	} else {
		n.list = newAnnouncerFiles(a.process)
	}
	return n
}
