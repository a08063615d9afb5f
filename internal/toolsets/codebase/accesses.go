package codebase

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"remit/internal/batchwriter"
)

// Accesses keeps how often files of a workspace were read, and when last. Every method is safe for concurrent use, also by
// several processes.
type Accesses interface {
	// Add counts reads: Count more of each path, the last of them at Last. A path may be there more than once. All of them
	// count, or none; a path of more than LongestPath bytes never does. A clock that was put back makes no Last earlier.
	Add(ctx context.Context, reads []Access) error

	// Of gives what is known of these paths, in order of the paths. Those that were never read are not among it.
	Of(ctx context.Context, paths []string) ([]Access, error)
}

// LongestPath is the size in bytes of the longest path whose reads are counted.
const LongestPath = 2000

// Access is how often a file was read, and when last.
type Access struct {
	Path  string // as raw as the file system has it
	Count int64
	Last  time.Time // to the microsecond
}

const (
	recencySpan = 30 * 24 * time.Hour // after which it no longer matters when a file was read
	manyReads   = 100                 // beyond which it no longer matters how often
)

// Score tells how much a file matters by how it is read, from 0 to 1: six tenths for when that was last, falling evenly
// over 30 days, and four tenths for how often, rising evenly up to 100 times.
func (a Access) Score(now time.Time) float64 {
	age := max(0, now.Sub(a.Last)) // clocks of machines differ
	recency := max(0, 1-float64(age)/float64(recencySpan))
	frequency := min(1, float64(max(0, a.Count))/manyReads)
	return 0.6*recency + 0.4*frequency
}

// trackerPaths is how many may wait.
const trackerPaths = 10_000

// Tracker notes reads and writes them down later, so that no read waits for it. What could not be written is tried again; while
// 10,000 paths wait, those noted longest ago are given up. A read whose write ended in doubt may count twice.
type Tracker struct {
	open   func(ctx context.Context) (Accesses, error)
	log    *slog.Logger
	now    func() time.Time
	writer *batchwriter.Writer[Access]
}

// NewTracker makes a tracker. It begins to work with the first read that it is told of.
func NewTracker(open func(ctx context.Context) (Accesses, error), log *slog.Logger, now func() time.Time) *Tracker {
	t := &Tracker{open: open, log: log, now: now}
	t.writer = batchwriter.New(batchwriter.Options[Access]{
		Write: t.write, Max: trackerPaths, DropOldest: true, Key: func(a Access) string { return a.Path }, Merge: mergeReads,
		Log: log, Failure: "reads of files cannot be counted for now",
	})
	return t
}

// Note counts a read of now. It returns at once. After Close it does nothing.
func (t *Tracker) Note(path string) {
	if len(path) <= LongestPath {
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

// Close writes what is left, as long as that takes no more than batchwriter.CloseTimeout and ctx lasts, and ends the work. What is
// lost is no more than a count: nobody is warned.
func (t *Tracker) Close(ctx context.Context) {
	if lost := t.writer.Close(ctx); len(lost) > 0 {
		t.log.Info("reads of files were not counted", "paths", len(lost))
	}
}

// write writes reads, all of them or none.
func (t *Tracker) write(ctx context.Context, reads []Access) (retry []Access, err error) {
	accesses, err := t.open(ctx)
	if err != nil {
		return reads, fmt.Errorf("open the counts of reads: %w", err)
	}
	if err := accesses.Add(ctx, reads); err != nil {
		return reads, err
	}
	return nil, nil
}
