package jsontree_test

import (
	"encoding/json"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"remit/internal/contract/jsontree"
)

// number draws a JSON number in any spelling.
var number = rapid.StringMatching(`-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,24})?([eE][+-]?[0-9]{1,2})?`)

// TestNumbersAgreeWithRationals compares with math/big.
func TestNumbersAgreeWithRationals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		if longer := a + "0"; rapid.Bool().Draw(t, "near") && json.Valid([]byte(longer)) {
			b = longer // ten times a, or with a power ten times as large, or equal to a
		}
		x, okX := new(big.Rat).SetString(a)
		y, okY := new(big.Rat).SetString(b)
		if !okX || !okY {
			t.Skip("no number")
		}
		if got, want := jsontree.CompareNumbers(a, b), x.Cmp(y); got != want {
			t.Fatalf("CompareNumbers(%s, %s) = %d, want %d", a, b, got, want)
		}
		v, w := parse(t, a), parse(t, b)
		if got, want := v.IsInteger(), x.IsInt(); got != want {
			t.Fatalf("IsInteger(%s) = %t", a, got)
		}
		if equal := x.Cmp(y) == 0; v.Equal(&w) != equal || (v.Key() == w.Key()) != equal {
			t.Fatalf("%s and %s: Equal = %t, keys %s and %s", a, b, v.Equal(&w), v.Key(), w.Key())
		}
		checkDecode(t, &v, x)
	})
}

// checkDecode: an integer that fits an int64 decodes to one, in every spelling.
func checkDecode(t *rapid.T, v *jsontree.Value, want *big.Rat) {
	var n int64
	err := v.Decode(&n)
	if fits := want.IsInt() && want.Num().IsInt64(); fits != (err == nil) {
		t.Fatalf("Decode(%s) into an int64: %d, %v", v.Text, n, err)
	}
	if err == nil && want.Num().Int64() != n {
		t.Fatalf("Decode(%s) = %d", v.Text, n)
	}
}

func parse(t interface{ Fatalf(string, ...any) }, text string) jsontree.Value {
	v, err := jsontree.Parse([]byte(text))
	if err != nil {
		t.Fatalf("parse %s: %v", text, err)
	}
	return v
}

// TestHugePowers: a short number with a huge power does not take much memory or time.
func TestHugePowers(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{
		{"1e999999999", "1e999999998", 1},
		{"-1e999999999", "1", -1},
		{"1e-999999999", "0", 1},
		{"0e999999999", "0", 0},
		{"1e99999999999999999999999", "1e999999999", 1},
		{"1e-99999999999999999999999", "1e-999999999", -1},
		{"-0", "0.0e5", 0},
	} {
		if got := jsontree.CompareNumbers(tc.a, tc.b); got != tc.want {
			t.Errorf("CompareNumbers(%s, %s) = %d, want %d", tc.a, tc.b, got, tc.want)
		}
		if back := jsontree.CompareNumbers(tc.b, tc.a); back != -tc.want {
			t.Errorf("CompareNumbers(%s, %s) = %d, want %d", tc.b, tc.a, back, -tc.want)
		}
	}
	v := parse(t, "1e999999999")
	var n int
	if err := v.Decode(&n); err == nil {
		t.Errorf("Decode = %d", n)
	}
	var small uint8
	if v := parse(t, "2.0"); v.Decode(&small) != nil || small != 2 {
		t.Errorf("2.0 as a uint8 is %d", small)
	}
	if v := parse(t, "-2.0"); v.Decode(&small) == nil {
		t.Error("-2 must not decode to a uint8")
	}
	if v := parse(t, `"2"`); v.Decode(&n) == nil {
		t.Error("a string must not decode to an integer")
	}
}

func TestEqualAndKey(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":[2]}`, `{"b":[2.0],"a":1e0}`, true},
		{`{"a":1}`, `{"a":1,"b":2}`, false},
		{`{"a":null}`, `{"b":null}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`"1"`, `1`, false},
		{`true`, `"true"`, false},
		{`null`, `""`, false},
		{`"\u00e9"`, `"é"`, true},
		{`[]`, `{}`, false},
	} {
		a, b := parse(t, tc.a), parse(t, tc.b)
		if a.Equal(&b) != tc.want || b.Equal(&a) != tc.want || (a.Key() == b.Key()) != tc.want {
			t.Errorf("%s and %s: Equal %t, keys %s and %s; want %t", tc.a, tc.b, a.Equal(&b), a.Key(), b.Key(), tc.want)
		}
		if string(a.Append(nil)) != string(a.Source()) && tc.a[1] != '\\' {
			t.Errorf("making the key changed %s to %s", a.Source(), a.Append(nil))
		}
	}
}
