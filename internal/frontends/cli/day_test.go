package cli

import (
	"strings"
	"testing"
	"time"
)

// mondayNight is a late Monday evening in local time, and already Tuesday in UTC.
var mondayNight = time.Date(2026, 11, 16, 23, 30, 0, 0, time.FixedZone("", -5*60*60))

func TestParseDay(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-12-24": "2026-12-24",
		"Today":      "2026-11-16",
		"tomorrow":   "2026-11-17",
		"tue":        "2026-11-17",
		"Wednesday":  "2026-11-18",
		"sun":        "2026-11-22",
		"mon":        "2026-11-23", // the next one, not today
		"MONDAY":     "2026-11-23",
		"+0d":        "2026-11-16",
		"+3d":        "2026-11-19",
		"+15d":       "2026-12-01",
	} {
		got, err := parseDay(" "+text+" ", mondayNight)
		if err != nil || got != want {
			t.Errorf("%q is %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", "someday", "2026-02-30", "2026-1-5", "24.12.2026", "mo", "+d", "3d", "+3", "+-3d", "-3d", "+3w", "+36501d", "+99999999999999999999d"} {
		got, err := parseDay(text, mondayNight)
		if err == nil || !strings.Contains(err.Error(), "is not a day; use YYYY-MM-DD, today, tomorrow, the next weekday") {
			t.Errorf("%q is %q, %v; want the accepted forms", text, got, err)
		}
	}
}

// TestDaysAreCountedOnTheCalendar checks a day of 23 hours.
func TestDaysAreCountedOnTheCalendar(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zones on this machine:", err)
	}
	eve := time.Date(2026, 3, 28, 23, 59, 0, 0, berlin)
	for ahead, want := range map[int]string{0: "2026-03-28", 1: "2026-03-29", 2: "2026-03-30"} {
		if got := dayAfter(eve, ahead); got != want {
			t.Errorf("%d days after is %s, want %s", ahead, got, want)
		}
	}
}

func TestNearness(t *testing.T) {
	t.Parallel()
	for day, want := range map[string]string{
		"2025-12-31": "overdue",
		"2026-11-15": "overdue",
		"2026-11-16": "today", // though it is the 17th in UTC
		"2026-11-17": "tomorrow",
		"2026-11-18": "",
	} {
		if got := dueLabel(day, mondayNight); got != want {
			t.Errorf("%s is %q, want %q", day, got, want)
		}
	}
}
