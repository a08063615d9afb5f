package markdown

import (
	"errors"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/pelletier/go-toml/v2"
)

// Front is the front matter of a text: a block of YAML between lines of ---, or of TOML between
// lines of +++.
type Front struct {
	Length int    // number of bytes before the text begins
	Body   string // content between the delimiters; "" if there is none
	toml   bool
	open   bool // it begins but never ends
}

// byteOrderMark is written by some editors at the start of a text.
const byteOrderMark = "\ufeff"

// FindFront finds the front matter of a text. Three dashes that do not begin front matter are a
// thematic break.
func FindFront(text string) Front {
	start := 0
	if strings.HasPrefix(text, byteOrderMark) {
		start = len(byteOrderMark)
	}
	end, next := lineEnd(text, start)
	fence := strings.TrimRight(text[start:end], " \t")
	if fence != "---" && fence != "+++" {
		return Front{Length: start}
	}
	body := next
	if first, _ := lineEnd(text, body); !mayBeFront(text[body:first]) {
		return Front{Length: start}
	}
	for next < len(text) {
		at := next
		end, next = lineEnd(text, at)
		if mark := strings.TrimRight(text[at:end], " \t"); mark == fence || mark == "..." && fence == "---" {
			return Front{Length: next, Body: text[body:at], toml: fence == "+++"}
		}
	}
	first, _ := lineEnd(text, body)
	return Front{Length: start, open: strings.Contains(text[body:first], ":") && fence == "---"}
}

// mayBeFront reports, by its first line, whether a block is front matter and not a text below a
// thematic break.
func mayBeFront(line string) bool {
	return strings.TrimSpace(line) == "" || strings.ContainsAny(line, ":=#{") || strings.ContainsAny(line[:1], "-.+")
}

// FrontError describes an error in front matter.
type FrontError struct {
	Line    int // line in the text
	Message string
}

func (e *FrontError) Error() string { return e.Message }

// maxFront and maxBrackets bound the cost of parsing a hostile text.
const (
	maxFront    = 64 << 10
	maxBrackets = 500
)

// Fields parses the front matter. It returns nil if there is none. A returned error is a
// *FrontError.
func (f Front) Fields() (map[string]any, error) {
	switch {
	case f.open:
		return nil, &FrontError{1, "the front matter begins with --- and never ends with one"}
	case len(f.Body) > maxFront:
		return nil, &FrontError{1, "the front matter is larger than 64 KiB"}
	case strings.Count(f.Body, "[")+strings.Count(f.Body, "{")+strings.Count(f.Body, "? ") > maxBrackets:
		return nil, &FrontError{1, "the front matter is nested too deeply"}
	case strings.TrimSpace(f.Body) == "":
		return nil, nil
	}
	if f.toml {
		return f.tomlFields()
	}
	var found any
	if err := yaml.Unmarshal([]byte(f.Body), &found); err != nil {
		return nil, frontError(err)
	}
	fields, ok := found.(map[string]any)
	if !ok && found != nil {
		return nil, &FrontError{2, "the front matter is not a list of keys with values"}
	}
	return fields, nil
}

func (f Front) tomlFields() (fields map[string]any, err error) {
	err = toml.Unmarshal([]byte(f.Body), &fields)
	var where *toml.DecodeError
	switch {
	case errors.As(err, &where):
		line, _ := where.Position()
		return nil, &FrontError{line + 1, "the front matter is not TOML: " + strings.TrimPrefix(where.Error(), "toml: ")}
	case err != nil:
		return nil, &FrontError{2, "the front matter is not TOML"}
	}
	return fields, nil
}

// frontError converts an error of the YAML parser to a FrontError with its line in the text.
func frontError(err error) error {
	found := &FrontError{2, "the front matter is not YAML"}
	var where yaml.Error
	if !errors.As(err, &where) {
		return found
	}
	if t := where.GetToken(); t != nil && t.Position != nil {
		found.Line = t.Position.Line + 1 // counting the line of dashes
	}
	found.Message += ": " + where.GetMessage()
	return found
}
