package sqlstore

import (
	"context"
	"runtime"
	"testing"
)

// TestCloseTriesOnce: when a log is closed while the database is away, what waits is
// given up together and not batch by batch.
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
	for range 3 * mostBatched {
		last = q.append(&entry{})
	}
	closed := make(chan error)
	go func() { closed <- q.close() }()
	for !q.isClosed() {
		runtime.Gosched()
	}
	close(fail)
	if err := <-closed; err != errTest { //nolint:errorlint // the very same
		t.Errorf("close: %v", err)
	}
	for _, e := range []*entry{first, last} {
		if err := e.wait(t.Context()); err != errTest { //nolint:errorlint // the very same
			t.Errorf("an entry that was given up gets %v", err)
		}
	}
	if tries != 1 {
		t.Errorf("%d tries, want 1", tries)
	}
}
