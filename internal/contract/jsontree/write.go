package jsontree

import (
	"fmt"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
)

// Append writes the value in compact form.
func (v *Value) Append(dst []byte) []byte {
	switch v.Kind {
	case Bool, Number:
		return append(dst, v.Text...)
	case String:
		return AppendString(dst, v.Text)
	case Array:
		dst = append(dst, '[')
		for i := range v.Members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = v.Members[i].Value.Append(dst)
		}
		return append(dst, ']')
	case Object:
		dst = append(dst, '{')
		for i := range v.Members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendString(dst, v.Members[i].Key)
			dst = append(dst, ':')
			dst = v.Members[i].Value.Append(dst)
		}
		return append(dst, '}')
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

const hexDigits = "0123456789abcdef"

// AppendString writes a JSON string. Only what JSON demands is escaped; bytes
// that are not UTF-8 become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(dst, s[start:i]...)
				dst = append(dst, "\ufffd"...)
				start = i + 1
			}
			i += n
			continue
		}
		dst = append(dst, s[start:i]...)
		dst = appendEscape(dst, c)
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	default:
		return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
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
