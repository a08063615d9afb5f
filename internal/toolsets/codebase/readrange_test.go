package codebase

import (
	"fmt"
	"strings"
	"testing"
)

// TestLineRange checks the lines of texts of many shapes against a split of the whole text.
func TestLineRange(t *testing.T) {
	long := strings.Repeat("y", 200<<10) // longer than the buffer
	texts := []string{
		"one\ntwo\nthree\n", "one\ntwo\nthree", "\n\n\n", "a\r\nb\r\n", long + "\n" + long + "\nend", "x", strings.Repeat("line\n", 100_000),
	}
	for _, text := range texts {
		all := strings.SplitAfter(text, "\n")
		if all[len(all)-1] == "" {
			all = all[:len(all)-1]
		}
		for _, first := range []int{1, 2, 3, len(all), len(all) + 1} {
			for _, limit := range []int{0, 1, 2} {
				r := lineRange{first: first, last: first + limit - 1}
				if err := r.scan(t.Context(), strings.NewReader(text)); err != nil {
					t.Fatal(err)
				}
				from, to := min(first-1, len(all)), len(all)
				if limit > 0 {
					to = min(from+limit, to)
				}
				if want := strings.Join(all[from:to], ""); r.content.String() != want || r.lines != len(all) {
					t.Errorf("%.20q from %d, limit %d: %d bytes of %d lines, want %d of %d", text, first, limit, r.content.Len(), r.lines, len(want), len(all))
				}
			}
		}
	}
}

// TestLineRangeIsBounded checks that a range ends with the last line that fits.
func TestLineRangeIsBounded(t *testing.T) {
	line := strings.Repeat("z", 99) + "\n"
	r := lineRange{first: 2}
	text := strings.Repeat(line, 3*maxRange/100)
	if err := r.scan(t.Context(), strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	if n := r.content.Len(); n > maxRange || n < maxRange-100 || n%100 != 0 || fmt.Sprint(r.lines) != fmt.Sprint(3*maxRange/100) {
		t.Errorf("%d bytes, %d lines", n, r.lines)
	}
	tooLong := lineRange{first: 1}
	if err := tooLong.scan(t.Context(), strings.NewReader(strings.Repeat("z", maxRange+1)+"\nb\n")); err != nil || tooLong.content.Len() > 0 || tooLong.lines != 2 {
		t.Errorf("%d bytes, %d lines, %v", tooLong.content.Len(), tooLong.lines, err)
	}
}
