package jsontree

import (
	"cmp"
	"strconv"
	"strings"
)

// decimal is a number by its value, exactly: 0.digits times ten to the power,
// without zeros at either end of the digits. Zero has no digits. Floats would do
// for most, but 9007199254740993 is not 9007199254740992, and big.Rat would spend
// gigabytes on 1e999999999.
type decimal struct {
	negative bool
	digits   string
	power    int
}

// farPower stands for every power that an int cannot hold.
const farPower = 1 << 40

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
		return -farPower
	}
	if err != nil {
		return farPower
	}
	return min(max(n, -farPower), farPower)
}

// isInteger tells whether there is nothing behind the decimal point.
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

// IsInteger follows JSON Schema, where 2.0 and 1e3 are integers too.
func (v *Value) IsInteger() bool {
	return v.Kind == Number && (!strings.ContainsAny(v.Text, ".eE") || decimalOf(v.Text).isInteger())
}

// wholeDigits writes an integer such as 2.0 or 1e3 in digits alone, if an int64
// may hold it.
func wholeDigits(text string) (string, bool) {
	const most = 19
	d := decimalOf(text)
	if !d.isInteger() || d.power > most {
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
