package app

import (
	"bytes"
	"fmt"
	"testing"
)

// TestNewestLines checks that the first line stays the same until a text has grown by a step, and
// that the lines before it are counted.
func TestNewestLines(t *testing.T) {
	const most, step = 1000, 300
	var text []byte
	starts := map[int]bool{}
	for n := 0; n < 400; n++ {
		text = fmt.Appendf(text, "line %d of the notes\n", n)
		newest, before := newestLines(text, most, step)
		if len(newest) > most || len(newest) < min(len(text), most-step-30) {
			t.Fatalf("%d bytes of %d", len(newest), len(text))
		}
		if !bytes.HasSuffix(text, newest) || !bytes.HasPrefix(newest, fmt.Appendf(nil, "line %d of", before)) {
			t.Fatalf("after %d lines comes %.20q", before, newest)
		}
		starts[before] = true
	}
	if want := (len(text)-most)/step + 2; len(starts) != want {
		t.Errorf("it begins in %d places, want %d", len(starts), want)
	}
	if newest, before := newestLines(bytes.Repeat([]byte("x"), 2*most), most, step); len(newest) != 0 || before != 0 {
		t.Errorf("%d bytes after %d lines of one endless line", len(newest), before)
	}
}
