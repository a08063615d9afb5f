package contract

import (
	"fmt"
	"net/url"
	"slices"
	"time"

	"remit/internal/contract/jsontree"
)

// formats are asserted, not merely noted. Each comes with an example for people.
var formats = []struct {
	name, example string
	valid         func(string) bool
}{
	{"date-time", "2026-01-09T10:30:00Z", isDateTime},
	{"date", "2026-01-09", isDate},
	{"uri", "https://example.com/a", isURI},
}

func knownFormat(v *jsontree.Value) (string, error) {
	for _, f := range formats {
		if f.name == v.Text {
			return f.name, nil
		}
	}
	return "", fmt.Errorf("format %q is not known", v.Text)
}

// formatFault returns an example of what was wanted, or "" if text is fine.
func formatFault(format, text string) string {
	i := slices.IndexFunc(formats, func(f struct {
		name, example string
		valid         func(string) bool
	},
	) bool {
		return f.name == format
	})
	if i < 0 || formats[i].valid(text) {
		return ""
	}
	return formats[i].example
}

func isDate(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// isDateTime follows RFC 3339, where T and Z may be small and a leap second
// may stand at the end of a UTC day.
func isDateTime(s string) bool {
	if len(s) < len("2026-01-09T10:30:00Z") || s[10] != 'T' && s[10] != 't' || s[19] == ',' {
		return false
	}
	b := []byte(s)
	b[10] = 'T'
	if last := len(b) - 1; b[last] == 'z' {
		b[last] = 'Z'
	}
	leap := string(b[17:19]) == "60"
	if leap {
		b[17], b[18] = '5', '9'
	}
	t, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil {
		return false
	}
	u := t.UTC()
	return !leap || u.Hour() == 23 && u.Minute() == 59
}

func isURI(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.IsAbs()
}
