// Package sessions keeps what clients did in a stretch of work: files read, searches, tasks touched.
package sessions

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Store keeps the sessions of one workspace. Every method is safe for concurrent use, also by several processes.
type Store interface {
	// Note adds to the session of a key that is open and was last active no earlier than Idle before At. If there is none
	// it ends the open one, if any, and starts one with the id NewID, which must be new. It returns the session as it is
	// then. All or nothing; of what is noted at once nothing is lost. A clock that was put back makes no Last earlier.
	Note(ctx context.Context, n Noted) (Session, error)

	// End ends the open session of a key, that of a disconnected client, unless it was started after at. To end what is
	// not there is no error.
	End(ctx context.Context, key string, at time.Time) error

	// Current gives the session that a note of now would add to; false if there is none.
	Current(ctx context.Context, key string, now time.Time, idle time.Duration) (Session, bool, error)

	// Recent gives sessions, open or not, newest activity first, at most limit of them.
	Recent(ctx context.Context, limit int) ([]Session, error)

	// Pruned gives the ids of sessions that are no longer kept, as there are newer ones, at most limit of them, the one that has
	// been gone longest first. It gives them, to every process, until they are forgotten.
	Pruned(ctx context.Context, limit int) ([]string, error)

	// Forget lets Pruned no longer give these ids. To forget what is not there is no error.
	Forget(ctx context.Context, ids []string) error
}

const (
	// MostItems is how many items of each list a session keeps, the newest.
	MostItems = 100
	// MostSessions is how many sessions of a workspace are kept, those with the newest activity.
	MostSessions = 500
	// MostPruned is of how many sessions of a workspace it is known that they are no longer kept, those that went last. It is for
	// those who never look.
	MostPruned = 5000
)

// Session is what a client did in a stretch of work. Times are to the microsecond.
type Session struct {
	ID                     string // a UUID
	Key                    string // what tells clients apart: a connection, or principal, face and client
	Principal, Client      string
	Started, Last          time.Time
	Ended                  bool
	Files, Searches, Tasks []Item // newest last, at most MostItems each
}

// Item is something that was read, searched for or touched.
type Item struct {
	What  string // a path, a query, a task; as raw as it came
	At    time.Time
	Times int
}

// Noted is what is to be added to a session: its lists, and what a new one would begin with.
type Noted struct {
	Key, NewID, Principal, Client string
	Started                       time.Time // of a new session; zero is At
	At                            time.Time
	Idle                          time.Duration
	Files, Searches, Tasks        []Item // Times of 0 is once
}

// AddItems adds to a list of a session, which it may change: one item of each What, the newest last, and the newest MostItems of them.
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
	return list[max(0, len(list)-MostItems):]
}
