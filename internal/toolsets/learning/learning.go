// Package learning implements the tools of the learning systems: a greeting, reading files of the
// repository, and writing memory files. There are two editions: booster and learning-os. It defines
// the interfaces that it needs and does not access the disk itself.
package learning

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine"
)

// Tools holds the handlers and their dependencies.
type Tools struct {
	Memory  Memory
	Files   Files
	Now     func() time.Time
	AllSets []*contract.Set // all sets
	Served  []*contract.Set // the served sets, with the operator's changes
	Secrets *contract.SecretPolicy

	recent recentFiles
}

// Files gives access to the files of the repository.
type Files interface {
	// List returns what policy allows a caller to read in a folder ("." is the root): files by
	// their path, folders with a slash at the end. It returns only names that begin with begins,
	// ignoring letter case. The error is a contract.Error.
	List(folder, begins string, policy *contract.PathPolicy) ([]string, error)
}

// Memory stores the memory files. Reading follows policy and never follows links. The error is a
// contract.Error if there is no such file or policy denies it.
type Memory interface {
	// Stat returns the size and modification time of a file.
	Stat(ctx context.Context, file string, policy *contract.PathPolicy) (fs.FileInfo, error)
	// Tail returns the last whole lines of a file, at most limit bytes together. It leaves out
	// a line that is still being written.
	Tail(ctx context.Context, file string, policy *contract.PathPolicy, limit int64) (Tail, error)
	// Append reserves the place of an entry at the end of a file and returns at once. wait returns
	// when the entry is on disk, with its place. An entry that wait has acknowledged is never lost.
	// If ctx carries the effect of a call, the entry is not stored before a record of the call is.
	// If wait fails, nothing was stored, unless a contract.Error says otherwise. If follows is not
	// nil, the entry is stored only while the file has that extent; wait returns ErrChanged
	// otherwise. Append is safe for concurrent use.
	Append(ctx context.Context, file string, entry []byte, follows *Extent) (wait func(context.Context) (Position, error))
}

// Tail is the end of a file.
type Tail struct {
	Text   []byte // from the start of a line
	Before int64  // number of bytes in the file before Text
}

// Position is the position of an entry in its file.
type Position struct {
	Line  int64 // 1-based number of the entry's first line
	Bytes int   // number of bytes appended to the file
}

// Toolset returns the table of the tools, for both editions, with the resources and prompts of the
// served one.
func (t *Tools) Toolset() engine.Toolset {
	toolset := engine.Toolset{
		Sets: []string{"booster", "learning-os"},
		Handlers: map[string]engine.Handler{
			"hello":    engine.Handle(t.Hello),
			readTool:   engine.Handle(t.Read),
			memoryTool: engine.Handle(t.Write).Shows(t.ShowWrite),
		},
	}
	if served := t.edition(toolset.Sets); served != nil {
		toolset.Prompts = []engine.Prompt{served.weeklyReview(), served.recordDecision(), served.explainFile()}
		if served.read != nil {
			toolset.Resources = []engine.ResourceProvider{resources{served}}
		}
	}
	return toolset
}

// HelloIn names the person to greet.
type HelloIn struct {
	Name string `json:"name"`
}

// HelloOut holds the greeting in the field of each edition.
type HelloOut struct {
	Message   string    `json:"message"`
	Greeting  string    `json:"greeting"`
	Timestamp time.Time `json:"timestamp"`
}

// Hello returns a greeting.
func (t *Tools) Hello(_ context.Context, in HelloIn) (HelloOut, error) {
	greeting := "Hello, " + in.Name + "!"
	return HelloOut{Message: greeting, Greeting: greeting, Timestamp: t.Now()}, nil
}

// WriteIn is an entry for a memory file.
type WriteIn struct {
	File       string `json:"file"`
	Entry      Entry  `json:"entry"`
	Supersedes string `json:"supersedes"` // an earlier entry of the file: its ID, LINE or FILE:LINE
}

// Entry is the text of an entry as the caller sent it: the JSON of an object, or the content of a
// string.
type Entry string

// UnmarshalJSON stores the content of a JSON string, and the JSON text of any other value.
func (e *Entry) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, (*string)(e))
	}
	*e = Entry(data)
	return nil
}

// Check returns an error if an entry does not match the format of its file.
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
	default: // Markdown is stored as it is, and made harmless where it is shown
		return nil
	}
}

// WriteOut is the answer of write_memory_entry.
type WriteOut struct {
	Success      bool      `json:"success"`
	BytesWritten int       `json:"bytes_written"`
	LineNumber   int64     `json:"line_number"`
	Timestamp    time.Time `json:"timestamp"`
	SimilarTo    *Similar  `json:"similar_to,omitempty"`
}

// Write appends an entry to a memory file and returns once it is on disk.
func (t *Tools) Write(ctx context.Context, in WriteIn) (WriteOut, error) {
	var follows *Extent
	if text := engine.Seen(ctx); text != "" { // a person was asked
		if seen, ok := parseExtent(text); ok {
			follows = &seen
		}
	}
	body, superseded, err := t.body(ctx, in)
	if err != nil {
		return WriteOut{}, err
	}
	compared := t.recent.begin(in.File, body)
	wait := t.Memory.Append(ctx, in.File, body, follows)
	engine.MarkOrdered(ctx)
	place, err := wait(ctx)
	similar := compared.end(ctx, t.tail, place, err == nil, superseded.ID)
	var failure *contract.Error
	switch {
	case errors.Is(err, ErrChanged):
		return WriteOut{}, engine.StaleError(in.File).Because(err)
	case errors.As(err, &failure): // the store's own error is more precise
		return WriteOut{}, failure
	case err != nil:
		return WriteOut{}, contract.Errorf(contract.Unavailable,
			"The entry could not be written, and nothing was stored. Try again").Because(err)
	}
	if similar != nil && t.hidden(ctx, in.File) != "" {
		similar.Excerpt = ""
	}
	return WriteOut{Success: true, BytesWritten: place.Bytes, LineNumber: place.Line, Timestamp: t.Now(), SimilarTo: similar}, nil
}

// stored returns the entry as it is written to the file, without the newline at the end. JSON stays
// as it was sent unless it has several lines; Markdown always does.
func (in WriteIn) stored() []byte {
	text := string(in.Entry)
	if !isLog(in.File) {
		return []byte(strings.TrimSuffix(text, "\n"))
	}
	text = strings.TrimSpace(text)
	if !strings.ContainsAny(text, "\r\n") {
		return []byte(text)
	}
	var line bytes.Buffer
	_ = json.Compact(&line, []byte(text)) // Check has validated it
	return line.Bytes()
}
