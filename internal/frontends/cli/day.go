package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// dayForms describes the accepted forms of a day, for help and errors.
const dayForms = "YYYY-MM-DD, today, tomorrow, the next weekday (mon to sun), or a number of days from today (+3d)"

// parseDay converts a day in one of dayForms to YYYY-MM-DD. The time zone of now determines today.
func parseDay(text string, now time.Time) (string, error) {
	word := strings.ToLower(strings.TrimSpace(text))
	if day, err := time.Parse(time.DateOnly, word); err == nil {
		return day.Format(time.DateOnly), nil
	}
	ahead, ok := daysAhead(word, now.Weekday())
	if !ok {
		return "", fmt.Errorf("%q is not a day; use %s", text, dayForms)
	}
	return dayAfter(now, ahead), nil
}

// daysAhead returns how many days after today a relative day is, such as tomorrow, fri or +3d.
func daysAhead(word string, today time.Weekday) (int, bool) {
	switch word {
	case "today":
		return 0, true
	case "tomorrow":
		return 1, true
	}
	for ahead := 1; ahead <= 7; ahead++ {
		name := strings.ToLower(time.Weekday((int(today) + ahead) % 7).String())
		if word == name || word == name[:3] {
			return ahead, true
		}
	}
	const maxDays = 36500 // a hundred years; more is a typing error
	digits, found := strings.CutPrefix(word, "+")
	digits, days := strings.CutSuffix(digits, "d")
	n, err := strconv.ParseUint(digits, 10, 16)
	return int(n), found && days && err == nil && n <= maxDays
}

// dayAfter returns the calendar day the given number of days after now. It counts in UTC, where
// every day has 24 hours.
func dayAfter(now time.Time, days int) string {
	year, month, day := now.Date()
	return time.Date(year, month, day+days, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
}

// dueLabel returns overdue, today or tomorrow for such a day, and "" for any other.
func dueLabel(day string, now time.Time) string {
	switch today := dayAfter(now, 0); {
	case day < today:
		return "overdue"
	case day == today:
		return "today"
	case day == dayAfter(now, 1):
		return "tomorrow"
	default:
		return ""
	}
}
