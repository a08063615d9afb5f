package door

import (
	"crypto/sha256"
	"sync"
	"time"
)

const mostRecent = 1024 // tokens that are remembered

// recent remembers something of tokens for a while, by their hashes: what is in memory
// opens no door. It holds a bounded number of them. The zero value is ready to use.
type recent[T any] struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]remembered[T]
}

type remembered[T any] struct {
	what  T
	until time.Time
}

// get gives what is remembered of a token.
func (c *recent[T]) get(token string, now time.Time) (what T, ok bool) {
	key := sha256.Sum256([]byte(token))
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.known[key]
	if !ok || !now.Before(found.until) {
		return what, false
	}
	return found.what, true
}

// add remembers something of a token until an instant.
func (c *recent[T]) add(token string, what T, now, until time.Time) {
	key := sha256.Sum256([]byte(token))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[[sha256.Size]byte]remembered[T]{}
	}
	if _, known := c.known[key]; !known && len(c.known) >= mostRecent {
		c.makeRoom(now)
	}
	c.known[key] = remembered[T]{what, until}
}

// makeRoom forgets what is over; if nothing is, then whatever comes first.
func (c *recent[T]) makeRoom(now time.Time) {
	for key, found := range c.known {
		if !now.Before(found.until) {
			delete(c.known, key)
		}
	}
	for key := range c.known {
		if len(c.known) < mostRecent {
			return
		}
		delete(c.known, key)
	}
}
