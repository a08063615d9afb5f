package clients

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"
)

// format edits one entry of a file and keeps every other byte. A file that cannot be parsed, or
// that cannot be changed safely, is a *SyntaxError.
type format interface {
	language() string
	// get returns the text of an entry and its parsed form. raw is nil if there is no entry.
	get(text []byte, name string) (raw []byte, entry Entry, err error)
	// names returns the names of the entries.
	names(text []byte) ([]string, error)
	// set replaces the entry of that name, or adds it after the others.
	set(text []byte, name string, write func(style) []byte) ([]byte, error)
	// update changes the fields of an entry that say how to reach the server, and keeps the fields
	// that the user added. It changes nothing if they are up to date.
	update(text []byte, name string, fields []field) ([]byte, error)
	// remove removes an entry. If no entries are left and keepHolder is false, it also removes the
	// object or table that held them.
	remove(text []byte, name string, keepHolder bool) ([]byte, error)
	// holds reports whether the text has an object or table for entries.
	holds(text []byte) bool
	// render returns the text of an entry.
	render(name string, fields []field, st style) []byte
}

// Entry is a server in the file of a client.
type Entry struct {
	Command string // "" for a server with a URL
	URL     string
	Root    string   // the workspace that the entry names; "" if it names none
	others  []string // names of fields that the user added
}

// rootOf returns the workspace that the text of an entry names. Arguments look the same in JSON and
// TOML.
func rootOf(raw []byte) string {
	found := regexp.MustCompile(`"--root",\s*("(?:[^"\\]|\\.)*")`).FindSubmatch(raw)
	if found == nil {
		return ""
	}
	root, _ := strconv.Unquote(string(found[1])) // an unusual text is not shown
	return root
}

// connectionFields are the fields that say how to reach a server. Remit overwrites them.
var connectionFields = []string{"type", "command", "args", "url", "httpUrl", "serverUrl", "headers", "bearer_token_env_var"}

// sameKind reports whether both the entry and s have a command, or both have a URL. Then the fields
// that the user added still apply.
func (e *Entry) sameKind(s Server) bool {
	return s.URL == "" && e.Command != "" || s.URL != "" && e.URL != ""
}

// style is the layout of the text around an entry.
type style struct {
	indent  string // of the first line of the entry
	unit    string // added for each level
	eol     string
	compact bool // all on one line
}

// SyntaxError is a position in a file that cannot be parsed, or cannot be changed safely.
type SyntaxError struct {
	Line, Column int // from 1; columns are characters
	Reason       string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Reason)
}

// syntaxError returns a SyntaxError for an offset in a text.
func syntaxError(text []byte, at int, format string, args ...any) error {
	at = min(at, len(text))
	line := text[bytes.LastIndexByte(text[:at], '\n')+1 : at]
	return &SyntaxError{
		Line:   bytes.Count(text[:at], []byte{'\n'}) + 1,
		Column: utf8.RuneCount(bytes.TrimPrefix(line, byteOrderMark)) + 1,
		Reason: fmt.Sprintf(format, args...),
	}
}

// byteOrderMark is what some editors on Windows write at the start of a file.
var byteOrderMark = []byte("\ufeff")

// endOfLine returns the line ending of a text.
func endOfLine(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// edit replaces the bytes from start to end with text.
type edit struct {
	start, end int
	text       string
}

// apply applies edits that do not overlap. Edits at the same position keep their order.
func apply(text []byte, edits ...edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.start - b.start })
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		out.Write(text[at:e.start])
		out.WriteString(e.text)
		at = e.end
	}
	out.Write(text[at:])
	return out.Bytes()
}
