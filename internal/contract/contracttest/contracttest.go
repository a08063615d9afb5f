// Package contracttest holds test helpers for the suites that run on every implementation of a
// store, and for comparing answers with examples.
package contracttest

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract"
)

// Equal fails the test with a diff if two values differ.
func Equal[T any](t *testing.T, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
}

// WantError checks the kind of err and that its message contains each of the words.
func WantError(t *testing.T, err error, kind contract.Kind, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one of kind %s", kind)
		return
	}
	e := contract.AsError(err)
	if e.Kind != kind {
		t.Errorf("error of kind %s, want %s: %v", e.Kind, kind, err)
	}
	for _, word := range words {
		if !strings.Contains(e.Message, word) {
			t.Errorf("message %q does not contain %q", e.Message, word)
		}
	}
}

// Concurrently runs f n times concurrently and waits for all calls.
func Concurrently(n int, f func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
}
