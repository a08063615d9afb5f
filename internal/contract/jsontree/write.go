package jsontree

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"

	"github.com/goccy/go-yaml"
)

// Append appends the value in compact form.
func (v *Value) Append(dst []byte) []byte {
	switch v.Kind {
	case Bool, Number:
		return append(dst, v.Text...)
	case String:
		return AppendString(dst, v.Text)
	case Array, Object:
		brackets := "[]"
		if v.Kind == Object {
			brackets = "{}"
		}
		dst = append(dst, brackets[0])
		for i := range v.Members {
			if i > 0 {
				dst = append(dst, ',')
			}
			if v.Kind == Object {
				dst = append(AppendString(dst, v.Members[i].Key), ':')
			}
			dst = v.Members[i].Value.Append(dst)
		}
		return append(dst, brackets[1])
	default:
		return append(dst, "null"...)
	}
}

// maxEscaped is how many bytes one byte of text takes at most: \u0000.
const maxEscaped = 6

// Sizes returns bounds for the number of bytes that Append writes. The lower bound is exact if no
// text needs an escape. Sizes is much faster than Append.
func (v *Value) Sizes() (lower, upper int) {
	switch v.Kind {
	case Bool, Number:
		return len(v.Text), len(v.Text)
	case String:
		return len(v.Text) + len(`""`), len(v.Text)*maxEscaped + len(`""`)
	case Array, Object:
		lower = len("[]") + max(0, len(v.Members)-1) // and the commas
		upper = lower
		for i := range v.Members {
			low, high := v.Members[i].Value.Sizes()
			if v.Kind == Object {
				key := len(v.Members[i].Key)
				low, high = low+key+len(`"":`), high+key*maxEscaped+len(`"":`)
			}
			lower, upper = lower+low, upper+high
		}
		return lower, upper
	default:
		return len("null"), len("null")
	}
}

// MarshalJSON implements json.Marshaler.
func (v Value) MarshalJSON() ([]byte, error) { return v.Append(nil), nil }

// UnmarshalJSON implements json.Unmarshaler.
func (v *Value) UnmarshalJSON(data []byte) error {
	parsed, err := Parse(append([]byte(nil), data...))
	*v = parsed
	return err
}

// UnmarshalYAML reads a YAML value. It preserves the order of keys.
func (v *Value) UnmarshalYAML(data []byte) error {
	asJSON, err := yaml.YAMLToJSON(data)
	if err != nil {
		return fmt.Errorf("read YAML: %w", err)
	}
	return v.UnmarshalJSON(asJSON)
}

// AppendString appends a JSON string. It escapes only what JSON requires, and replaces bytes that
// are not UTF-8 with U+FFFD.
func AppendString(dst []byte, s string) []byte {
	return AppendText(dst, unsafe.Slice(unsafe.StringData(s), len(s))) // AppendText only reads it
}

// AppendText is like AppendString for a byte slice, without converting it first.
func AppendText(dst, text []byte) []byte {
	dst = append(slices.Grow(dst, len(text)+spare), '"')
	// Bytes beyond ASCII need a check until the text is known to be UTF-8.
	doubtful := uint64(highBits)
	for len(text) >= wordSize {
		word := binary.LittleEndian.Uint64(text)
		end := len(dst)
		// Writing the whole word and keeping a part is faster than writing a part.
		dst = dst[:end+wordSize]
		binary.LittleEndian.PutUint64(dst[end:], word)
		marks := escaped(word) | word&doubtful
		if marks == 0 {
			text = text[wordSize:]
			continue
		}
		plain := bits.TrailingZeros64(marks) / 8
		dst, text = dst[:end+plain], text[plain:]
		if text[0] >= utf8.RuneSelf {
			text, doubtful = characters(text), 0
		} else {
			dst, text = appendEscape(dst, text[0]), text[1:]
		}
		if cap(dst)-len(dst) < len(text)+spare {
			dst = slices.Grow(dst, len(text)+spare)
		}
	}
	if doubtful != 0 {
		text = characters(text)
	}
	for _, c := range text {
		if c < ' ' || c == '"' || c == '\\' {
			dst = appendEscape(dst, c)
		} else {
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// characters returns a text with U+FFFD for each byte that is not UTF-8.
func characters(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	return []byte(string([]rune(string(text))))
}

const (
	spare    = 8 // bytes that stay free after a text: for an escape and both quotes
	wordSize = 8
	each     = 0x0101010101010101
	highBits = 0x80 * each
)

// escaped sets the high bit of the first byte in a word that must be escaped, and perhaps of bytes
// after it. The result is 0 if no byte must be escaped.
func escaped(word uint64) uint64 {
	quote, backslash := word^'"'*each, word^'\\'*each
	control := (word - ' '*each) &^ word
	return (control | (quote-each)&^quote | (backslash-each)&^backslash) & highBits
}

// letters holds the letter that follows the backslash for each escaped byte.
var letters = [256]byte{'"': '"', '\\': '\\', '\n': 'n', '\r': 'r', '\t': 't'}

func appendEscape(dst []byte, c byte) []byte {
	const hexDigits = "0123456789abcdef"
	if letter := letters[c]; letter != 0 {
		return append(dst, '\\', letter)
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}

// Escape returns JSON in which the characters that keep rejects are written as escapes. It means
// the same, as long as keep accepts all ASCII characters that JSON allows outside of strings.
func Escape(json string, keep func(rune) bool) string {
	var b strings.Builder
	for _, r := range json {
		if keep(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
