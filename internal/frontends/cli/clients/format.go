package clients

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf8"
)

// format is the language of a file, in which one entry is changed and every other byte
// stays. What cannot be read is a *SyntaxError; what cannot be changed safely another.
type format interface {
	language() string
	// get gives an entry as it stands, verbatim, and what it says; nil if there is none.
	get(text []byte, name string) (raw []byte, said Entry, err error)
	// set puts an entry in, in the place of one of that name, or else behind the others.
	set(text []byte, name string, write func(style) []byte) ([]byte, error)
	// mend changes what an entry says of where the server is, and leaves what people put
	// beside that. Nothing changes if it says that already.
	mend(text []byte, name string, fields []field) ([]byte, error)
	// remove takes an entry out, and what holds the entries too if that is then empty
	// and should not stay.
	remove(text []byte, name string, keepHolder bool) ([]byte, error)
	// holds tells whether there is a place for entries.
	holds(text []byte) bool
	// render writes an entry.
	render(name string, fields []field, st style) []byte
}

// Entry is what the file of a client says of a server.
type Entry struct {
	Command string // "" for an address
	URL     string
	others  []string // what else people put there
}

// placing are the fields that say where a server is, and how to reach it: whatever
// stands there, they are Remit's to write.
var placing = []string{"type", "command", "args", "url", "httpUrl", "serverUrl", "headers", "bearer_token_env_var"}

// reaches tells whether an entry starts its server as this one is, or has an address as
// this one has, so that what people put there fits.
func (e *Entry) reaches(s Server) bool {
	return s.URL == "" && e.Command != "" || s.URL != "" && e.URL != ""
}

// style is how the text around an entry is laid out.
type style struct {
	indent  string // of the line that the entry begins on
	unit    string // by which what is deeper is indented
	eol     string
	compact bool // all on one line
}

// SyntaxError is a place in a file that cannot be read.
type SyntaxError struct {
	Line, Column int // from 1; columns are characters
	Reason       string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Reason)
}

// syntaxError says where in a text something is wrong.
func syntaxError(text []byte, at int, format string, args ...any) error {
	at = min(at, len(text))
	line := text[bytes.LastIndexByte(text[:at], '\n')+1 : at]
	return &SyntaxError{
		Line:   bytes.Count(text[:at], []byte{'\n'}) + 1,
		Column: utf8.RuneCount(bytes.TrimPrefix(line, byteOrderMark)) + 1,
		Reason: fmt.Sprintf(format, args...),
	}
}

// byteOrderMark is what some editors of Windows begin a file with.
var byteOrderMark = []byte("\ufeff")

// endOfLine is what the lines of a text end with.
func endOfLine(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// edit puts a text in the place of some bytes.
type edit struct {
	start, end int
	text       string
}

// apply makes edits that do not overlap; those at one place in their order.
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
