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

// TestLastLines checks that the last 4 KiB are shown in whole lines, and a longer last line as a
// whole.
func TestLastLines(t *testing.T) {
	long := strings.Repeat("x", 5000)
	lines := strings.Repeat("0123456\n", 512) // 4 KiB
	for text, want := range map[string]string{
		"": "", "a\nb\n": "a\nb\n", lines: lines, "a\n" + lines: lines, "a" + lines: lines[8:], "a\n" + lines + "b": lines[8:] + "b",
		long: long, "a\n" + long + "\n": long + "\n", "a\n" + long + "\nb\n": "b\n",
	} {
		if got := string(learning.LastLines([]byte(text))); got != want {
			t.Errorf("of %d bytes %d are shown, want %d", len(text), len(got), len(want))
		}
	}
}
