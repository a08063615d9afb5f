package audit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"remit/internal/contract/jsontree"
)

// The outcomes that recovery records. If all announced changes were made, it records "ok".
const (
	Undone = "undone" // none of the announced changes was made
	Partly = "partly" // some of them were made; the record numbers the others
	Doubt  = "doubt"  // nobody can tell whether they were made
	// Settled belongs to a call that has a record with the outcome "ok" already. It only says
	// whether the changes were made that the other record leaves open.
	Settled = "settled"
)

// Finder finds out whether announced changes were made.
type Finder interface {
	// Find sets the State of the changes for which isOpen returns true. All changes are of one
	// path, in the order in which they were announced. Of the others, those whose State is Unknown
	// are being made; the rest were made, or not. A change that was not made leaves nothing behind.
	// Find returns ErrBusy if the path is in use, and after it has looked at the path it returns
	// the error of isCurrent, if any, before it decides.
	Find(ctx context.Context, changes []*Announced, isOpen func(*Announced) bool, isCurrent func(context.Context) error) error
}

// ErrBusy means that it is too early to find out whether a change was made.
var ErrBusy = errors.New("it is being changed")

// Recovery records which changes were made by processes that ended before they could.
type Recovery struct {
	Records Reader
	Writer  Writer
	Finder  func(store string) Finder
	Now     func() time.Time
}

// settleDelay is how long after the end of a call its requests to a store on the network count as
// on their way: the signature of one expires up to 4 s after the call, and the store may take 2 s.
const settleDelay = 6 * time.Second

// Settle finds out which announced changes of some calls were made, and records it: of those for
// which isOurs returns true, because their process has ended, or is this one and they have ended
// without knowing it. Settle reads the records after some places; see Ends. It returns how many
// calls it recorded, and how many it left for later. If ctx has a deadline, Settle records what it
// has found out after half of the time, so that it gets on however many calls there are. No other
// process may settle the same calls at the same time.
func (r *Recovery) Settle(ctx context.Context, from []Place, isOurs func(*AnnouncedCall) bool) (settled, left int, err error) {
	s := &settlement{Recovery: r, now: r.Now(), next: from, isOurs: isOurs, decided: map[*Announced]bool{}, byPlace: map[place][]*Announced{}}
	if _, err := s.read(ctx); err != nil {
		return 0, 0, err
	}
	problems := s.findAll(ctx)
	var found []*AnnouncedCall
	for _, call := range s.ledger.Open() {
		switch {
		case !isOurs(call):
		case s.isOpen(call):
			left++
		default:
			found = append(found, call)
		}
	}
	settled, err = s.recordAll(ctx, found)
	return settled, left, errors.Join(append(problems, err)...)
}

// recordsAtOnce is how many records are stored at once, so that they share a sync.
const recordsAtOnce = 64

// recordAll records what was found out about calls, and returns how many it recorded.
func (s *settlement) recordAll(ctx context.Context, calls []*AnnouncedCall) (settled int, err error) {
	for part := range slices.Chunk(calls, recordsAtOnce) {
		failed := make([]error, len(part))
		var all sync.WaitGroup
		for i, call := range part {
			all.Go(func() { failed[i] = s.record(ctx, call) })
		}
		all.Wait()
		for _, err := range failed {
			if err == nil {
				settled++
			}
		}
		if err := errors.Join(failed...); err != nil {
			return settled, err
		}
	}
	return settled, nil
}

// settlement is one run of Settle.
type settlement struct {
	*Recovery
	now     time.Time
	ledger  Ledger
	next    []Place // where the records go on
	broken  bool    // the records could not be read
	isOurs  func(*AnnouncedCall) bool
	decided map[*Announced]bool
	byPlace map[place][]*Announced // the first changes of the ledger
	sorted  int                    // how many
}

// findAll finds out which changes were made, as long as there is time.
func (s *settlement) findAll(ctx context.Context) (problems []error) {
	if end, limited := ctx.Deadline(); limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
	}
	for _, at := range s.places() {
		if err := s.find(ctx, at); err != nil && !errors.Is(err, ErrBusy) {
			problems = append(problems, err)
		}
		if s.broken || ctx.Err() != nil {
			break
		}
	}
	return problems
}

// read reads the records that were added since, and returns the calls that they are about.
func (s *settlement) read(ctx context.Context) (calls []*AnnouncedCall, err error) {
	s.next, err = readFrom(ctx, s.Records, s.next, func(line []byte) {
		if c := s.ledger.Add(line); c != nil {
			calls = append(calls, c)
		}
	})
	if s.broken = err != nil; s.broken {
		return nil, fmt.Errorf("read audit records: %w", err)
	}
	return calls, nil
}

// isUnknown reports whether it is not known whether a change was made.
func (s *settlement) isUnknown(a *Announced) bool {
	return !a.Call.Settled && a.State == Unknown && !s.decided[a]
}

// mayDecide reports whether it is time to find out whether a change was made.
func (s *settlement) mayDecide(a *Announced) bool {
	return s.isUnknown(a) && s.isOurs(a.Call) && (a.End.IsZero() || !s.now.Before(a.End.Add(settleDelay)))
}

