package books

import (
	"sync"
	"time"
)

// mostFacts is how many objects something is remembered of.
const mostFacts = 100_000

// facts remembers what was found out of objects by reading them, as long as they have
// the version that was read.
type facts struct {
	mu    sync.Mutex
	known map[string]fact // by key
}

type fact struct {
	version string
	mime    string // "" if nobody looked
	hash    string // likewise
}

// find gives what is known of an object, which may be nothing.
func (f *facts) find(o *Object) fact {
	f.mu.Lock()
	defer f.mu.Unlock()
	if known := f.known[o.Key]; known.version == o.Version {
		return known
	}
	return fact{version: o.Version}
}

// put remembers what was found out shortly after looked.
func (f *facts) put(o *Object, found fact, looked time.Time) {
	if racy(o.Modified, looked) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil || len(f.known) == mostFacts {
		f.known = map[string]fact{}
	}
	f.known[o.Key] = found
}

// hashed is the hash of what was read of an object.
func (l *Library) hashed(o *Object, data []byte, looked time.Time) string {
	known := l.facts.find(o)
	if known.hash == "" {
		known.hash = hashOf(data)
		l.facts.put(o, known, looked)
	}
	return known.hash
}
