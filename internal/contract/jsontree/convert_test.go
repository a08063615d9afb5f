package jsontree_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"remit/internal/contract/jsontree"
)

type inner struct {
	ID   int64   `json:"id"`
	Rate float64 `json:"rate"`
}

type sample struct {
	Name   string            `json:"name"`
	Flag   bool              `json:"flag"`
	Small  int8              `json:"small"`
	Count  uint16            `json:"count"`
	Inner  inner             `json:"inner"`
	Next   *inner            `json:"next"`
	List   []inner           `json:"list"`
	Words  []string          `json:"words"`
	Map    map[string]inner  `json:"map"`
	Any    any               `json:"any"`
	Bytes  []byte            `json:"bytes"`
	Level  level             `json:"level"`
	Levels map[level]float64 `json:"levels"`
	Hidden string            `json:"-"`
	own    string
}

// level is written as text.
type level int

func (l level) MarshalText() ([]byte, error) { return []byte(strings.Repeat("+", int(l))), nil }

func (l *level) UnmarshalText(text []byte) error {
	if strings.Trim(string(text), "+") != "" {
		return errors.New("want plusses")
	}
	*l = level(len(text))
	return nil
}

// TestConvertsLikeTheStandardLibrary: a struct is converted to a tree and back as encoding/json
// does.
func TestConvertsLikeTheStandardLibrary(t *testing.T) {
	values := rapid.Custom(func(t *rapid.T) sample {
		in := rapid.Custom(func(t *rapid.T) inner {
			return inner{rapid.Int64().Draw(t, "id"), rapid.Float64Range(-1e9, 1e9).Draw(t, "rate")}
		})
		return sample{
			Name: rapid.String().Draw(t, "name"), Flag: rapid.Bool().Draw(t, "flag"), Small: rapid.Int8().Draw(t, "small"), Count: rapid.Uint16().Draw(t, "count"),
			Inner: in.Draw(t, "inner"), Next: rapid.Ptr(in, true).Draw(t, "next"), List: rapid.SliceOf(in).Draw(t, "list"), Words: rapid.SliceOf(rapid.String()).Draw(t, "words"),
			Map: rapid.MapOf(rapid.String(), in).Draw(t, "map"), Any: rapid.SampledFrom([]any{nil, "x", true, 1.5}).Draw(t, "any"),
			Bytes: rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"), Level: level(rapid.IntRange(0, 3).Draw(t, "level")), Levels: map[level]float64{1: 2},
			Hidden: "hidden", own: "own",
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		value := values.Draw(t, "value")
		ours, err := jsontree.Of(value)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if want := parse(t, string(theirs)); !ours.Equal(&want) {
			t.Fatalf("Of = %s\nwant %s", ours.Append(nil), theirs)
		}
		var back, want sample
		tree := parse(t, string(theirs))
		if err := tree.Decode(&back); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(theirs, &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, back, cmp.AllowUnexported(sample{})); diff != "" {
			t.Fatalf("Decode: %s", diff)
		}
	})
}

func TestOf(t *testing.T) {
	type optional struct {
		Name string   `json:"name,omitempty"`
		List []string `json:"list"`
		At   time.Time
		When time.Time `json:"when"`
	}
	zone := time.FixedZone("", 3600)
	for _, tc := range []struct {
		name string
		in   any
		want string
	}{
		{"nothing", nil, `null`},
		{"a list that is not there is empty", optional{}, `{"list":[],"when":"0001-01-01T00:00:00Z"}`},
		{"times are UTC, to the second", optional{Name: "x", When: time.Date(2026, 1, 9, 11, 30, 0, 999, zone)}, `{"name":"x","list":[],"when":"2026-01-09T10:30:00Z"}`},
		{"a tree is itself", jsontree.Str("x"), `"x"`},
		{"raw JSON", json.RawMessage(`{"b":1,"a":2}`), `{"b":1,"a":2}`},
		{"a pointer to nothing", (*optional)(nil), `null`},
		{"text", level(2), `"++"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v, err := jsontree.Of(tc.in)
			if err != nil || string(v.Append(nil)) != tc.want {
				t.Errorf("got  %s, %v\nwant %s", v.Append(nil), err, tc.want)
			}
		})
	}
	if _, err := jsontree.Of(func() {}); err == nil {
		t.Error("a function has no JSON")
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{`{"name":1}`, "name: "},
		{`{"small":200}`, "small: "},
		{`{"count":-1}`, "count: "},
		{`{"inner":[]}`, "inner: an array cannot be read into jsontree_test.inner"},
		{`{"inner":{"id":1.5}}`, "inner: id: "},
		{`{"list":[{"id":"x"}]}`, "list: id: "},
		{`{"map":{"k":{"rate":"x"}}}`, "map: k: rate: "},
		{`{"level":"x"}`, "level: want plusses"},
		{`[]`, "an array cannot be read into jsontree_test.sample"},
	} {
		var into sample
		v := parse(t, tc.text)
		if err := v.Decode(&into); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("Decode(%s) = %v, want an error that begins with %q", tc.text, err, tc.want)
		}
	}
}

// TestCloneHoldsNothing: a clone does not change with the bytes it was parsed from.
func TestCloneHoldsNothing(t *testing.T) {
	data := []byte(`{"a":["b",1]}`)
	v, err := jsontree.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	kept := v.Clone()
	for i := range data {
		data[i] = 'x'
	}
	if got := string(kept.Append(nil)); got != `{"a":["b",1]}` {
		t.Errorf("the clone became %s", got)
	}
}
