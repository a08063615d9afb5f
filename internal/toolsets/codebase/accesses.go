package codebase

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"remit/internal/batchwriter"
)

// Accesses stores how often files of a workspace were read, and when last. Every method is safe for
// concurrent use, also by several processes.
type Accesses interface {
	// Add counts reads: Count more of each path, the last of them at Last. A path may occur more
	// than once. Either all reads count or none; a path of more than MaxPath bytes is never
	// counted. A clock that was set back does not make Last earlier.
	Add(ctx context.Context, reads []Access) error

	// Of returns the accesses of these paths, ordered by path. It omits files that were never read.
	Of(ctx context.Context, paths []string) ([]Access, error)
}

// MaxPath is the maximum length in bytes of a path whose reads are counted.
const MaxPath = 2000

// Access holds how often a file was read, and when last.
type Access struct {
	Path  string // the bytes that the file system uses
	Count int64
	Last  time.Time // with microsecond precision
}

const (
	recencySpan = 30 * 24 * time.Hour // reads older than this do not raise the score
	manyReads   = 100                 // more reads than this do not raise the score
)

// Score returns the importance of a file by its reads, from 0 to 1: 0.6 for the last read, falling
// linearly over 30 days, and 0.4 for the number of reads, rising linearly up to 100.
func (a Access) Score(now time.Time) float64 {
	age := max(0, now.Sub(a.Last)) // the clocks of machines differ
	recency := max(0, 1-float64(age)/float64(recencySpan))
	frequency := min(1, float64(max(0, a.Count))/manyReads)
	return 0.6*recency + 0.4*frequency
}

// trackerPaths limits the number of paths waiting to be written.
const trackerPaths = 10_000

// Tracker counts reads and writes them in the background, so that no read waits for it. It retries
// failed writes; while 10,000 paths wait, it drops the oldest. A read may count twice if the result
// of its write was unknown.
type Tracker struct {
	open   func(ctx context.Context) (Accesses, error)
	log    *slog.Logger
	now    func() time.Time
	writer *batchwriter.Writer[Access]
}

// NewTracker returns a tracker. It starts its work with the first call of Note.
func NewTracker(open func(ctx context.Context) (Accesses, error), log *slog.Logger, now func() time.Time) *Tracker {
	t := &Tracker{open: open, log: log, now: now}
	t.writer = batchwriter.New(batchwriter.Options[Access]{
		Write: t.write, Max: trackerPaths, DropOldest: true, Key: func(a Access) string { return a.Path }, Merge: mergeReads,
		Log: log, Failure: "file reads cannot be counted for now",
	})
	return t
}

// Note counts a read at the current time. It returns at once. After Close it does nothing.
func (t *Tracker) Note(path string) {
	if len(path) <= MaxPath {
		t.writer.Add(Access{Path: path, Count: 1, Last: t.now()})
	}
}

// mergeReads adds up reads of one path.
func mergeReads(waiting, added Access) Access {
	added.Count += waiting.Count
	if waiting.Last.After(added.Last) {
		added.Last = waiting.Last
	}
	return added
}

// Close writes what is left, limited by batchwriter.CloseTimeout and ctx, and stops the tracker.
// Lost counts are only logged at info level: they do no harm.
func (t *Tracker) Close(ctx context.Context) {
	if lost := t.writer.Close(ctx); len(lost) > 0 {
		t.log.Info("some file reads were not counted", "paths", len(lost))
	}
}

// write stores read counts. If that fails, it returns all of them for a retry.
func (t *Tracker) write(ctx context.Context, reads []Access) (retry []Access, err error) {
	accesses, err := t.open(ctx)
	if err != nil {
		return reads, fmt.Errorf("open read counts: %w", err)
	}
	if err := accesses.Add(ctx, reads); err != nil {
		return reads, err
	}
	return nil, nil
}
