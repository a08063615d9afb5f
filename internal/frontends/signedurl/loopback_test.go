package signedurl_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"remit/internal/frontends/signedurl"
)

// TestMain ignores the goroutine that net/http keeps for half a second after it has rejected a
// body.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// TestLoopback checks that serving starts once, with the first URL, and ends with Close.
func TestLoopback(t *testing.T) {
	var begun, ended atomic.Int64
	l := &signedurl.Loopback{Serve: func(ctx context.Context, ready func(string)) error {
		begun.Add(1)
		ready("http://127.0.0.1:1")
		<-ctx.Done()
		ended.Add(1)
		return nil
	}}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if base, err := l.Base(); base != "http://127.0.0.1:1" || err != nil {
				t.Errorf("got %s, %v", base, err)
			}
		})
	}
	all.Wait()
	if err := errors.Join(l.Close(), l.Close()); err != nil || begun.Load() != 1 || ended.Load() != 1 {
		t.Errorf("begun %d times, ended %d times, %v", begun.Load(), ended.Load(), err)
	}
	if _, err := l.Base(); err == nil {
		t.Error("Base succeeds after Close")
	}
}

// TestLoopbackFails checks that a failed start returns an error, and that the next call tries
// again.
func TestLoopbackFails(t *testing.T) {
	errBusy := errors.New("no port is free")
	tries := 0
	l := &signedurl.Loopback{Serve: func(ctx context.Context, ready func(string)) error {
		if tries++; tries == 1 {
			return errBusy
		}
		ready("http://127.0.0.1:1")
		<-ctx.Done()
		return nil
	}}
	if _, err := l.Base(); !errors.Is(err, errBusy) {
		t.Errorf("got %v", err)
	}
	if base, err := l.Base(); base == "" || err != nil {
		t.Errorf("got %s, %v", base, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := (&signedurl.Loopback{}).Close(); err != nil {
		t.Error(err)
	}
}
