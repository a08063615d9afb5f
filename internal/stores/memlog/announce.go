package memlog

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"sync"
	"time"

	"remit/internal/engine/audit"
)

// announceTimeout is how long the records of a batch may take to reach the disk.
const announceTimeout = 10 * time.Second

// announce stores the records of the calls that append the entries of a batch, with the places of
// the entries, and returns the entries whose records are on disk. The records of a batch share a
// sync. The file stays locked meanwhile, so that the places stay right.
func (l *Log) announce(batch []*Ticket) []*Ticket {
	ctx, cancel := context.WithTimeout(context.Background(), announceTimeout)
	defer cancel()
	at := l.file.known.size + l.file.open
	if l.file.open > 0 {
		at++ // the last line gets its newline
	}
	errs := make([]error, len(batch))
	var all sync.WaitGroup
	for i, t := range batch {
		if t.effect != nil {
			change := l.file.change(t.body, at)
			all.Go(func() { t.step, errs[i] = t.effect.Begin(ctx, change) })
		}
		at += int64(len(t.body)) + 1
	}
	all.Wait()
	for i, t := range batch {
		if l.failed(t, errs[i]) { // the entries after it would not be at their places
			for _, later := range batch[i+1:] {
				later.step.Report(audit.NotMade)
				l.failed(later, errs[i])
			}
			return batch[:i]
		}
	}
	return batch
}

// change describes an entry that is appended at a place.
func (s *file) change(body []byte, at int64) audit.Change {
	sum := sha256.Sum256(body)
	return audit.Change{
		Store: audit.MemoryStore, Op: "append", Path: path.Base(s.Name), At: at, Size: int64(len(body)),
		Lines: 1 + bytes.Count(body, []byte{'\n'}), New: hex.EncodeToString(sum[:]),
	}
}
