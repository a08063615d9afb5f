package export

import "slices"

// dialect is the part of JSON Schema that a form takes.
type dialect struct {
	keywords []string // nil means all
	formats  []string // the values of format; nil means all
	notAtTop []string // keywords that are refused for the arguments as a whole
	loneRef  bool     // beside $ref there are only keywords that begin with $
	closed   bool     // an object has the properties that it names, and a value has a type
	complete bool     // every property is required; an optional argument may be null
}

// dialect is what the form takes of a tool that is not strict.
func (f Format) dialect() dialect {
	if f == Gemini {
		return dialect{keywords: geminiKeywords(), loneRef: true}
	}
	return dialect{notAtTop: []string{"anyOf", "allOf"}}
}

// strictDialect is what the form takes of a tool that is strict.
func (f Format) strictDialect() dialect {
	d := dialect{notAtTop: []string{"anyOf"}, closed: true}
	d.keywords = []string{
		"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "format",
		"$defs", "$ref", "title", "description",
	}
	d.formats = []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
	if f == Anthropic {
		d.formats = append(d.formats, "uri")
		return d
	}
	d.keywords = append(d.keywords, "pattern", "minimum", "maximum", "minItems", "maxItems")
	d.complete = true
	return d
}

func geminiKeywords() []string {
	return []string{
		"type", "properties", "required", "additionalProperties", "items", "minItems", "maxItems", "enum", "format",
		"minimum", "maximum", "anyOf", "$defs", "$ref", "$anchor", "title", "description",
	}
}

func (d *dialect) takes(keyword string) bool {
	return d.keywords == nil || slices.Contains(d.keywords, keyword)
}

func (d *dialect) takesFormat(name string) bool {
	return d.formats == nil || slices.Contains(d.formats, name)
}
