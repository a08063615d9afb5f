// Package sessions records what clients did during a session: files read, searches, tasks touched.
// It records no contents.
package sessions

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Store stores the sessions of one workspace. Every method is safe for concurrent use, also by
// several processes.
type Store interface {
	// Note adds to the open session of a key if it was active no earlier than Idle before At.
	// Otherwise it ends the open session, if any, and starts one with the id NewID, which must be
	// new. It returns the updated session. It is atomic, and concurrent notes are all kept. A clock
	// that was set back does not make Last earlier.
	Note(ctx context.Context, n Note) (Session, error)

	// End ends the open session of a key, for a client that disconnected, unless the session was
	// started after at. It is not an error if there is no session.
	End(ctx context.Context, key string, at time.Time) error

	// Current returns the session that a note at the time now would add to, or false if there is
	// none.
	Current(ctx context.Context, key string, now time.Time, idle time.Duration) (Session, bool, error)

	// Recent returns at most limit sessions, open or not, the most recently active first.
	Recent(ctx context.Context, limit int) ([]Session, error)

	// Pruned returns the ids of sessions that were removed because there are newer ones, at most
	// limit of them, those removed longest ago first. It returns them, to every process, until they
	// are forgotten.
	Pruned(ctx context.Context, limit int) ([]string, error)

	// Forget removes ids from the result of Pruned. Unknown ids are not an error.
	Forget(ctx context.Context, ids []string) error
}

const (
	// MaxItems is the maximum number of items in each list of a session; the newest are kept.
	MaxItems = 100
	// MaxSessions is the maximum number of sessions of a workspace; the most recently active are
	// kept.
	MaxSessions = 500
	// MaxPruned is the maximum number of ids that Pruned remembers for a workspace, the last
	// removed. It bounds the list if nobody ever calls Forget.
	MaxPruned = 5000
)

// Session is what a client did during a session. Times have microsecond precision.
type Session struct {
	ID string // a UUID
	// Identifies the client: a connection, or principal, front end and client.
	Key                    string
	Principal, Client      string
	Started, Last          time.Time
	Ended                  bool
	Files, Searches, Tasks []Item // newest last, at most MaxItems each
}

// Item is a file read, a query or a task touched.
type Item struct {
	What  string // a path, query or task, unmodified
	At    time.Time
	Times int
}

// Note holds what to add to a session, and the attributes of a new one.
type Note struct {
	Key, NewID, Principal, Client string
	Started                       time.Time // of a new session; zero means At
	At                            time.Time
	Idle                          time.Duration
	Files, Searches, Tasks        []Item // Times of 0 means once
}

// AddItems adds items to a list of a session, which it may modify: one item per What, the newest
// last, and only the newest MaxItems.
func AddItems(list, more []Item) []Item {
	if len(more) == 0 {
		return list
	}
	for _, item := range more {
		item.At, item.Times = time.UnixMicro(item.At.UnixMicro()).UTC(), max(1, item.Times)
		i := slices.IndexFunc(list, func(known Item) bool { return known.What == item.What })
		if i < 0 {
			list = append(list, item)
			continue
		}
		list[i].Times += item.Times
		if item.At.After(list[i].At) {
			list[i].At = item.At
		}
	}
	slices.SortStableFunc(list, func(a, b Item) int { return cmp.Compare(a.At.UnixMicro(), b.At.UnixMicro()) })
	return list[max(0, len(list)-MaxItems):]
}
