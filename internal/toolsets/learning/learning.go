// Package learning holds the tools of the learning systems: a greeting, the
// repository's files and the memory files, in the editions booster (seed 000)
// and learning-os (seed 001).
package learning

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

// Tools are the handlers and what they stand on.
type Tools struct {
	Memory Memory
	Now    func() time.Time
}

// Memory keeps the memory files.
type Memory interface {
	// Append gives an entry its place at the end of a file and returns at once;
	// wait returns when it is on disk, and tells where. An entry that wait has
	// acknowledged is never lost. Safe for concurrent use.
	Append(file string, entry []byte) (wait func(context.Context) (Place, error))
}

// Place is where an entry stands.
type Place struct {
	Line  int64 // 1-based number of its first line
	Bytes int   // appended to the file for it
}

// Toolset is the table of the tools, for both editions.
func (t *Tools) Toolset() engine.Toolset {
	return engine.Toolset{
		Sets: []string{"booster", "learning-os"},
		Handlers: map[string]engine.Handler{
			"hello":              engine.Handle(t.Hello),
			"read_repo_file":     engine.Handle(t.Read),
			"write_memory_entry": engine.Handle(t.Write),
		},
	}
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
	case in.lines() && !json.Valid([]byte(text)):
		_, why := jsontree.Parse([]byte(text))
		return refuse("entry must be valid JSON for %s: %v", in.File, why)
	case in.lines():
		return nil
	}
	if why := unfit(text); why != "" {
		return refuse("entry must be plain Markdown for %s: %s", in.File, why)
	}
	return nil
}

// lines tells whether the file holds one JSON value a line.
func (in WriteIn) lines() bool { return strings.HasSuffix(in.File, ".jsonl") }

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
	if err != nil {
		return WriteOut{}, contract.Errorf(contract.Unavailable, "The entry could not be written; nothing was kept of it. Try again").Because(err)
	}
	return WriteOut{Success: true, BytesWritten: place.Bytes, LineNumber: place.Line, Timestamp: t.Now()}, nil
}

// stored is the entry as it goes into the file, without the closing newline. JSON
// stays as it was sent unless it spans lines; Markdown keeps its indentation.
func (in WriteIn) stored() []byte {
	text := string(in.Entry)
	if !in.lines() {
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
