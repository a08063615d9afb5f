package imports

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// A jsonObject is a JSON object with its members in order, since the conditions of a package are tried in order.
// Values are jsonObject, []any, string, bool, nil, or json.Number.
type jsonObject []jsonMember

type jsonMember struct {
	name  string
	value any
}

// get gives the last member of that name, nil if there is none.
func (o jsonObject) get(name string) any {
	for i := len(o) - 1; i >= 0; i-- {
		if o[i].name == name {
			return o[i].value
		}
	}
	return nil
}

func (o jsonObject) object(name string) jsonObject {
	value, _ := o.get(name).(jsonObject)
	return value
}

func (o jsonObject) text(name string) string {
	value, _ := o.get(name).(string)
	return value
}

// texts gives a member that is a string or an array of strings.
func (o jsonObject) texts(name string) []string {
	return textsOf(o.get(name))
}

// textsOf gives the strings of a value that is one, or a list with some.
func textsOf(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		var texts []string
		for _, element := range v {
			if text, ok := element.(string); ok {
				texts = append(texts, text)
			}
		}
		return texts
	}
	return nil
}

// jsonDepth is how deep values may nest; no configuration comes near it.
const jsonDepth = 64

// parseJSON reads JSON with comments and trailing commas, as tools of JavaScript write their configuration.
func parseJSON(content []byte) (jsonObject, error) {
	d := json.NewDecoder(bytes.NewReader(plainJSON(content)))
	d.UseNumber()
	value, err := jsonValue(d, 0)
	if err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	object, _ := value.(jsonObject)
	return object, nil
}

func jsonValue(d *json.Decoder, depth int) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	if depth > jsonDepth {
		return nil, fmt.Errorf("values nest deeper than %d", jsonDepth)
	}
	switch token {
	case json.Delim('{'):
		return jsonMembers(d, depth)
	case json.Delim('['):
		return jsonElements(d, depth)
	}
	return token, nil
}

func jsonMembers(d *json.Decoder, depth int) (any, error) {
	object := jsonObject{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		value, err := jsonValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		text, _ := name.(string)
		object = append(object, jsonMember{text, value})
	}
	_, err := d.Token()
	return object, err
}

func jsonElements(d *json.Decoder, depth int) (any, error) {
	array := []any{}
	for d.More() {
		value, err := jsonValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		array = append(array, value)
	}
	_, err := d.Token()
	return array, err
}

// plainJSON replaces comments and trailing commas by blanks.
func plainJSON(content []byte) []byte {
	out := bytes.Clone(bytes.TrimPrefix(content, []byte("\ufeff")))
	comma := -1 // a comma that nothing but blanks and comments follow so far
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		case c == '/' && i+1 < len(out) && (out[i+1] == '/' || out[i+1] == '*'):
			i = blankComment(out, i)
		case c == ',':
			comma = i
		case (c == '}' || c == ']') && comma >= 0:
			out[comma] = ' '
			comma = -1
		case c == '"':
			i = stringEnd(out, i)
			comma = -1
		default:
			comma = -1
		}
	}
	return out
}

// blankComment overwrites the comment at i, and gives its last byte.
func blankComment(out []byte, i int) int {
	end := lineEnd(out, i)
	if out[i+1] == '*' {
		end = len(out)
		if n := bytes.Index(out[i+2:], []byte("*/")); n >= 0 {
			end = i + 2 + n + 2
		}
	}
	for j := i; j < end; j++ {
		out[j] = ' '
	}
	return end - 1
}

// stringEnd gives the last byte of the string of JSON at i.
func stringEnd(out []byte, i int) int {
	for i++; i < len(out) && out[i] != '"'; i++ {
		if out[i] == '\\' {
			i++
		}
	}
	return i
}
