package contract_test

import (
	"encoding"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"remit/internal/contract"
)

type unit interface {
	comparable
	encoding.TextMarshaler
}

// roundTrip parses each text, checks the value, and checks that it is written as the same text.
func roundTrip[T unit, P interface {
	*T
	encoding.TextUnmarshaler
}](t *testing.T, good map[string]T, otherSpellings map[string]T, bad []string, refusal string) {
	t.Helper()
	for text, want := range good {
		var got T
		if err := P(&got).UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q = %v, %v; want %v", text, got, err, want)
		}
		if back, err := got.MarshalText(); err != nil || string(back) != text {
			t.Errorf("%q is written as %q, %v", text, back, err)
		}
	}
	for text, want := range otherSpellings {
		var got T
		if err := P(&got).UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range bad {
		var got T
		if err := P(&got).UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), refusal) {
			t.Errorf("%q = %v, %v; want an error that says %q", text, got, err, refusal)
		}
	}
}

func TestBytes(t *testing.T) {
	roundTrip(t, map[string]contract.Bytes{
		"0B": 0, "1B": 1, "1000B": 1000, "1KiB": 1 << 10, "10KiB": 10 << 10, "1MiB": 1 << 20, "1025B": 1025, "3GiB": 3 << 30, "3000000001B": 3000000001, "5000000KiB": 5000000 << 10,
	}, map[string]contract.Bytes{
		"1024B": 1 << 10, "1024KiB": 1 << 20, "0GiB": 0, "007B": 7,
	}, []string{
		"", "B", "KiB", "10", "10kB", "10KB", "10kib", "10 KiB", "-1B", "+1B", "1.5MiB", "0x10B", "1_000B", "10KiB ", "9223372036854775808B", "9999999999GiB", "１B",
	}, "is not a size; write it like 10KiB or 1MiB")
}

func TestDuration(t *testing.T) {
	roundTrip(t, map[string]contract.Duration{
		"0s": 0, "100ms": contract.Duration(100 * time.Millisecond), "5s": contract.Duration(5 * time.Second), "1h0m0s": contract.Duration(time.Hour), "1.5s": contract.Duration(1500 * time.Millisecond),
	}, map[string]contract.Duration{
		"1h": contract.Duration(time.Hour), "60m": contract.Duration(time.Hour), "1500ms": contract.Duration(1500 * time.Millisecond),
	}, []string{
		"", "5", "5 s", "-5s", "1d", "s", "99999999h",
	}, "is not a duration; write it like 100ms, 5s or 1h")
}

func TestRate(t *testing.T) {
	roundTrip(t, map[string]contract.Rate{
		"100/min": {Requests: 100, Per: time.Minute}, "10/s": {Requests: 10, Per: time.Second}, "1000/h": {Requests: 1000, Per: time.Hour},
	}, nil, []string{
		"", "none", "100", "/min", "100/", "0/min", "-1/min", "+1/min", "1.5/s", "100/day", "100/min/s", "100 /min", "100/Min", "99999999999/s",
	}, "is not a rate; write it like 100/min, 10/s or 1000/h")
	if none := (contract.Rate{}); !none.IsZero() || none.String() != "none" {
		t.Errorf("the zero rate is %q", none)
	}
	data, err := json.Marshal(struct {
		Rate contract.Rate `json:"rate,omitzero"`
	}{})
	if err != nil || string(data) != "{}" {
		t.Errorf("no limit is written as %s, %v", data, err)
	}
}

func TestVersion(t *testing.T) {
	roundTrip(t, map[string]contract.Version{
		"1.0.0": {Major: 1}, "0.1.2": {Minor: 1, Patch: 2}, "10.20.30": {Major: 10, Minor: 20, Patch: 30}, "65535.0.0": {Major: 65535},
	}, nil, []string{
		"", "1", "1.0", "1.0.0.0", "v1.0.0", "1.0.x", "1.-1.0", "1.+1.0", "1..0", "1.0.0-beta", "65536.0.0", " 1.0.0",
	}, "a version has three numbers, like 1.0.0")
}

func TestNearest(t *testing.T) {
	names := []string{"read_repo_file", "write_memory_entry", "hello", "id"}
	for _, tc := range []struct{ word, want string }{
		{"helo", "hello"},
		{"hullo", "hello"},
		{"Hello", "hello"},
		{"HELLO", "hello"},
		{"read_file", ""}, // five letters off
		{"readRepoFile", "read_repo_file"},
		{"write_memory", ""},
		{"ide", "id"},
		{"di", ""},
		{"x", ""},
		{"", ""},
		{"goodbye", ""},
		{strings.Repeat("x", 10000), ""},
	} {
		if got := contract.Nearest(tc.word, names); got != tc.want {
			t.Errorf("Nearest(%.20q) = %q, want %q", tc.word, got, tc.want)
		}
	}
	if got := contract.Nearest("a", nil); got != "" {
		t.Errorf("without candidates, Nearest returns %q", got)
	}
}

func TestHint(t *testing.T) {
	for _, tc := range []struct {
		name  string
		known []string
		want  string
	}{
		{"helo", []string{"hello", "bye"}, `; did you mean "hello"?`},
		{"xyzzy", []string{"hello", "bye"}, "; known: hello, bye"},
		{"hello", nil, "; known: none"},
	} {
		if got := contract.Hint(tc.name, tc.known); got != tc.want {
			t.Errorf("Hint(%q, %v) = %q, want %q", tc.name, tc.known, got, tc.want)
		}
	}
}

func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"0 days": contract.Count(0, "day"), "1 day": contract.Count(1, "day"), "2 days": contract.Count(int64(2), "day"),
		"1 entry": contract.Count(1, "entry"), "3 more entries": contract.Count(3, "more entry"), "2 files": contract.Count(2, "file"),
	} {
		if got != want {
			t.Errorf("Count gives %q, want %q", got, want)
		}
	}
}
