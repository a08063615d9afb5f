package learning_test

import (
	"errors"
	"strings"
	"testing"

	"remit/internal/toolsets/learning"
)

// TestExtent checks that text that follows an extent does not change it, and everything else does.
func TestExtent(t *testing.T) {
	const text = "first\nsecond\n"
	extent := learning.ExtentOf(learning.Tail{Text: []byte("second\n"), Before: 6})
	for file, want := range map[string]error{
		// Only the text that was shown counts.
		text: nil, text + "third\n": nil, "fIRST\nsecond\n": nil,
		"first\nSECOND\n": learning.ErrChanged, "first\nsecond": learning.ErrChanged, "first\n": learning.ErrChanged, "": learning.ErrChanged,
		"zero\n" + text: learning.ErrChanged,
	} {
		if err := extent.Check(strings.NewReader(file)); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", file, err, want)
		}
	}
	if err := (learning.Extent{}).Check(strings.NewReader("")); err != nil {
		t.Errorf("an absent file: %v", err)
	}
}

func FuzzParseExtent(f *testing.F) {
	f.Add("13-7-" + strings.Repeat("0", 64))
	f.Add("0-0-")
	f.Add("-1--1-x")
	f.Fuzz(func(t *testing.T, text string) {
		extent, ok := learning.ParseExtent(text)
		if ok && extent.String() != text {
			t.Errorf("%q is read as %q", text, extent)
		}
		if ok {
			_ = extent.Check(strings.NewReader("abc")) // must not panic
		}
	})
}
