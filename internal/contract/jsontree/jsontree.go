// Package jsontree parses JSON once into a tree that preserves the order of keys, the spelling of
// numbers and the original bytes, and writes such trees.
package jsontree

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Kind is the JSON type of a value.
type Kind uint8

// The six types of JSON.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// String returns the type's name with its article, for messages.
func (k Kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

// Value is one JSON value. Its zero value is null.
type Value struct {
	Kind Kind
	Text string // the content of a string, a number as written, "true" or "false"
	// The elements of an array (without keys) or the members of an object, in order.
	Members []Member
	Raw     []byte // the bytes it was parsed from; nil if it was made in Go
}

// Member is one entry of an object, or one element of an array.
type Member struct {
	Key   string
	Value Value
}

// Str returns a string.
func Str(s string) Value { return Value{Kind: String, Text: s} }

// Int returns a number.
func Int(n int64) Value { return Value{Kind: Number, Text: strconv.FormatInt(n, 10)} }

// Boolean returns true or false.
func Boolean(b bool) Value { return Value{Kind: Bool, Text: strconv.FormatBool(b)} }

// M returns a member of an object.
func M(key string, v Value) Member { return Member{key, v} }

// Obj returns an object with the members, in their order.
func Obj(members ...Member) Value { return Value{Kind: Object, Members: members} }

// Arr returns an array.
func Arr(elements ...Value) Value { return List(elements, func(e Value) Value { return e }) }

// Strs returns an array of strings.
func Strs(texts ...string) Value { return List(texts, Str) }

// List returns an array with one element for each item.
func List[T any](items []T, element func(T) Value) Value {
	v := Value{Kind: Array, Members: make([]Member, len(items))}
	for i, item := range items {
		v.Members[i].Value = element(item)
	}
	return v
}

// Get returns a member of an object, and whether it exists.
func (v *Value) Get(key string) (Value, bool) {
	if found := v.member(key); found != nil {
		return *found, true
	}
	return Value{}, false
}

func (v *Value) member(key string) *Value {
	if v != nil && v.Kind == Object {
		for i := range v.Members {
			if v.Members[i].Key == key {
				return &v.Members[i].Value
			}
		}
	}
	return nil
}

// Field returns a member of an object, or null if there is none.
func (v *Value) Field(key string) Value {
	found, _ := v.Get(key)
	return found
}

// Member follows names from member to member. It returns nil if one of them is missing. The result
// points into v.
func (v *Value) Member(names ...string) *Value {
	for _, name := range names {
		v = v.member(name)
	}
	return v
}

// At is like Member, but returns a copy of the value, or null if a member is missing.
func (v *Value) At(names ...string) Value {
	if found := v.Member(names...); found != nil {
		return *found
	}
	return Value{}
}

// Has reports whether an array contains this string.
func (v *Value) Has(text string) bool {
	return slices.ContainsFunc(v.Members, func(m Member) bool { return m.Value.Kind == String && m.Value.Text == text })
}

// True reports whether the value is the boolean true.
func (v *Value) True() bool { return v.Kind == Bool && v.Text == "true" }

// Equal reports whether two values are equal as JSON: the order of keys does not matter, and
// numbers compare by value.
func (v *Value) Equal(w *Value) bool {
	if v.Kind != w.Kind || len(v.Members) != len(w.Members) {
		return false
	}
	switch v.Kind {
	case Number:
		return v.Text == w.Text || CompareNumbers(v.Text, w.Text) == 0
	case Object:
		for i := range v.Members {
			other, ok := w.Get(v.Members[i].Key)
			if !ok || !v.Members[i].Value.Equal(&other) {
				return false
			}
		}
		return true
	case Array:
		for i := range v.Members {
			if !v.Members[i].Value.Equal(&w.Members[i].Value) {
				return false
			}
		}
		return true
	default:
		return v.Text == w.Text
	}
}

// Canonical returns the compact form with keys sorted by their bytes. Two trees with the same
// canonical form are equal.
func (v *Value) Canonical() []byte {
	sorted := v.sorted()
	return sorted.Append(nil)
}

// Key returns text that is the same for two values exactly when they are Equal: the canonical form
// with every number spelt one way.
func (v *Value) Key() string {
	sorted := v.sorted()
	sorted.respell()
	return string(sorted.Append(nil))
}

func (v *Value) respell() {
	if v.Kind == Number {
		v.Text = decimalOf(v.Text).String()
	}
	for i := range v.Members {
		v.Members[i].Value.respell()
	}
}

func (v *Value) sorted() Value {
	out := Value{Kind: v.Kind, Text: v.Text, Members: slices.Clone(v.Members)}
	for i := range out.Members {
		out.Members[i].Value = out.Members[i].Value.sorted()
	}
	if v.Kind == Object {
		slices.SortFunc(out.Members, func(a, b Member) int { return strings.Compare(a.Key, b.Key) })
	}
	return out
}

// Clone returns a copy that does not keep the bytes it was parsed from in memory.
func (v *Value) Clone() Value {
	out := Value{Kind: v.Kind, Text: strings.Clone(v.Text), Members: slices.Clone(v.Members), Raw: bytes.Clone(v.Raw)}
	for i := range out.Members {
		out.Members[i].Key = strings.Clone(out.Members[i].Key)
		out.Members[i].Value = out.Members[i].Value.Clone()
	}
	return out
}

// decimal is the exact value of a number: 0.digits times ten to the power, without zeros at either
// end of the digits. Zero has no digits. A float64 is not exact: 9007199254740993 would equal
// 9007199254740992. A big.Rat would take gigabytes for 1e999999999.
type decimal struct {
	negative bool
	digits   string
	power    int
}

// hugePower is the largest power of a decimal. Larger powers, also those that overflow an int, are
// reduced to it, and smaller ones are raised to -hugePower.
const hugePower = 1 << 40

func decimalOf(text string) decimal {
	text, negative := strings.CutPrefix(text, "-")
	power := 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		power = powerOf(text[i+1:])
		text = text[:i]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	power += len(digits) - len(fraction)
	digits = strings.TrimRight(digits, "0")
	if digits == "" {
		return decimal{}
	}
	return decimal{negative, digits, power}
}

func powerOf(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil && strings.HasPrefix(text, "-") {
		return -hugePower
	}
	if err != nil {
		return hugePower
	}
	return min(max(n, -hugePower), hugePower)
}

// isInteger reports whether there is no digit after the decimal point.
func (d decimal) isInteger() bool { return len(d.digits) <= d.power || d.digits == "" }

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	default:
		return 1
	}
}

