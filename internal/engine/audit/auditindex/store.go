package auditindex

import (
	"context"
	"time"
)

// Store stores the index. It contains nothing that is not in the records, so a store may lose it;
// it reports an incomplete day as not sound.
type Store interface {
	// Days returns how much of each day is indexed, in no particular order. It creates the table
	// again if it was dropped.
	Days(ctx context.Context) ([]DayProgress, error)
	// Append adds the calls of a batch and advances the position of its day, in one transaction. It
	// returns false and changes nothing unless the day is indexed up to exactly where the batch
	// begins.
	Append(ctx context.Context, b Batch) (bool, error)
	// Remove deletes the calls of a day.
	Remove(ctx context.Context, day string) error
	// Kinds returns all kinds of calls by number.
	Kinds(ctx context.Context) (map[int64]KnownKind, error)
	// Newest returns the position of the newest successful call of each tool.
	Newest(ctx context.Context) (map[string]Position, error)
	// Counts returns how many calls of each kind began at from or later.
	Counts(ctx context.Context, from time.Time) (map[int64]int, error)
	// First returns when the first call of these kinds began; the zero time if there is none.
	First(ctx context.Context, kinds []int64) (time.Time, error)
	// Page returns calls, newest record first. Kind is not set, only KindID.
	Page(ctx context.Context, q Query) ([]Call, error)
	// Times calls visit for the calls of these kinds in the time of the query, in no particular
	// order.
	Times(ctx context.Context, q Query, visit func(CallDuration)) error
	// Cells calls visit for the calls that began in the slots of a width, Minute or Quarter, from
	// the one that begins at from to the last one that begins before to, in no particular order.
	Cells(ctx context.Context, width time.Duration, from, to time.Time, visit func(Cell)) error
}

// DayProgress is how much of a day is indexed.
type DayProgress struct {
	Day      string
	Next     int64 // the place of the first line that is not indexed
	Calls    int
	Broken   int  // lines that are not records
	Complete bool // the index still has the calls
}

// Batch holds the calls of some lines of a day.
type Batch struct {
	Day      string
	From, To int64 // the lines between these places; From is 0 for the first
	Calls    []Call
	Broken   int
}

// Kind holds the properties that calls are filtered by. There are few kinds and many calls.
type Kind struct {
	Tool     string // set/name, or the method of a request that is not a tool call
	Caller   string
	Frontend string
	Outcome  string
}

// KnownKind is a kind with indexed calls.
type KnownKind struct {
	Kind
	Last Position // no call of the kind comes after it
}

// Call is one call in a list.
type Call struct {
	Kind
	Position
	KindID  int64 // the number of its kind; 0 if unknown
	Mark    uint32
	Time    time.Time // when it began
	Version string
	Client  string
	Took    time.Duration
	Bytes   int
}

// ID returns a permanent id of the call: the position of its record, and the start of its hash.
func (c Call) ID() string { return idOf(c.Position, c.Mark) }

// CallDuration is when a call began and how long it took.
type CallDuration struct {
	At   int64 // in microseconds
	Kind int64
	Took int64 // in microseconds
}

// The widths of the slots of time in which calls are counted.
const (
	Minute  = time.Minute
	Quarter = 15 * time.Minute
)

// Cell counts the calls of one kind that began in the same slot of time and took about as long.
type Cell struct {
	At    int64 // when the slot begins, in microseconds
	Kind  int64
	Step  Step // of their durations
	Calls int
}

// Query selects calls.
type Query struct {
	Kinds       []int64
	FewMatches  bool      // there are few such calls
	From        time.Time // the first instant; the zero time is the first call
	To          time.Time // the first instant that is too late; the zero time means no end
	After       Position  // only calls after it; the zero Position is before the first
	Before      Position  // only calls before it
	OldestFirst bool
	Limit       int
}
