package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"remit/internal/contract/jsontree"
)

// The outcomes that recovery records. If all announced changes were made, it records "ok".
const (
	Undone = "undone" // none of the announced changes was made
	Partly = "partly" // some of them were made; the record numbers the others
	Doubt  = "doubt"  // nobody can tell whether they were made
)

// Finder finds out whether announced changes were made.
type Finder interface {
	// Find sets the State of the changes for which isOpen returns true. All changes are of one
	// path, in the order in which they were announced; the others were made, or not, as their State
	// says. A change that was not made leaves nothing behind.
	Find(ctx context.Context, changes []*Announced, isOpen func(*Announced) bool) error
}

// Recovery records which changes were made by processes that ended before they could.
type Recovery struct {
	Records Reader
	Writer  Writer
	Finder  func(store string) Finder
	Now     func() time.Time
}

// settleDelay is how long after its end a request to a store on the network counts as on its way.
const settleDelay = 2 * time.Second

// Settle finds out which announced changes were made, and records it, for calls of processes that
// are dead, and for calls that ended without knowing it. It reads the records after some places;
// see Ends. It returns how many calls it recorded, and how many it left for later. Only one process
// may settle at a time.
func (r *Recovery) Settle(ctx context.Context, from []Place, isDead func(owner string) bool) (settled, left int, err error) {
	var ledger Ledger
	if err := readFrom(ctx, r.Records, from, ledger.Add); err != nil {
		return 0, 0, fmt.Errorf("read audit records: %w", err)
	}
	isOpen := func(a *Announced) bool {
		return !a.Call.Settled && (a.Call.Concluded && a.State == Unknown || !a.Call.Concluded && isDead(a.Call.Owner))
	}
	var problems []error
	later := map[*AnnouncedCall]bool{}
	for _, group := range r.groups(&ledger, isOpen) {
		err := r.find(ctx, group, isOpen)
		if err == nil {
			continue
		}
		problems = append(problems, err)
		for _, a := range group {
			if isOpen(a) {
				later[a.Call] = true
			}
		}
	}
	for _, call := range ledger.Open() {
		if !call.Concluded && !isDead(call.Owner) {
			continue // it is still running
		}
		if later[call] {
			left++
			continue
		}
		if err := r.record(ctx, call); err != nil {
			return settled, left, errors.Join(append(problems, err)...)
		}
		settled++
	}
	if left > 0 && onlyEarly(problems) {
		problems = nil
	}
	return settled, left, errors.Join(problems...)
}

// errEarly means that it is too early to look: others are changing the same, or may still.
var errEarly = errors.New("too early")

func onlyEarly(problems []error) bool {
	for _, err := range problems {
		if !errors.Is(err, errEarly) {
			return false
		}
	}
	return true
}

// groups returns the changes that one look decides about, if one of them is open: those of one
// object, or of equal entries of one memory file, which are interchangeable.
func (r *Recovery) groups(l *Ledger, isOpen func(*Announced) bool) map[[3]string][]*Announced {
	all, wanted := map[[3]string][]*Announced{}, map[[3]string]bool{}
	for _, a := range l.Changes {
		key := [3]string{a.Store, a.Path}
		if a.Store == MemoryStore {
			key[2] = a.New
		}
		all[key] = append(all[key], a)
		wanted[key] = wanted[key] || isOpen(a)
	}
	for key := range all {
		if !wanted[key] {
			delete(all, key)
		}
	}
	return all
}

func (r *Recovery) find(ctx context.Context, group []*Announced, isOpen func(*Announced) bool) error {
	for _, a := range group {
		if busy := !a.Call.Settled && !isOpen(a) && a.State == Unknown; busy || isOpen(a) && r.Now().Before(a.End.Add(settleDelay)) {
			return fmt.Errorf("%s: %w", a.Path, errEarly)
		}
	}
	finder := r.Finder(group[0].Store)
	if finder == nil {
		return fmt.Errorf("%s: there is no store %q", group[0].Path, group[0].Store)
	}
	return finder.Find(ctx, group, isOpen)
}

// record records what was found out about a call.
func (r *Recovery) record(ctx context.Context, c *AnnouncedCall) error {
	record, err := parseRecord(c.line)
	if err != nil {
		return fmt.Errorf("read the record of call %s: %w", c.ID, err)
	}
	made := 0
	for i, a := range c.Steps {
		switch {
		case a == nil:
		case a.State == Made:
			made++
		case a.State == NotMade:
			record.Undone = append(record.Undone, i+1)
		default:
			record.Unknown = append(record.Unknown, i+1)
		}
	}
	switch {
	case len(record.Undone)+len(record.Unknown) == 0:
		record.Outcome = "ok"
	case made > 0:
		record.Outcome = Partly
	case len(record.Unknown) == 0:
		record.Outcome = Undone
	default:
		record.Outcome = Doubt
	}
	record.Recovered = true
	if err := r.Writer.Write(ctx, record, true); err != nil {
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
		Tool: field("tool"), Version: field("version"), Arguments: v.Field("arguments"), Approved: field("approved"), Call: field("call"),
	}, err
}