// isOpen reports whether a call has a change of which it is not known whether it was made.
func (s *settlement) isOpen(c *AnnouncedCall) bool {
	return slices.ContainsFunc(c.Steps, func(a *Announced) bool { return a != nil && s.isUnknown(a) })
}

// place identifies the changes that one look decides about: those of one object, or of equal
// entries of one memory file, which are interchangeable.
type place struct{ store, path, entry string }

func placeOf(a *Announced) place {
	if a.Store == MemoryStore {
		return place{a.Store, a.Path, a.New}
	}
	return place{a.Store, a.Path, ""}
}

// places returns the places with changes to decide about.
func (s *settlement) places() (list []place) {
	seen := map[place]bool{}
	for _, a := range s.ledger.Changes {
		if at := placeOf(a); !seen[at] && s.mayDecide(a) {
			seen[at] = true
			list = append(list, at)
		}
	}
	return list
}

// changes returns the changes of a place. While some are being made, it returns those of an object
// up to the last that is known to be made: what follows cannot be told yet.
func (s *settlement) changes(at place) (list []*Announced) {
	busy, made := false, 0
	for _, a := range s.at(at) {
		list = append(list, a)
		switch {
		case a.State == Made:
			busy, made = busy && at.store == MemoryStore, len(list)
		case s.isUnknown(a) && !s.mayDecide(a):
			busy = true
		}
	}
	if busy && at.store == MemoryStore {
		return nil
	}
	if busy {
		return list[:made]
	}
	return list
}

// at returns all changes of a place, in the order of their records.
func (s *settlement) at(at place) []*Announced {
	for _, a := range s.ledger.Changes[s.sorted:] {
		of := placeOf(a)
		s.byPlace[of] = append(s.byPlace[of], a)
	}
	s.sorted = len(s.ledger.Changes)
	return s.byPlace[at]
}

// find finds out which changes of a place were made. It begins again while others change the place.
func (s *settlement) find(ctx context.Context, at place) error {
	finder := s.Finder(at.store)
	if finder == nil {
		return fmt.Errorf("%s: there is no store %q", at.path, at.store)
	}
	const tries = 10
	for range tries {
		changes := s.changes(at)
		if !slices.ContainsFunc(changes, s.mayDecide) {
			return nil
		}
		open := map[*Announced]bool{}
		for _, a := range changes {
			open[a] = s.mayDecide(a)
		}
		changed := false
		err := finder.Find(ctx, changes, func(a *Announced) bool { return open[a] }, func(ctx context.Context) (err error) {
			changed, err = s.hasChanged(ctx, at)
			if changed {
				err = ErrBusy
			}
			return err
		})
		switch {
		case changed:
			continue
		case err == nil:
			maps.Copy(s.decided, open)
		}
		return err
	}
	return ErrBusy
}

// hasChanged reports whether there are new records about changes of a place.
func (s *settlement) hasChanged(ctx context.Context, at place) (bool, error) {
	calls, err := s.read(ctx)
	return slices.ContainsFunc(calls, func(c *AnnouncedCall) bool {
		return slices.ContainsFunc(c.Steps, func(a *Announced) bool { return a != nil && placeOf(a) == at })
	}), err
}

// record records what was found out about a call.
func (s *settlement) record(ctx context.Context, c *AnnouncedCall) error {
	record, err := parseRecord(c.line)
	if err != nil {
		return fmt.Errorf("read the record of call %s: %w", c.ID, err)
	}
	made, missing := 0, 0
	for i, a := range c.Steps {
		switch {
		case a == nil:
			continue
		case a.State == Made:
			made++
			continue
		case a.State == NotMade:
			record.Undone = append(record.Undone, i+1)
		default:
			record.Unknown = append(record.Unknown, i+1)
		}
		// A call tries again after a conflict with another one.
		if !slices.ContainsFunc(c.Steps[i+1:], func(b *Announced) bool { return b != nil && placeOf(b) == placeOf(a) }) {
			missing++
		}
	}
	switch {
	case missing == 0 && c.succeeded:
		record.Outcome = Settled
	case missing == 0:
		record.Outcome = "ok"
	case made > 0:
		record.Outcome = Partly
	case len(record.Unknown) == 0:
		record.Outcome = Undone
	default:
		record.Outcome = Doubt
	}
	record.Recovered, record.Since = true, s.next
	if err := s.Writer.Write(ctx, record, true); err != nil {
		return fmt.Errorf("record the outcome of call %s: %w", c.ID, err)
	}
	return nil
}

// parseRecord parses the record of a call that has begun, without its effect.
func parseRecord(line []byte) (*Record, error) {
	v, err := jsontree.ParseTrusted(line)
	if err != nil {
		return nil, err
	}
	field := func(key string) string { f := v.Field(key); return f.Text }
	began, err := time.Parse(time.RFC3339Nano, field("time"))
	return &Record{
		Time: began, Principal: field("principal"), Frontend: field("frontend"), Client: field("client"), Session: field("session"),
		Tool: field("tool"), Version: field("version"), Arguments: v.Field("arguments"), Approved: field("approved"), Rule: field("rule"), Key: field("key"),
		Call: field("call"),
	}, err
}
