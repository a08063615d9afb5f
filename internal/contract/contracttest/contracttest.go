// Package contracttest holds what the suites of stores have in common, each of which is run
// on every store that keeps the same promise, and what compares answers with examples.
package contracttest

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract"
)

// Equal fails the test with the difference of two values.
func Equal[T any](t *testing.T, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
}

// Fails checks the kind of err and that its message tells each of the words.
func Fails(t *testing.T, err error, kind contract.Kind, words ...string) {
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
			t.Errorf("message %q does not tell %q", e.Message, word)
		}
	}
}

// Together runs f n times at once and waits for all.
func Together(n int, f func(i int)) {
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
