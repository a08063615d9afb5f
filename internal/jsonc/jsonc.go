// Package jsonc parses JSON with comments and trailing commas, to a bounded depth. It keeps
// comments and white space, so that a file can be edited and written back.
package jsonc

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// MaxDepth is how many objects and arrays may be nested. The parser of hujson has no limit, and a
// stack overflow would end the process.
const MaxDepth = 500

// SyntaxError describes why a text cannot be parsed. Reason never quotes more than one
// character of the text.
type SyntaxError struct {
	Offset int // in bytes
	Reason string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("offset %d: %s", e.Offset, e.Reason) }

var byteOrderMark = []byte("\ufeff")

// Parse parses a text. Packing the result gives the same bytes. A text without a value (it is
// empty, or holds only comments) gives a Value whose Value is nil. A byte order mark at the start
// counts as white space, and the last comment needs no newline. Errors are of type *SyntaxError.
func Parse(text []byte) (hujson.Value, error) {
	body, marked := bytes.CutPrefix(text, byteOrderMark)
	mark := len(text) - len(body)
	if at := tooDeep(body); at >= 0 {
		return hujson.Value{}, &SyntaxError{mark + at, "objects and arrays are nested too deeply"}
	}
	body = slices.Concat(body, []byte("\n")) // hujson requires a newline after each comment
	if hujson.Extra(body).IsValid() {
		return hujson.Value{BeforeExtra: text}, nil
	}
	root, err := hujson.Parse(body)
	if err != nil {
		return hujson.Value{}, syntaxError(body, mark, err)
	}
	root.AfterExtra = root.AfterExtra[:len(root.AfterExtra)-1]
	if marked {
		root.BeforeExtra = slices.Concat(byteOrderMark, root.BeforeExtra)
		root.UpdateOffsets()
	}
	return root, nil
}

// reasons maps errors of hujson to messages. The errors of hujson quote whole literals, which may
// be secrets.
var reasons = []struct{ contains, reason string }{
	{"after object value", "a comma or '}' belongs here"},
	{"after array value", "a comma or ']' belongs here"},
	{"after object name", "a colon belongs here, between a name and its value"},
	{"at start of object name", "a name in double quotes belongs here"},
	{"after top-level value", "unexpected text after the end of the value"},
	{"parsing comment", "this comment has no end"},
	{"parsing string", "this string has no end"},
	{"parsing object", "the text ends here, but '}' is missing"},
	{"parsing array", "the text ends here, but ']' is missing"},
	{"in comment", "a comment must be UTF-8"},
	{`invalid literal: "`, "this string is invalid"},
	{"", "a value belongs here"},
}

// syntaxError converts an error of hujson, whose text holds the line and the column.
func syntaxError(body []byte, mark int, err error) error {
	var line, column int
	if _, scanErr := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); scanErr != nil {
		return &SyntaxError{mark, "this is not JSON"}
	}
	at := 0
	for range line - 1 {
		at += bytes.IndexByte(body[at:], '\n') + 1
	}
	at = min(at+column-1, len(body)-1)
	what := err.Error()
	if strings.Contains(what, "invalid literal") && bytes.HasSuffix(bytes.TrimSpace(body[:at]), []byte("{")) {
		what = "at start of object name"
	}
	i := slices.IndexFunc(reasons, func(r struct{ contains, reason string }) bool { return strings.Contains(what, r.contains) })
	return &SyntaxError{mark + at, reasons[i].reason}
}

// tooDeep returns the offset of the bracket that exceeds MaxDepth, or -1. Up to the first syntax
// error it finds the same brackets as the parser.
func tooDeep(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			if depth++; depth > MaxDepth {
				return i
			}
		case '}', ']':
			depth--
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '/':
			i += skipComment(text[i:])
		}
	}
	return -1
}

// skipComment returns the offset of the last byte of the comment that text begins with; 0 if text
// does not begin with a comment.
func skipComment(text []byte) int {
	end := "\n"
	switch {
	case bytes.HasPrefix(text, []byte("//")):
	case bytes.HasPrefix(text, []byte("/*")):
		end = "*/"
	default:
		return 0
	}
	if n := bytes.Index(text[2:], []byte(end)); n >= 0 {
		return 1 + n + len(end)
	}
	return len(text)
}