func (d decimal) compare(e decimal) int {
	if s := d.sign(); s != e.sign() || s == 0 {
		return cmp.Compare(s, e.sign())
	}
	larger := cmp.Or(cmp.Compare(d.power, e.power), strings.Compare(d.digits, e.digits))
	return larger * d.sign()
}

func (d decimal) String() string {
	if d.digits == "" {
		return "0"
	}
	text := "0." + d.digits + "e" + strconv.Itoa(d.power)
	if d.negative {
		return "-" + text
	}
	return text
}

// CompareNumbers compares two JSON numbers by their exact value.
func CompareNumbers(a, b string) int { return decimalOf(a).compare(decimalOf(b)) }

// IsInteger reports whether the value is an integer by JSON Schema, where 2.0 and 1e3 are integers
// too.
func (v *Value) IsInteger() bool {
	return v.Kind == Number && (!strings.ContainsAny(v.Text, ".eE") || decimalOf(v.Text).isInteger())
}

// wholeDigits returns an integer such as 2.0 or 1e3 as digits alone, if it may fit an int64.
func wholeDigits(text string) (string, bool) {
	const maxDigits = 19
	d := decimalOf(text)
	if !d.isInteger() || d.power > maxDigits {
		return "", false
	}
	if d.digits == "" {
		return "0", true
	}
	digits := d.digits + strings.Repeat("0", d.power-len(d.digits))
	if d.negative {
		return "-" + digits, true
	}
	return digits, true
}
