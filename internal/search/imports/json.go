package imports

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/tailscale/hujson"

	"remit/internal/jsonc"
)

// A jsonObject is a JSON object with its members in order, because the conditions of a package are
// tried in order. Values are jsonObject, []any, string, bool, json.Number or nil.
type jsonObject []jsonMember

type jsonMember struct {
	name  string
	value any
}

// get returns the last member of that name, or nil.
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

// texts returns a member that is a string or an array of strings.
func (o jsonObject) texts(name string) []string {
	return textsOf(o.get(name))
}

// textsOf returns the strings of a value that is a string or a list.
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

// parseJSON parses JSON with comments and trailing commas, as in configuration files of JavaScript
// tools.
func parseJSON(content []byte) (jsonObject, error) {
	value, err := jsonc.Parse(content)
	if err == nil && value.Value == nil {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("parse JSON: %w", err)
	}
	object, _ := plainJSON(value).(jsonObject)
	return object, nil
}

// plainJSON converts the library's tree into plain values.
func plainJSON(value hujson.Value) any {
	switch v := value.Value.(type) {
	case *hujson.Object:
		object := make(jsonObject, 0, len(v.Members))
		for _, member := range v.Members {
			name, _ := plainJSON(member.Name).(string)
			object = append(object, jsonMember{name, plainJSON(member.Value)})
		}
		return object
	case *hujson.Array:
		array := make([]any, 0, len(v.Elements))
		for _, element := range v.Elements {
			array = append(array, plainJSON(element))
		}
		return array
	case hujson.Literal:
		switch v.Kind() {
		case '"':
			return v.String()
		case 't', 'f':
			return v.Bool()
		case '0':
			return json.Number(v.String())
		}
	}
	return nil
}
