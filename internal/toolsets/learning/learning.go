// Package learning holds the tools of the learning systems: a greeting, the
// repository's files and the memory files, in the editions booster (seed 000)
// and learning-os (seed 001).
package learning

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

// Tools are the handlers and what they stand on.
type Tools struct {
	Memory Memory
	Files  Files
	Now    func() time.Time
	Known  []*contract.Set // every set there is
	Served []*contract.Set // those that are served, as the operator left them
}

// Files are the files of the repository.
type Files interface {
	// List names what policy lets a caller read in a folder ("." is the root): files
	// by their path, folders with a slash at the end. It gives only names that begin
	// as asked, letter case aside. The error is a contract.Error.
	List(folder, begins string, policy *contract.PathPolicy) ([]string, error)
}

// Memory keeps the memory files. What is read of them is what policy lets a caller
// read: the file itself, never what a link leads to. The error is a contract.Error
// if there is no such file or policy refuses it.
type Memory interface {
	// Stat tells the size of a file and when it was written last.
	Stat(ctx context.Context, file string, policy *contract.PathPolicy) (fs.FileInfo, error)
	// Tail gives the last lines of a file that are at most so many bytes together,
	// without a line that is still being written.
	Tail(ctx context.Context, file string, policy *contract.PathPolicy, most int64) (Tail, error)
	// Append gives an entry its place at the end of a file and returns at once;
	// wait returns when it is on disk, and tells where. An entry that wait has
	// acknowledged is never lost. If wait fails nothing was kept, unless a contract.Error
	// says something else. Safe for concurrent use.
	Append(file string, entry []byte) (wait func(context.Context) (Place, error))
}

// Tail is the end of a file.
type Tail struct {
	Text   []byte // from the start of a line
	Before int64  // bytes of the file that stand before it
}

// Place is where an entry stands.
type Place struct {
	Line  int64 // 1-based number of its first line
	Bytes int   // appended to the file for it
}

// Toolset is the table of the tools, for both editions, with what the edition that
// is served offers besides.
func (t *Tools) Toolset() engine.Toolset {
	toolset := engine.Toolset{
		Sets: []string{"booster", "learning-os"},
		Handlers: map[string]engine.Handler{
			"hello":    engine.Handle(t.Hello),
			readTool:   engine.Handle(t.Read),
			memoryTool: engine.Handle(t.Write),
		},
	}
	if served := t.edition(toolset.Sets); served != nil {
		toolset.Prompts = []engine.Prompt{served.weeklyReview(), served.recordDecision(), served.explainFile()}
		if served.read != nil {
			toolset.Shelves = []engine.Shelf{shelf{served}}
		}
	}
	return toolset
}

// HelloIn says whom to greet.
type HelloIn struct {
	Name string `json:"name"`
}

// HelloOut is the greeting, under the name that each edition gives it.
type HelloOut struct {
	Message   string    `json:"message"`
	Greeting  string    `json:"greeting"`
	Timestamp time.Time `json:"timestamp"`
}

// Hello greets.
func (t *Tools) Hello(_ context.Context, in HelloIn) (HelloOut, error) {
	greeting := "Hello, " + in.Name + "!"
	return HelloOut{Message: greeting, Greeting: greeting, Timestamp: t.Now()}, nil
}

// ReadIn names a file. Encoding is empty where the edition leaves no choice.
type ReadIn struct {
	Path     engine.Path `json:"path"`
	Encoding string      `json:"encoding"`
}

// ReadOut is a file.
type ReadOut struct {
	Content  string    `json:"content"`
	Size     int       `json:"size"`
	Modified time.Time `json:"modified"`
}

// Read returns a file of the repository as text, or as base64 if asked to.
func (t *Tools) Read(_ context.Context, in ReadIn) (ReadOut, error) {
	data, info, err := in.Path.ReadAll()
	if err != nil {
		return ReadOut{}, err
	}
	out := ReadOut{Size: len(data), Modified: info.ModTime()}
	switch {
	case in.Encoding == "base64":
		out.Content = base64.StdEncoding.EncodeToString(data)
	case utf8.Valid(data):
		out.Content = string(data)
	case in.Encoding != "":
		return out, contract.Errorf(contract.Invalid, "%s is not UTF-8 text; read it with encoding=base64", in.Path.Name())
	default:
		return out, contract.Errorf(contract.Invalid, "%s is not UTF-8 text; only text files can be read", in.Path.Name())
	}
	return out, nil
}

// WriteIn is an entry for a memory file.
type WriteIn struct {
	File  string `json:"file"`
	Entry Entry  `json:"entry"`
}

// Entry is the text of an entry as the caller sent it: an object's JSON itself,
// or what a string holds.
type Entry string

