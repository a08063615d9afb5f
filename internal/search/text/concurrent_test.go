package text

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLinesConcurrently(t *testing.T) {
	p, re := compile(t, `[ab]*a[ab]{6}c|\bfoo`, false)
	data := []byte(strings.Repeat("abbabaababbabc\nfoo\nbar bar\nabaabbbabab\n", 200))
	want := byRegexp(re, data)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 20 {
				if diff := cmp.Diff(want, linesOf(p, data)); diff != "" {
					t.Errorf("(-regexp +got):\n%s", diff)
				}
			}
		})
	}
	wait.Wait()
}
