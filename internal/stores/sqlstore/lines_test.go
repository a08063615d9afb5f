package sqlstore

import (
	"context"
	"runtime"
	"testing"

	"remit/internal/batchwriter"
)

// TestCloseTriesOnce: when a log is closed while the database is away, what waits is
// given up together and not batch by batch.
func TestCloseTriesOnce(t *testing.T) {
	begun, fail, tries := make(chan struct{}), make(chan struct{}), 0
	q := newQueue(func(context.Context, []*batchwriter.Line) error {
		if tries++; tries == 1 {
			close(begun)
		}
		<-fail
		return errTest
	}, nil)
	first := q.Append(&batchwriter.Line{}, true)
	<-begun
	var last *batchwriter.Line
	for range 3 * batchwriter.MaxBatch {
		last = q.Append(&batchwriter.Line{}, false)
	}
	closed := make(chan error)
	go func() { closed <- q.Close() }()
	for !q.Closed() {
		runtime.Gosched()
	}
	close(fail)
	if err := <-closed; err != errTest { //nolint:errorlint // the very same
		t.Errorf("close: %v", err)
	}
	for _, e := range []*batchwriter.Line{first, last} {
		if err := e.Wait(t.Context()); err != errTest { //nolint:errorlint // the very same
			t.Errorf("an entry that was given up gets %v", err)
		}
	}
	if tries != 1 {
		t.Errorf("%d tries, want 1", tries)
	}
}
