package console

import (
	"sync"
	"time"
)

// Arrival is a message with which an MCP client makes itself known.
type Arrival struct {
	At        time.Time
	Principal string
	Client    string // the name that the client gives itself
	Frontend  string
	Version   string // of the protocol
	Method    string // initialize, server/discover or tools/list
}

// Arrivals remembers the newest arrivals of this process, for the page that helps to connect a
// client. The zero value is ready to use.
type Arrivals struct {
	mu   sync.Mutex
	list []Arrival // oldest first
}

// maxArrivals is how many arrivals are remembered.
const maxArrivals = 200

// Note remembers an arrival.
func (a *Arrivals) Note(one Arrival) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.list) == maxArrivals {
		a.list = append(a.list[:0], a.list[1:]...)
	}
	a.list = append(a.list, one)
}

// since returns the first arrival with each method after a time, oldest first. If principal is "",
// those of all callers count. A nil Arrivals has none.
func (a *Arrivals) since(at time.Time, principal string) (list []Arrival) {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	seen := map[string]bool{}
	for _, one := range a.list {
		if one.At.Before(at) || principal != "" && one.Principal != principal || seen[one.Method] {
			continue
		}
		seen[one.Method] = true
		list = append(list, one)
	}
	return list
}
