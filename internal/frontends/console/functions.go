package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"math"
	"net/url"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"remit/internal/contract/jsontree"
	"remit/internal/visible"
)

// functions returns the functions that every template may use.
func (c *Console) functions() template.FuncMap {
	return template.FuncMap{
		"agent":        agentHref,
		"ago":          func(at any) (template.HTML, error) { return ago(at, c.Now()) },
		"at":           exactTag,
		"asset":        assetURL,
		"bytes":        byteCount,
		"clientlink":   clientLink,
		"clip":         clip,
		"clock":        clockTag,
		"codeline":     shownLine,
		"dict":         dict,
		"grouped":      grouped,
		"join":         strings.Join,
		"legible":      legible,
		"milliseconds": inMilliseconds,
		"percent":      func(share float64) int { return int(share*100 + 0.5) },
		"plain":        visible.Line,
		"query":        query,
		"scripts":      scripts,
		"source":       sourceHref,
		"stylesheets":  stylesheets,
		"tone":         tone,
		"took":         took,
	}
}

// pager links to the neighbouring pages of a list. Prev and Next are URLs, empty if there is no
// such page; Note says which part is shown.
type pager struct{ Prev, Next, Note string }

// ago is timeTag for a time.Time or for a string in RFC 3339 format.
func ago(at any, now time.Time) (template.HTML, error) {
	switch at := at.(type) {
	case time.Time:
		return timeTag(at, now), nil
	case string:
		t, _ := time.Parse(time.RFC3339, at) // an unreadable time is shown as never
		return timeTag(t, now), nil
	default:
		return "", fmt.Errorf("ago: %T is not a time", at)
	}
}

// timeTag returns a <time> element with the distance of t from now, and the exact time in its
// title.
func timeTag(t, now time.Time) template.HTML {
	if t.IsZero() {
		return `<span class="muted">never</span>`
	}
	t = t.UTC()
	// Safe: the parts are formatted times, which contain no markup.
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s" data-time="ago">%s</time>`, //nolint:gosec // see above
		t.Format(time.RFC3339), t.Format("Mon 2 Jan 2006, 15:04:05 UTC"), distance(t, now)))
}

// exactTag returns a <time> element with the time in UTC. The script of the page replaces the text
// with the time of the reader's time zone.
func exactTag(t time.Time) template.HTML {
	t = t.UTC()
	exact := t.Format("2006-01-02 15:04:05 UTC")
	// Safe: the parts are formatted times, which contain no markup.
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s" data-time="exact">%s</time>`, //nolint:gosec // see above
		t.Format(time.RFC3339), exact, exact))
}

// clockTag returns a <time> element with the time of day in UTC, and the exact time in its title.
// The script of the page replaces the text with the time of the reader's time zone.
func clockTag(t time.Time) template.HTML {
	t = t.UTC()
	// Safe: the parts are formatted times, which contain no markup.
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s" data-time="clock">%s</time>`, //nolint:gosec // see above
		t.Format(time.RFC3339), t.Format("Mon 2 Jan 2006, 15:04:05 UTC"), t.Format(time.TimeOnly)))
}

// distance describes the time between t and now, for example "5 min ago".
func distance(t, now time.Time) string {
	d := now.Sub(t)
	format := "%s ago"
	if d < 0 {
		d, format = -d, "in %s"
	}
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf(format, fmt.Sprintf("%d s", int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf(format, fmt.Sprintf("%d min", int(d.Minutes())))
	case d < 48*time.Hour:
		return fmt.Sprintf(format, fmt.Sprintf("%d h", int(d.Hours())))
	case d < 90*24*time.Hour:
		return fmt.Sprintf(format, fmt.Sprintf("%d days", int(d.Hours()/24)))
	default:
		return t.Format(time.DateOnly)
	}
}

// byteCount formats a size, given as any integer type, with a binary unit.
func byteCount(size any) (string, error) {
	n, err := integer(size)
	if err != nil {
		return "", err
	}
	if n < 1024 && n > -1024 {
		return fmt.Sprintf("%d B", n), nil
	}
	value, unit := float64(n), ""
	for _, unit = range []string{"KiB", "MiB", "GiB", "TiB"} {
		if value /= 1024; math.Abs(value) < 1024 {
			break
		}
	}
	return fmt.Sprintf("%.1f %s", value, unit), nil
}

// took formats a duration, given as any integer type, with two or three digits.
func took(duration any) (string, error) {
	n, err := integer(duration)
	if err != nil {
		return "", err
	}
	switch d := time.Duration(n); {
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", n), nil
	case d < time.Millisecond:
		return fmt.Sprintf("%.0f µs", float64(n)/1e3), nil
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(n)/1e6), nil
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", float64(n)/1e6), nil
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds()), nil
	default:
		return d.Round(time.Second).String(), nil
	}
}

func integer(value any) (int64, error) {
	switch v := reflect.ValueOf(value); {
	case v.IsValid() && v.CanInt():
		return v.Int(), nil
	case v.IsValid() && v.CanUint():
		return int64(v.Uint()), nil
	default:
		return 0, fmt.Errorf("%T is no integer", value)
	}
}

// clip shortens a text to at most limit characters.
func clip(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return string([]rune(text)[:max(0, limit-1)]) + "…"
}

// dict builds a map from alternating keys and values, as the argument of a template.
func dict(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, errors.New("dict: a key has no value")
	}
	made := make(map[string]any, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		key, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("dict: key %v is not a string", pairs[i])
		}
		made[key] = pairs[i+1]
	}
	return made, nil
}

// query returns a URL with some of its parameters replaced, so that the URL holds the state of the
// page. A parameter whose new value is "" is removed.
func query(address any, pairs ...any) (string, error) {
	var u url.URL
	switch a := address.(type) {
	case *url.URL:
		u = *a
	case url.URL:
		u = a
	case string:
		parsed, err := url.Parse(a)
		if err != nil {
			return "", fmt.Errorf("query: %w", err)
		}
		u = *parsed
	default:
		return "", fmt.Errorf("query: %T is not a URL", address)
	}
	changes, err := dict(pairs...)
	if err != nil {
		return "", err
	}
	values := u.Query()
	for key, value := range changes {
		if text := fmt.Sprint(value); text != "" {
			values.Set(key, text)
		} else {
			values.Del(key)
		}
	}
	u.RawQuery = values.Encode()
	return u.String(), nil
}

// prettyJSON returns a JSON value with line breaks and indentation.
func prettyJSON(value *jsontree.Value) string {
	var b bytes.Buffer
	_ = json.Indent(&b, value.Append(nil), "", "  ") // a Value is always valid JSON
	return b.String()
}

// tone returns the CSS class that colours an outcome, the state of a request or the priority of a
// task.
func tone(of any) string {
	switch fmt.Sprint(of) {
	case "ok", "approved", "used", "replayed":
		return "good"
	case "asked", "pending", "waiting", "limited", "Medium":
		return "wait"
	case "internal", "unavailable", "failed", "High":
		return "bad"
	case "expired", "withdrawn", "covered", "":
		return "quiet"
	case "Low":
		return ""
	default: // errors that the caller can do something about
		return "warn"
	}
}