// UnmarshalJSON takes either form.
func (e *Entry) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, (*string)(e))
	}
	*e = Entry(data)
	return nil
}

// Check refuses an entry that does not suit its file.
func (in WriteIn) Check() error {
	refuse := func(format string, args ...any) error {
		return contract.Errorf(contract.Invalid, format, args...).With("field", "entry")
	}
	text := string(in.Entry)
	switch {
	case strings.TrimSpace(text) == "":
		return refuse("entry cannot be empty")
	case isLog(in.File) && !json.Valid([]byte(text)):
		_, why := jsontree.Parse([]byte(text))
		return refuse("entry must be valid JSON for %s: %v", in.File, why)
	case isLog(in.File):
		return nil
	}
	if why := unfit(text); why != "" {
		return refuse("entry must be plain Markdown for %s: %s", in.File, why)
	}
	return nil
}

// WriteOut tells what became of an entry.
type WriteOut struct {
	Success      bool      `json:"success"`
	BytesWritten int       `json:"bytes_written"`
	LineNumber   int64     `json:"line_number"`
	Timestamp    time.Time `json:"timestamp"`
}

// Write appends an entry to a memory file and returns once it is on disk.
func (t *Tools) Write(ctx context.Context, in WriteIn) (WriteOut, error) {
	wait := t.Memory.Append(in.File, in.stored())
	engine.Placed(ctx)
	place, err := wait(ctx)
	var told *contract.Error
	switch {
	case errors.As(err, &told): // the store knows better what became of it
		return WriteOut{}, told
	case err != nil:
		return WriteOut{}, contract.Errorf(contract.Unavailable, "The entry could not be written; nothing was kept of it. Try again").Because(err)
	}
	return WriteOut{Success: true, BytesWritten: place.Bytes, LineNumber: place.Line, Timestamp: t.Now()}, nil
}

// stored is the entry as it goes into the file, without the closing newline. JSON
// stays as it was sent unless it spans lines; Markdown keeps its indentation.
func (in WriteIn) stored() []byte {
	text := string(in.Entry)
	if !isLog(in.File) {
		return []byte(strings.Trim(text, "\r\n"))
	}
	text = strings.TrimSpace(text)
	if !strings.ContainsAny(text, "\r\n") {
		return []byte(text)
	}
	var line bytes.Buffer
	_ = json.Compact(&line, []byte(text)) // Check has seen that it is valid
	return line.Bytes()
}

// Appended is what a call of write_memory_entry with these arguments adds to which file,
// for whoever has to approve it.
func Appended(arguments []byte) (file string, entry []byte, err error) {
	var in WriteIn
	if err := json.Unmarshal(arguments, &in); err != nil {
		return "", nil, fmt.Errorf("read the arguments of %s: %w", memoryTool, err)
	}
	return in.File, append(in.stored(), '\n'), nil
}

// unfit says why Markdown cannot be kept, "" if it can. A page that shows the file
// must not be made to run anything, not even by two entries that only together
// make a tag: so a tag is either bare (<br>, <kbd>) or not there.
func unfit(markdown string) string {
	plain := html.UnescapeString(markdown) // as a browser reads &#106;avascript:
	switch {
	case strings.ContainsFunc(strings.ReplaceAll(markdown, "\r\n", "\n"), isControl):
		return "it has control characters in it"
	case strings.Contains(tagLike().ReplaceAllStringFunc(markdown, keepActive), "<tag"):
		return "scripts, frames, forms and tags with attributes are not kept; write < as &lt; if it is meant as text"
	case activeURL().MatchString(strings.Map(visible, plain)):
		return "links that run something are not kept"
	}
	return ""
}

func isControl(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

// keepActive drops what is harmless of the things that look like tags, and marks
// the rest.
func keepActive(tag string) string {
	if harmless().MatchString(tag) && !active().MatchString(tag) {
		return ""
	}
	return "<tag"
}

// visible drops what browsers skip inside a URL.
func visible(r rune) rune {
	if r <= ' ' || r == 0x7f || r == 0xad || r >= 0x200b && r <= 0x200f || r == 0xfeff {
		return -1
	}
	return r
}

// They are compiled on first use: a start should not pay for them.
var (
	tagLike   = lazily(`<[A-Za-z/!?][^>]*>?`)
	harmless  = lazily(`^<(/?[A-Za-z][A-Za-z0-9-]*\s*/?|(https?://|mailto:)[^\s<>"']*)>$`)
	active    = lazily(`(?i)^</?(script|iframe|frame|frameset|object|embed|applet|form|svg|math|style|link|meta|base|template|portal|plaintext|xmp|textarea|title)\b`)
	activeURL = lazily(`(?i)(\]\(|\]:|<|=)["'<(]*(javascript|vbscript|livescript|data:text/html|data:image/svg)`)
)

func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
