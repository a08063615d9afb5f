package contract

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Bytes is a size in bytes. As text it has a binary unit: 10KiB, 1MiB.
type Bytes int64

var byteUnits = []struct {
	name string
	size Bytes
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// String writes the size with the largest unit that divides it.
func (b Bytes) String() string {
	for _, unit := range byteUnits {
		if b != 0 && b%unit.size == 0 {
			return strconv.FormatInt(int64(b/unit.size), 10) + unit.name
		}
	}
	return "0B"
}

// MarshalText writes the size with its unit.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText reads a size with its unit.
func (b *Bytes) UnmarshalText(text []byte) error {
	for _, unit := range byteUnits {
		digits, ok := strings.CutSuffix(string(text), unit.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 63)
		if err != nil || Bytes(n) > math.MaxInt64/unit.size {
			break
		}
		*b = Bytes(n) * unit.size
		return nil
	}
	return fmt.Errorf("%q is not a size; write it like 10KiB or 1MiB", text)
}

// Duration is a time.Duration that is written as text: 100ms, 5s.
type Duration time.Duration

// MarshalText writes the duration as Go does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads a duration.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil || parsed < 0 {
		return fmt.Errorf("%q is not a duration; write it like 100ms, 5s or 1h", text)
	}
	*d = Duration(parsed)
	return nil
}

// Rate is how often one caller may call: a number of requests in a sliding window. The zero value
// means no limit. As text it is written like 100/min.
type Rate struct {
	Requests int
	Per      time.Duration
}

var rateSpans = []struct {
	name string
	span time.Duration
}{{"s", time.Second}, {"min", time.Minute}, {"h", time.Hour}}

// IsZero reports whether there is no limit.
func (r Rate) IsZero() bool { return r.Requests == 0 }

func (r Rate) String() string {
	for _, s := range rateSpans {
		if r.Per == s.span {
			return fmt.Sprintf("%d/%s", r.Requests, s.name)
		}
	}
	return "none"
}

// MarshalText writes the rate.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads a rate.
func (r *Rate) UnmarshalText(text []byte) error {
	count, span, _ := strings.Cut(string(text), "/")
	n, err := strconv.ParseUint(count, 10, 31)
	if err == nil && n > 0 {
		for _, s := range rateSpans {
			if s.name == span {
				*r = Rate{Requests: int(n), Per: s.span}
				return nil
			}
		}
	}
	return fmt.Errorf("%q is not a rate; write it like 100/min, 10/s or 1000/h", text)
}

// Count formats a number with its noun: 1 day, 2 days, 2 entries.
func Count[N int | int64](n N, noun string) string {
	stem, isY := strings.CutSuffix(noun, "y")
	switch {
	case n == 1:
	case isY && !strings.ContainsAny(stem[len(stem)-1:], "aeiou"):
		noun = stem + "ies"
	default:
		noun += "s"
	}
	return strconv.FormatInt(int64(n), 10) + " " + noun
}

// Version is a semantic version: MAJOR.MINOR.PATCH.
type Version struct{ Major, Minor, Patch int }

// String returns the version as MAJOR.MINOR.PATCH. It avoids fmt because every call's record needs
// it.
func (v Version) String() string {
	b := strconv.AppendInt(make([]byte, 0, 16), int64(v.Major), 10)
	b = strconv.AppendInt(append(b, '.'), int64(v.Minor), 10)
	return string(strconv.AppendInt(append(b, '.'), int64(v.Patch), 10))
}

// MarshalText writes the version.
func (v Version) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

var errVersion = errors.New("a version has three numbers, like 1.0.0")

// UnmarshalText reads a version.
func (v *Version) UnmarshalText(text []byte) error {
	parts := strings.Split(string(text), ".")
	if len(parts) != 3 {
		return errVersion
	}
	for i, to := range []*int{&v.Major, &v.Minor, &v.Patch} {
		n, err := strconv.ParseUint(parts[i], 10, 16)
		if err != nil {
			return errVersion
		}
		*to = int(n)
	}
	return nil
}
