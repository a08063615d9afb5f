// Package auditindextest provides a test suite for implementations of auditindex.Store, audit
// records for it, and a Store in memory.
package auditindextest

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing/fstest"
	"time"

	"remit/internal/engine/audit"
)

// Folder is a folder of day files, sealed like real ones, to which tests add records.
type Folder struct {
	mu       sync.Mutex
	Files    map[string][]byte
	Last     string // the hash that the next record refers to
	Clock    time.Time
	Frontend string // of the calls that are added
	Fault    error  // returned when the folder is read
}

// NewFolder returns an empty folder.
func NewFolder() *Folder {
	return &Folder{Files: map[string][]byte{}, Last: audit.InitialHash, Frontend: "http", Clock: time.Date(2026, 1, 9, 10, 0, 0, 0, time.UTC)}
}

// Open opens a file with its current content.
func (b *Folder) Open(name string) (fs.File, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.Fault != nil {
		return nil, b.Fault
	}
	files := fstest.MapFS{}
	for name, data := range b.Files {
		files[name] = &fstest.MapFile{Data: data} // data is only appended to or replaced
	}
	return files.Open(name)
}

// Now returns the time of the book.
func (b *Folder) Now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Clock
}

// Pass advances the time.
func (b *Folder) Pass(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Clock = b.Clock.Add(d)
}

// Raw writes text to the file of the day.
func (b *Folder) Raw(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	name := audit.FileOf(b.Clock.Format(time.DateOnly))
	b.Files[name] = append(b.Files[name], text...)
}

// Add records a call that has just ended.
func (b *Folder) Add(tool, caller, outcome string, took time.Duration) {
	record := fmt.Sprintf(`{"time":%q,"principal":%q,"frontend":%q,"client":"c","tool":%q,"version":"1.0.0",`+
		`"arguments":{"n":1},"outcome":%q,"micros":%d,"bytes":7}`,
		b.Clock.Format("2006-01-02T15:04:05.000000Z"), caller, b.Frontend, tool, outcome, took.Microseconds())
	b.AddRecord(record)
}

// AddRecord adds a record, which is JSON and begins with its time.
func (b *Folder) AddRecord(record string) {
	line := audit.Seal(b.Last, []byte(record))
	b.Last = audit.HashOf(line)
	b.Raw(string(line) + "\n")
}

// Numbered reads a book whose places are line numbers, as in a database.
type Numbered struct{ *Folder }

var _ audit.Reader = Numbered{}

// Days implements audit.Reader.
func (n Numbered) Days(ctx context.Context) ([]audit.Day, error) {
	days, err := audit.Folder{FS: n.Folder}.Days(ctx)
	for i := range days {
		days[i].End = 1000 + int64(len(n.lines(days[i].Name)))
	}
	return days, err
}

func (n Numbered) lines(day string) (lines []audit.Line) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for line := range strings.Lines(string(n.Files[audit.FileOf(day)])) {
		if text, whole := strings.CutSuffix(line, "\n"); whole {
			place := int64(1000 + len(lines))
			lines = append(lines, audit.Line{Offset: place, Next: place + 1, Text: []byte(text)})
		}
	}
	return lines
}

// From implements audit.Reader.
func (n Numbered) From(_ context.Context, day string, place int64, limit int) ([]audit.Line, error) {
	lines := n.lines(day)
	at := max(0, min(place-1000, int64(len(lines))))
	return lines[at:min(at+int64(limit), int64(len(lines)))], nil
}

// Before implements audit.Reader.
func (n Numbered) Before(_ context.Context, day string, place int64, limit int) ([]audit.Line, error) {
	lines := n.lines(day)
	at := max(0, min(place-1000, int64(len(lines))))
	lines = slices.Clone(lines[max(0, at-int64(limit)):at])
	slices.Reverse(lines)
	return lines, nil
}
