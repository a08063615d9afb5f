package cli

import (
	"testing"
	"time"

	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit/auditindex"
)

func TestPastTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 15, 0, 0, 0, time.FixedZone("", 3600))
	for text, want := range map[string]string{
		"":                     "0001-01-01T00:00:00Z",
		"30m":                  "2026-03-04T14:30:00+01:00",
		"7d":                   "2026-02-25T15:00:00+01:00",
		"2026-01-31":           "2026-01-31T00:00:00+01:00",
		"2026-01-31 15:04":     "2026-01-31T15:04:00+01:00",
		"2026-01-31T15:04:05Z": "2026-01-31T15:04:05Z",
		"today":                "2026-03-04T00:00:00+01:00",
		"yesterday":            "2026-03-03T00:00:00+01:00",
		"tomorrow":             "",
		"2026-02-30":           "",
	} {
		at, err := pastTime("--since", text, now)
		if err == nil && at.Format(time.RFC3339) != want || err != nil && want != "" {
			t.Errorf("%q: %s, %v, want %s", text, at.Format(time.RFC3339), err, want)
		}
	}
}

// TestPastTimeUntil checks that --until includes the day that it names, and no more.
func TestPastTimeUntil(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 15, 0, 0, 0, time.FixedZone("", 3600))
	for text, want := range map[string]string{
		"today":            "2026-03-05T00:00:00+01:00",
		"2026-01-31":       "2026-02-01T00:00:00+01:00",
		"2026-01-31 15:04": "2026-01-31T15:04:00+01:00",
		"7d":               "2026-02-25T15:00:00+01:00",
	} {
		at, err := pastTime("--until", text, now)
		if err != nil || at.Format(time.RFC3339) != want {
			t.Errorf("%q: %s, %v, want %s", text, at.Format(time.RFC3339), err, want)
		}
	}
}

// TestWhat checks that a decision that failed is not called a decision.
func TestWhat(t *testing.T) {
	t.Parallel()
	for record, want := range map[string]string{
		`{"tool":"approvals/approve","outcome":"ok"}`:        "a person decided",
		`{"tool":"approvals/approve","outcome":"internal"}`:  "a person tried to decide; nothing was decided",
		`{"tool":"approvals/withdraw","outcome":"conflict"}`: "a person tried to decide; nothing was decided",
		`{"tool":"learning-os/hello","outcome":"ok"}`:        "the call ended",
	} {
		r, err := jsontree.Parse([]byte(record))
		if err != nil {
			t.Fatal(err)
		}
		if got := auditindex.PartOf(&r); got != want {
			t.Errorf("%s is %q, want %q", record, got, want)
		}
	}
}

func TestTook(t *testing.T) {
	t.Parallel()
	for micros, want := range map[string]string{
		"0": "0s", "812": "812µs", "1234": "1.2ms", "579803": "580ms", "3512345": "3.5s", "61400000": "1m1s", "": "",
	} {
		if got := took(micros); got != want {
			t.Errorf("%q is %q, want %q", micros, got, want)
		}
	}
}
