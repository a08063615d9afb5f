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
	"remit/internal/engine/approval"
)

// functions are what every template may use.
func (c *Console) functions() template.FuncMap {
	return template.FuncMap{
		"ago":          func(at any) (template.HTML, error) { return ago(at, c.Now()) },
		"at":           func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
		"asset":        assetURL,
		"bytes":        byteCount,
		"clientlink":   clientLink,
		"clip":         clip,
		"codeline":     shownLine,
		"dict":         dict,
		"join":         strings.Join,
		"legible":      legible,
		"milliseconds": inMilliseconds,
		"percent":      func(share float64) int { return int(share*100 + 0.5) },
		"plain":        approval.Plain,
		"query":        query,
		"scripts":      scripts,
		"source":       sourceHref,
		"stylesheets":  stylesheets,
		"tone":         tone,
		"took":         took,
	}
}

// pager leads through the pages of a list: addresses, "" where there is none, and what
// is shown, in words.
type pager struct{ Prev, Next, Note string }

// ago is timeTag of a time, or of one that is written as RFC 3339.
func ago(at any, now time.Time) (template.HTML, error) {
	switch at := at.(type) {
	case time.Time:
		return timeTag(at, now), nil
	case string:
		t, _ := time.Parse(time.RFC3339, at) // a time that cannot be read is shown as never
		return timeTag(t, now), nil
	default:
		return "", fmt.Errorf("ago: %T is no time", at)
	}
}

// timeTag tells how long ago something was, or how soon it will be. The instant itself
// is in the title.
func timeTag(t, now time.Time) template.HTML {
	if t.IsZero() {
		return `<span class="muted">never</span>`
	}
	t = t.UTC()
	// Nothing in here comes from elsewhere: formats of a time hold no markup.
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s">%s</time>`, //nolint:gosec // see above
		t.Format(time.RFC3339), t.Format("Mon 2 Jan 2006, 15:04:05 UTC"), distance(t, now)))
}

// distance tells the time between two instants as people do.
func distance(t, now time.Time) string {
	d := now.Sub(t)
	words := "%s ago"
	if d < 0 {
		d, words = -d, "in %s"
	}
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf(words, fmt.Sprintf("%d s", int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf(words, fmt.Sprintf("%d min", int(d.Minutes())))
	case d < 48*time.Hour:
		return fmt.Sprintf(words, fmt.Sprintf("%d h", int(d.Hours())))
	case d < 90*24*time.Hour:
		return fmt.Sprintf(words, fmt.Sprintf("%d days", int(d.Hours()/24)))
	default:
		return t.Format(time.DateOnly)
	}
}

// byteCount writes a size of any integer type for people.
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

// took writes a duration with two or three digits, whatever its integer type.
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

// clip cuts a text to so many characters.
func clip(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:max(0, most-1)]) + "…"
}

// dict makes the argument of a template from keys and values in turn.
func dict(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, errors.New("dict: a key has no value")
	}
	made := make(map[string]any, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		key, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("dict: the key %v is no string", pairs[i])
		}
		made[key] = pairs[i+1]
	}
	return made, nil
}

// query is an address with some of its parameters replaced, so that the state of a page
// lives in its address. A parameter that becomes "" is left out.
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
		return "", fmt.Errorf("query: %T is no address", address)
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

// prettyJSON lays a JSON value out over lines.
func prettyJSON(value *jsontree.Value) string {
	var b bytes.Buffer
	_ = json.Indent(&b, value.Append(nil), "", "  ") // a Value is always valid JSON
	return b.String()
}

// tone is how an outcome, the state of a request or the priority of a task is coloured.
func tone(of any) string {
	switch fmt.Sprint(of) {
	case "ok", "approved", "used", "replayed":
		return "good"
	case "asked", "pending", "waiting", "limited", "Medium":
		return "wait"
	case "internal", "unavailable", "failed", "High":
		return "bad"
	case "expired", "":
		return "quiet"
	case "Low":
		return ""
	default: // what the caller may have to do something about
		return "warn"
	}
}
