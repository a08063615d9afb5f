package jsontree

import (
	"fmt"

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
