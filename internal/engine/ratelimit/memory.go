package ratelimit

import (
	"context"
	"hash/maphash"
	"strings"
	"sync"
	"time"
)

// Memory is a Limiter for one process. It holds at most about twice as many keys as were busy at
// the same time, and at most 4 KiB for each. A call for a known key allocates nothing in the long
// run.
type Memory struct {
	seed   maphash.Seed
	shards [64]shard
}

var _ Limiter = (*Memory)(nil)

// NewMemory returns a limiter without any keys.
func NewMemory() *Memory {
	return &Memory{seed: maphash.MakeSeed()}
}

// Allow implements Limiter. It returns an error only if r.Check does.
func (m *Memory) Allow(_ context.Context, key string, r Rate, now time.Time) (time.Duration, error) {
	if r == (Rate{}) {
		return 0, nil
	}
	if err := r.Check(); err != nil {
		return 0, err
	}
	s := &m.shards[maphash.String(m.seed, key)%uint64(len(m.shards))]
	return s.allow(key, r, now.UnixNano()), nil
}

// minSweep is the size from which a shard drops idle keys.
const minSweep = 64

// shard holds some of the keys under its own lock, so that callers rarely wait for each other.
type shard struct {
	mu      sync.Mutex
	clock   int64              // the latest reading
	windows map[string]*window // made for the first key
	sweepAt int
	_       [128 - 32]byte // keeps the locks of neighboring shards on separate cache lines
}

func (s *shard) allow(key string, r Rate, now int64) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	late := s.advance(now) - now
	w := s.windows[key]
	if w == nil {
		s.makeRoom()
		w = &window{}
		s.windows[strings.Clone(key)] = w // the map must not keep a caller's buffer alive
	}
	wait := w.admit(r, s.clock)
	if wait > 0 {
		wait += time.Duration(late) // the caller adds the wait to its own clock reading
	}
	return wait
}

// advance sets the clock and returns it. Callers read the time before they take the lock, so
// readings arrive out of order. Using an older reading would reject the last request of a burst.
// Only a step back by more than Skew means that the clock was set.
func (s *shard) advance(now int64) int64 {
	if behind := s.clock - now; behind < 0 || behind > int64(Skew) {
		s.clock = now
	}
	return s.clock
}

// makeRoom drops the idle keys whenever the shard has doubled since the last time, so that the cost
// per new key is constant. A key whose last request has expired behaves like an unknown key.
func (s *shard) makeRoom() {
	if len(s.windows) < s.sweepAt {
		return
	}
	busy := map[string]*window{} // a new map, because a map never shrinks
	for key, w := range s.windows {
		if w.until > s.clock {
			busy[key] = w
		}
	}
	s.windows, s.sweepAt = busy, max(minSweep, 2*len(busy))
}
