package clients

import (
	"bytes"
	"encoding/json"
	"slices"
)

func (f jsonFile) mend(text []byte, name string, fields []field) ([]byte, error) {
	text, err := f.unplace(text, name, fields)
	if err != nil {
		return nil, err
	}
	return putFields(text, []string{f.key, name}, fields)
}

// unplace takes out what the fields do not say any more. People may have headers of
// their own beside that of the token.
func (f jsonFile) unplace(text []byte, name string, fields []field) ([]byte, error) {
	for _, key := range placing {
		if slices.ContainsFunc(fields, func(one field) bool { return one.key == key }) {
			continue
		}
		path := []string{f.key, name, key}
		_, _, m, err := walk(text, path)
		if err != nil {
			return nil, err
		}
		if m != nil && key == "headers" && len(m.value.members) > 1 {
			path = append(path, bearer("")[0].key)
		}
		j, o, m, err := walk(text, path)
		if err != nil {
			return nil, err
		}
		if m != nil {
			text = apply(text, j.cut(o, m)...)
		}
	}
	return text, nil
}

// putFields puts fields into an object, each in the place of what is there.
func putFields(text []byte, path []string, fields []field) ([]byte, error) {
	for _, one := range fields {
		at := append(slices.Clone(path), one.key)
		j, o, m, err := walk(text, at)
		if err != nil {
			return nil, err
		}
		value := []byte(jsonValue(one.value))
		inner, nested := one.value.([]field)
		switch {
		case m == nil:
			text = apply(text, j.insert(o, one.key, func(style) []byte { return value })...)
		case nested && m.value.object:
			if text, err = putFields(text, at, inner); err != nil {
				return nil, err
			}
		case !alike(text[m.value.start:m.value.end], value):
			text = apply(text, edit{m.value.start, m.value.end, string(value)})
		}
	}
	return text, nil
}

// walk finds the object that holds the last of some names, each in the one before, and
// its member; nil if it has none of that name.
func walk(text []byte, path []string) (j *jsonText, o *node, m *member, err error) {
	if j, err = scanJSON(text); err != nil {
		return nil, nil, nil, err
	}
	o = j.root
	for i, key := range path {
		if m, err = j.find(o, key); err != nil || m == nil {
			return j, o, nil, err
		}
		if i < len(path)-1 {
			o = &m.value
		}
	}
	return j, o, m, nil
}

// alike tells whether two values say the same in any layout.
func alike(a, b []byte) bool {
	var first, second bytes.Buffer
	return json.Compact(&first, a) == nil && json.Compact(&second, b) == nil && bytes.Equal(first.Bytes(), second.Bytes())
}
