package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestBar checks that a bar appears after a delay, fits the width, and is removed at the end.
func TestBar(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	var out bytes.Buffer
	b := &bar{out: &out, what: "Importing", maxWidth: 60, now: func() time.Time { return now }, begun: now}
	b.update(Progress{Done: 1, Total: 4_000_000, Name: "a.md"})
	if b.end(); out.Len() != 0 {
		t.Fatalf("at once it shows %q", out.String())
	}
	now = now.Add(3 * time.Second)
	b.update(Progress{Done: 1_000_000, Total: 4_000_000, Name: "lessons/\x1b[31m.md"})
	const want = "\rImporting  [#####...............]  25 %  1.0 MB of 4.0 MB "
	if got := out.String(); !strings.HasPrefix(got, want[:58]) || columns(got[1:]) != 59 || strings.Contains(got, "\x1b") {
		t.Errorf("it shows %q", got)
	}
	out.Reset()
	b.update(Progress{Done: 2_000_000, Total: 4_000_000})
	if out.Len() != 0 {
		t.Errorf("a moment later it shows %q", out.String())
	}
	b.end()
	if got := out.String(); got != "\r"+strings.Repeat(" ", 59)+"\r" {
		t.Errorf("in the end it shows %q", got)
	}
	unseen := &bar{out: &out, now: func() time.Time { return now }}
	out.Reset()
	unseen.update(Progress{Done: 1, Total: 2})
	if unseen.end(); out.Len() != 0 {
		t.Errorf("where nobody looks it shows %q", out.String())
	}
}

func TestBarShowsTimeLeft(t *testing.T) {
	t.Parallel()
	b := &bar{what: "Checking"}
	for want, at := range map[string]Progress{
		"Checking  [##########..........]  50 %  1.0 GB of 2.0 GB  10 s left  x.md": {Done: 1_000_000_000, Total: 2_000_000_000, Name: "x.md"},
		"Checking  [####################] 100 %  5 B of 2 B  ":                      {Done: 5, Total: 2},
		"Checking  [....................]   0 %  0 B of 2 B  ":                      {Total: 2},
		"Checking  12.3 kB  ": {Done: 12_345},
	} {
		if got := b.line(at, 10*time.Second); got != want {
			t.Errorf("%+v shows\n%q, want\n%q", at, got, want)
		}
	}
	for want, d := range map[string]time.Duration{"1 s left": time.Millisecond, "59 s left": 59 * time.Second, "2 min left": 100 * time.Second, "3 h left": 3 * time.Hour} {
		if got := remaining(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	for want, n := range map[string]int64{"0 B": 0, "999 B": 999, "1.0 kB": 1000, "999.9 kB": 999_940, "1.0 MB": 999_960, "1.5 GB": 1_500_000_000, "2000.0 GB": 2_000_000_000_000} {
		if got := size(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}
