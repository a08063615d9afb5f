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

// Append writes the value in compact form.
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

// mostEscaped is how many bytes one byte of a text takes at most: \u0000.
const mostEscaped = 6

// Sizes tells how many bytes Append writes: at least so many, which is exact if no
// text needs an escape, and at most so many. It is far cheaper than to write them.
func (v *Value) Sizes() (least, most int) {
	switch v.Kind {
	case Bool, Number:
		return len(v.Text), len(v.Text)
	case String:
		return len(v.Text) + len(`""`), len(v.Text)*mostEscaped + len(`""`)
	case Array, Object:
		least = len("[]") + max(0, len(v.Members)-1) // and the commas
		most = least
		for i := range v.Members {
			low, high := v.Members[i].Value.Sizes()
			if v.Kind == Object {
				key := len(v.Members[i].Key)
				low, high = low+key+len(`"":`), high+key*mostEscaped+len(`"":`)
			}
			least, most = least+low, most+high
		}
		return least, most
	default:
		return len("null"), len("null")
	}
}

// MarshalJSON lets a tree stand in a struct that the standard library encodes.
func (v Value) MarshalJSON() ([]byte, error) { return v.Append(nil), nil }

// UnmarshalJSON lets a tree stand in a struct that the standard library decodes.
func (v *Value) UnmarshalJSON(data []byte) error {
	parsed, err := Parse(append([]byte(nil), data...))
	*v = parsed
	return err
}

// UnmarshalYAML lets a tree stand in a YAML document; the order of keys is kept.
func (v *Value) UnmarshalYAML(data []byte) error {
	asJSON, err := yaml.YAMLToJSON(data)
	if err != nil {
		return fmt.Errorf("read YAML: %w", err)
	}
	return v.UnmarshalJSON(asJSON)
}

// AppendString writes a JSON string. Only what JSON demands is escaped; bytes
// that are not UTF-8 become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	return AppendText(dst, unsafe.Slice(unsafe.StringData(s), len(s))) // which is only read
}

// AppendText is AppendString for the bytes of a text, which it does not copy first.
func AppendText(dst, text []byte) []byte {
	dst = append(slices.Grow(dst, len(text)+room), '"')
	doubtful := uint64(highBits) // bytes beyond ASCII, until they are known to be UTF-8
	for len(text) >= wordSize {
		word := binary.LittleEndian.Uint64(text)
		end := len(dst)
		dst = dst[:end+wordSize] // to write all and keep some is faster than to write some
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
		if cap(dst)-len(dst) < len(text)+room {
			dst = slices.Grow(dst, len(text)+room)
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

// characters gives a text with U+FFFD for each byte that is not UTF-8.
func characters(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	return []byte(string([]rune(string(text))))
}

const (
	room     = 8 // what stays free behind a text: for an escape and both quotes
	wordSize = 8
	each     = 0x0101010101010101
	highBits = 0x80 * each
)

// escaped marks the first byte of a word that must be escaped, by its high bit, and
// perhaps bytes after it. There is no mark if no byte must be.
func escaped(word uint64) uint64 {
	quote, backslash := word^'"'*each, word^'\\'*each
	control := (word - ' '*each) &^ word
	return (control | (quote-each)&^quote | (backslash-each)&^backslash) & highBits
}

// letters stand after a backslash for what they escape.
var letters = [256]byte{'"': '"', '\\': '\\', '\n': 'n', '\r': 'r', '\t': 't'}

func appendEscape(dst []byte, c byte) []byte {
	const hexDigits = "0123456789abcdef"
	if letter := letters[c]; letter != 0 {
		return append(dst, '\\', letter)
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}

// Spell writes JSON with escapes in the place of the characters that keep refuses. It is the same JSON still, as long as keep
// takes all of ASCII that may stand outside of strings.
func Spell(json string, keep func(rune) bool) string {
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
