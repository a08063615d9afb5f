package contract

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"remit/internal/contract/jsontree"
)

// format is a string format that is checked, not only documented.
type format struct {
	example string // shown in messages
	valid   func(string) bool
}

var formats = map[string]format{
	"date-time": {"2026-01-09T10:30:00Z", isDateTime},
	"date":      {"2026-01-09", isDate},
	"uri":       {"https://example.com/a", isURI},
}

func knownFormat(v *jsontree.Value) (string, error) {
	err := isText(v)
	if _, known := formats[v.Text]; err == nil && !known {
		err = fmt.Errorf("%q is not a known format%s", v.Text, suggestOrList(v.Text, []string{"date-time", "date", "uri"}))
	}
	return v.Text, err
}

// formatFault returns an example of the format, or "" if text matches it.
func formatFault(name, text string) string {
	if f, known := formats[name]; known && !f.valid(text) {
		return f.example
	}
	return ""
}

func isDate(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// isDateTime follows RFC 3339, which allows a lower-case t and z, and a leap second at the end of a
// UTC day. time.Parse alone is too lenient: it accepts an hour of one digit and an offset of 24
// hours.
func isDateTime(s string) bool {
	const seconds = len("2026-01-09T10:30:00")
	if len(s) <= seconds || !hasDigitsAs(s[:10], "0000-00-00") || !hasDigitsAs(s[11:seconds], "00:00:00") || !isOffset(afterFraction(s[seconds:])) {
		return false
	}
	if s[17:seconds] != "60" && !strings.ContainsAny(s, "tz") { // the common case
		_, err := time.Parse(time.RFC3339, s)
		return err == nil
	}
	b := []byte(strings.ToUpper(s))
	leap := string(b[17:19]) == "60"
	if leap {
		b[17], b[18] = '5', '9'
	}
	t, err := time.Parse(time.RFC3339, string(b))
	if err != nil {
		return false
	}
	u := t.UTC()
	return !leap || u.Hour() == 23 && u.Minute() == 59
}

// hasDigitsAs reports whether s has a digit wherever sample has a 0, and equals sample elsewhere.
func hasDigitsAs(s, sample string) bool {
	if len(s) != len(sample) {
		return false
	}
	for i := range len(s) {
		if digit := s[i] >= '0' && s[i] <= '9'; digit != (sample[i] == '0') || !digit && s[i] != sample[i] {
			return false
		}
	}
	return true
}

// afterFraction skips the fraction of a second, if there is one.
func afterFraction(s string) string {
	digits, ok := strings.CutPrefix(s, ".")
	if rest := strings.TrimLeft(digits, "0123456789"); ok && rest != digits {
		return rest
	}
	return s
}

func isOffset(s string) bool {
	if s == "Z" || s == "z" {
		return true
	}
	return len(s) == 6 && (s[0] == '+' || s[0] == '-') && hasDigitsAs(s[1:], "00:00") && s[1:3] < "24" && s[4] < '6'
}

// uriAlphabet matches the outline of a URI in RFC 3986: a scheme, then only allowed characters,
// with brackets only around an IPv6 host. net/url checks the rest, but would accept spaces, <>,
// backslashes and any Unicode.
var uriAlphabet = sync.OnceValue(func() *regexp.Regexp {
	const part = `(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*`
	const query = `(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*`
	return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:` +
		`(?://(?:[A-Za-z0-9._~!$&'()*+,;=:-]*@)?\[[0-9A-Fa-f:.]+\](?::[0-9]*)?(?:/` + part + `)?|` + part + `)` +
		`(?:\?` + query + `)?(?:#` + query + `)?$`)
})

func isURI(s string) bool {
	if !uriAlphabet().MatchString(s) {
		return false
	}
	u, err := url.Parse(s)
	if err != nil {
		return false
	}
	if host := u.Hostname(); strings.Contains(host, ":") {
		_, err = netip.ParseAddr(host)
	}
	return err == nil
}
