package app

import (
	"sync"
	"time"
)

// steadyClock is the clock by which tokens, links and approvals expire. It does not go back, so
// that setting the clock of the machine back revives nothing, also not after the next start.
type steadyClock struct {
	// newest returns the newest time that a process has seen before; the zero time if it is not
	// known.
	newest func() time.Time

	once  sync.Once
	known time.Time // what newest has returned
	read  time.Time // when
}

// now returns the time.
func (c *steadyClock) now() time.Time {
	c.once.Do(func() { c.known, c.read = c.newest(), time.Now() })
	return laterOf(laterOf(time.Now(), started, time.Since(started)), c.known, time.Since(c.read))
}

// laterOf returns now, or the time that is a duration after the start if that is later.
func laterOf(now, start time.Time, passed time.Duration) time.Time {
	if steady := start.Round(0).Add(passed); steady.After(now.Round(0)) {
		return steady
	}
	return now
}
