package sqlstore

import (
	"context"
	"sync"
	"time"
)

// clock is the clock of a PostgreSQL server, as it was last read. In between, the time that has
// passed is measured here, so that setting the clock of this machine changes nothing.
type clock struct {
	mu   sync.Mutex
	time time.Time // of the server
	at   time.Time // when it was read, by the clock of this process
}

// set stores the time that the server returned for a request between two times. The answer is taken
// to be from the middle.
func (c *clock) set(server, asked, answered time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.time, c.at = server, asked.Add(answered.Sub(asked)/2)
}

// now returns the time of the server; the zero time if it was never read.
func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.time.IsZero() {
		return time.Time{}
	}
	return c.time.Add(time.Since(c.at))
}

// Now returns the time by the clock that all processes share: that of the PostgreSQL server, or
// that of this machine.
func (db *DB) Now() time.Time {
	if now := db.clock.now(); !now.IsZero() {
		return now
	}
	return time.Now()
}

// Skew returns how far the clock of this machine is ahead of that of the PostgreSQL server. It is
// zero for SQLite.
func (db *DB) Skew() time.Duration {
	now := db.clock.now()
	if now.IsZero() {
		return 0
	}
	return time.Now().Round(0).Sub(now)
}

// readClock asks the server whether it accepts writes, and reads its clock.
func (db *DB) readClock(ctx context.Context) (canWrite bool, err error) {
	var server time.Time
	asked := time.Now()
	if _, err = findOne(ctx, db.reads, askServer, into(&canWrite, &server)); err == nil {
		db.clock.set(server, asked, time.Now())
	}
	return canWrite, err
}
