package imports

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// A webObject is a JSON object with its members in order, since the conditions of a package are tried in order.
// Values are webObject, []any, string, bool, nil, or json.Number.
type webObject []webMember

type webMember struct {
	name  string
	value any
}

// get gives the last member of that name, nil if there is none.
func (o webObject) get(name string) any {
	for i := len(o) - 1; i >= 0; i-- {
		if o[i].name == name {
			return o[i].value
		}
	}
	return nil
}

func (o webObject) object(name string) webObject {
	value, _ := o.get(name).(webObject)
	return value
}

func (o webObject) text(name string) string {
	value, _ := o.get(name).(string)
	return value
}

// texts gives a member that is a string or an array of strings.
func (o webObject) texts(name string) []string {
	return webTexts(o.get(name))
}

func webTexts(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, element := range v {
			if text, ok := element.(string); ok {
				all = append(all, text)
			}
		}
		return all
	}
	return nil
}

// webJSONDepth is how deep values may nest; no configuration comes near it.
const webJSONDepth = 64

// webJSON reads JSON with comments and trailing commas, as tools of JavaScript write their configuration.
func webJSON(content []byte) (webObject, error) {
	d := json.NewDecoder(bytes.NewReader(plainJSON(content)))
	d.UseNumber()
	value, err := webValue(d, 0)
	if err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	object, _ := value.(webObject)
	return object, nil
}

func webValue(d *json.Decoder, depth int) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	if depth > webJSONDepth {
		return nil, fmt.Errorf("values nest deeper than %d", webJSONDepth)
	}
	switch token {
	case json.Delim('{'):
		return webMembers(d, depth)
	case json.Delim('['):
		return webElements(d, depth)
	}
	return token, nil
}

func webMembers(d *json.Decoder, depth int) (any, error) {
	object := webObject{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		value, err := webValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		text, _ := name.(string)
		object = append(object, webMember{text, value})
	}
	_, err := d.Token()
	return object, err
}

func webElements(d *json.Decoder, depth int) (any, error) {
	array := []any{}
	for d.More() {
		value, err := webValue(d, depth+1)
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
