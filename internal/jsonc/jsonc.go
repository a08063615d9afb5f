// Package jsonc parses JSON with comments and trailing commas, to a bounded depth.
package jsonc

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// MaxDepth is how many objects and arrays may be nested in each other. The parser of
// hujson has no limit of its own, and a stack overflow ends the process.
const MaxDepth = 500

// SyntaxError describes why a text cannot be parsed. Reason never quotes more than one
// character of the text.
type SyntaxError struct {
	Offset int // in bytes
	Reason string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("offset %d: %s", e.Offset, e.Reason) }

var byteOrderMark = []byte("\ufeff")

// Parse parses a text. Packing the result gives the same bytes. A text without a value
// (it is empty, or holds comments alone) gives a Value whose Value is nil. A byte order
// mark at the start counts as white space, and the last comment needs no end of line.
// Errors are of type *SyntaxError.
func Parse(text []byte) (hujson.Value, error) {
	body, marked := bytes.CutPrefix(text, byteOrderMark)
	mark := len(text) - len(body)
	if at := tooDeep(body); at >= 0 {
		return hujson.Value{}, &SyntaxError{mark + at, "it is nested too deeply"}
	}
	body = slices.Concat(body, []byte("\n")) // hujson wants an end of line behind each comment
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

// reasons are words for the errors of hujson, which quotes literals whole: one may be a secret.
var reasons = []struct{ contains, reason string }{
	{"after object value", "a comma or '}' belongs here"},
	{"after array value", "a comma or ']' belongs here"},
	{"after object name", "a colon belongs here, between a name and its value"},
	{"at start of object name", "a name in double quotes belongs here"},
	{"after top-level value", "there is more behind the end"},
	{"parsing comment", "this comment has no end"},
	{"parsing string", "this string has no end"},
	{"parsing object", "the text ends here, but '}' is missing"},
	{"parsing array", "the text ends here, but ']' is missing"},
	{"in comment", "a comment must be UTF-8"},
	{`invalid literal: "`, "this string is not right"},
	{"", "a value belongs here"},
}

// syntaxError converts an error of hujson, which has the place in its words.
func syntaxError(body []byte, mark int, err error) error {
	var line, column int
	if _, scanErr := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); scanErr != nil {
		return &SyntaxError{mark, "it is not JSON"}
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

// tooDeep returns the offset of the bracket that exceeds MaxDepth, or -1. Up to the first
// syntax error it sees the same brackets as the parser.
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

// skipComment returns how far the last byte of the comment is from the start of text; 0 if
// text begins with no comment.
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
