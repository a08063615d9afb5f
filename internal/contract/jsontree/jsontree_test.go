package jsontree_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract/jsontree"
)

func TestParseRefuses(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"empty", "", "unexpected end at byte 0"},
		{"trailing data", "{} {}", "unexpected data after the value at byte 3"},
		{"duplicate key", `{"a":1,"a":2}`, `duplicate key "a" at byte 7`},
		{"duplicate key by escape", `{"a":1,"\u0061":2}`, `duplicate key "a" at byte 7`},
		{"invalid UTF-8", "\"\xff\"", "invalid UTF-8 at byte 1"},
		{"control character", "\"a\nb\"", "unescaped control character in a string at byte 2"},
		{"leading zero", "01", "unexpected data after the value at byte 1"},
		{"bare word", "{x:1}", "expected a quoted key at byte 1"},
		{"trailing comma", `[1,]`, "unexpected ']' at byte 3"},
		{"unclosed", `{"a":`, "unexpected end at byte 5"},
		{"too deep", strings.Repeat("[", 200), "nested too deeply at byte 101"},
		{"too many values", "[" + strings.Repeat("1,", jsontree.MaxValues) + "1]", "too many values at byte 32767"},
		{"bad escape", `"\x"`, "invalid escape in a string at byte 1"},
		{"half a surrogate pair", `"a\ud800b"`, "half of a surrogate pair in a string at byte 2"},
		{"two first halves", `"\ud800\ud800"`, "half of a surrogate pair in a string at byte 1"},
		{"a second half alone", `"\udc00"`, "half of a surrogate pair in a string at byte 1"},
		{"bad unicode", `"\u12"`, `invalid \u escape in a string at byte 1`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := jsontree.Parse([]byte(tc.in))
			if err == nil || err.Error() != tc.want {
				t.Errorf("Parse(%q) = %v, want %s", tc.in, err, tc.want)
			}
		})
	}
}

// TestParseTrusted checks that only the number of values is not limited in JSON of our own.
func TestParseTrusted(t *testing.T) {
	many := "[" + strings.Repeat("1,", jsontree.MaxValues) + "1]"
	if v, err := jsontree.ParseTrusted([]byte(many)); err != nil || len(v.Members) != jsontree.MaxValues+1 {
		t.Errorf("%d values, %v", len(v.Members), err)
	}
	if v, err := jsontree.Parse([]byte("[" + strings.Repeat("1,", jsontree.MaxValues-2) + "1]")); err != nil {
		t.Errorf("as many as allowed: %d values, %v", len(v.Members), err)
	}
	if _, err := jsontree.ParseTrusted([]byte(strings.Repeat("[", 200))); err == nil {
		t.Error("accepted deep nesting")
	}
}

func TestManyKeysStayUnique(t *testing.T) {
	var b strings.Builder
	b.WriteString("{")
	for i := range 100 {
		b.WriteString(`"k` + strings.Repeat("x", i) + `":1,`)
	}
	if _, err := jsontree.Parse([]byte(b.String() + `"last":1}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := jsontree.Parse([]byte(b.String() + `"kxx":1}`)); err == nil {
		t.Error("a key repeated in a large object was accepted")
	}
}

func TestOrderNumbersAndRawAreKept(t *testing.T) {
	in := `{"z": 12345678901234567890, "a": {"n": 1.50, "s": "é\u00e9"}}`
	v, err := jsontree.Parse([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(v.Append(nil)), `{"z":12345678901234567890,"a":{"n":1.50,"s":"éé"}}`; got != want {
		t.Errorf("Append = %s, want %s", got, want)
	}
	a := v.Field("a")
	if got, want := string(a.Raw), `{"n": 1.50, "s": "é\u00e9"}`; got != want {
		t.Errorf("Raw = %s, want %s", got, want)
	}
	if got, want := string(v.Canonical()), `{"a":{"n":1.50,"s":"éé"},"z":12345678901234567890}`; got != want {
		t.Errorf("Canonical = %s, want %s", got, want)
	}
}

// FuzzParse compares with the standard library: it accepts all that Parse accepts, with the same
// meaning, and rejects what Parse rejects, unless Parse is stricter on purpose.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5e3,"x\n\ud83d\ude00",true,false,null]}`, `"\ud800"`, `[[[]]]`, `{"a":1,"a":2}`, `-0.0`, "\"\x7f\""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := jsontree.Parse(data)
		if err != nil {
			if json.Valid(data) && !strictOnPurpose(err) {
				t.Fatalf("Parse(%q) = %v, but it is valid", data, err)
			}
			return
		}
		out := v.Append(nil)
		if diff := cmp.Diff(decode(t, data), decode(t, out)); diff != "" {
			t.Fatalf("Parse(%q) wrote %q: %s", data, out, diff)
		}
		if canonical := v.Canonical(); len(canonical) != len(out) {
			t.Fatalf("canonical form %q differs in length from %q", canonical, out)
		}
		if !bytes.Equal(v.Raw, bytes.TrimSpace(data)) {
			t.Fatalf("Raw = %q of %q", v.Raw, data)
		}
	})
}

func strictOnPurpose(err error) bool {
	for _, reason := range []string{"duplicate key", "nested too deeply", "invalid UTF-8", "half of a surrogate pair", "too many values"} {
		if strings.HasPrefix(err.Error(), reason) {
			return true
		}
	}
	return false
}

func decode(t *testing.T, data []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("standard library refuses %q: %v", data, err)
	}
	return v
}

// TestSizes: the bounds hold, and the lower one is exact if nothing is escaped.
func TestSizes(t *testing.T) {
	for _, text := range []string{
		`null`, `true`, `12.5`, `""`, `"plain"`, `[]`, `{}`, `[1,2,3]`, `{"a":1,"b":[true,null,{"c":"d"}]}`,
		`"\u0000\u0001"`, `{"\n":"\""}`, `["ä","\\"]`,
	} {
		v, err := jsontree.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		written := len(v.Append(nil))
		least, most := v.Sizes()
		if written < least || written > most || !strings.Contains(text, `\`) && written != least {
			t.Errorf("%s takes %d bytes, but Sizes returns %d and %d", text, written, least, most)
		}
	}
}

func TestMember(t *testing.T) {
	v, err := jsontree.Parse([]byte(`{"a":{"b":[1],"c":null},"d":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, names := range [][]string{{"z"}, {"a", "z"}, {"d", "x"}, {"a", "b", ""}, {"z", "a"}} {
		if found := v.Member(names...); found != nil {
			t.Errorf("%v leads to %s", names, found.Append(nil))
		}
		if found := v.At(names...); found.Kind != jsontree.Null {
			t.Errorf("at %v is %s", names, found.Append(nil))
		}
	}
	if v.Member() != &v || v.Member("a", "c") == nil {
		t.Error("a value that is there is not found")
	}
	*v.Member("a", "b") = jsontree.Strs("y", "z")
	v.Member("d").Text = "w"
	if got := string(v.Append(nil)); got != `{"a":{"b":["y","z"],"c":null},"d":"w"}` {
		t.Errorf("became %s", got)
	}
	if b := v.At("a", "b"); !b.Has("z") || b.Has("x") {
		t.Errorf("%s: wrong about z or x", b.Append(nil))
	}
	if numbers := jsontree.Arr(jsontree.Int(1)); numbers.Has("1") {
		t.Error("a number passes for a string")
	}
	if list := jsontree.List([]int64{3, 4}, jsontree.Int); string(list.Append(nil)) != "[3,4]" {
		t.Errorf("a list of numbers is %s", list.Append(nil))
	}
}
