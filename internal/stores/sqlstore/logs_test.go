package sqlstore

import (
	"context"
	"runtime"
	"testing"
)

// TestCloseTriesOnce checks that a log that is closed while the database is unreachable gives up
// all queued entries together, not batch by batch.
func TestCloseTriesOnce(t *testing.T) {
	begun, fail, tries := make(chan struct{}), make(chan struct{}), 0
	q := &lineQueue{store: func(context.Context, []*entry) error {
		if tries++; tries == 1 {
			close(begun)
		}
		<-fail
		return errTest
	}}
	first := q.append(&entry{durable: true})
	<-begun
	var last *entry
	for range 3 * maxBatch {
		last = q.append(&entry{})
	}
	closed := make(chan error)
	go func() { closed <- q.close() }()
	for !q.isClosed() {
		runtime.Gosched()
	}
	close(fail)
	if err := <-closed; err != errTest { //nolint:errorlint // must be this very error
		t.Errorf("close: %v", err)
	}
	for _, e := range []*entry{first, last} {
		if err := e.wait(t.Context()); err != errTest { //nolint:errorlint // must be this very error
			t.Errorf("an entry that was given up gets %v", err)
		}
	}
	if tries != 1 {
		t.Errorf("%d tries, want 1", tries)
	}
}
