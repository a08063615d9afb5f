package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// dayForms is how a person may name a day.
const dayForms = "YYYY-MM-DD, today, tomorrow, a weekday (mon to sun: the next one) or days from today (+3d)"

// parseDay reads a day as a person names it and writes it as the tools do. What
// today is hangs on the time zone of now.
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

// daysAhead is how far away a day is that is named from today.
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
	const most = 36500 // a hundred years: further is a slip of the finger
	digits, found := strings.CutPrefix(word, "+")
	digits, days := strings.CutSuffix(digits, "d")
	n, err := strconv.ParseUint(digits, 10, 16)
	return int(n), found && days && err == nil && n <= most
}

// dayAfter is the calendar day so many days after that of now. Days are counted in
// UTC, where each has 24 hours.
func dayAfter(now time.Time, days int) string {
	year, month, day := now.Date()
	return time.Date(year, month, day+days, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
}

// nearness says in a word what a person wants to know of a day: whether it is
// past, or close. It is empty for all others.
func nearness(day string, now time.Time) string {
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
