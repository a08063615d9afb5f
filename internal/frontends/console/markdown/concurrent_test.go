package markdown_test

import (
	"sync"
	"testing"
)

// TestConcurrentRender renders in several goroutines, which share the parser.
func TestConcurrentRender(t *testing.T) {
	source := corpus(t)["testdata/constructs.md"]
	want := ours(source)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if ours(source) != want {
				t.Error("the same text was rendered differently")
			}
		})
	}
	all.Wait()
}
