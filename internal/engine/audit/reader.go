package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// Line is one line of a day. Places grow from line to line, and the line at a place never changes.
type Line struct {
	Offset int64 // where it begins
	Next   int64 // where the next one begins
	Text   []byte
}

// Day is a day that has records.
type Day struct {
	Name string // 2026-01-09
	Size int64  // in bytes
	End  int64  // no line begins here or later
}

// Reader reads the lines that a Storage has stored.
type Reader interface {
	// Days lists the days, oldest first.
	Days(ctx context.Context) ([]Day, error)
	// From returns up to limit lines of a day, starting at a place, oldest first; none at the end.
	From(ctx context.Context, day string, place int64, limit int) ([]Line, error)
	// Before returns up to limit lines of a day that begin before a place, newest first; none at
	// the beginning.
	Before(ctx context.Context, day string, place int64, limit int) ([]Line, error)
}

// Folder reads the day files in a folder. The place of a line is the offset of its
// first byte.
type Folder struct{ fs.FS }

var _ Reader = Folder{}

// Days implements Reader. It ignores everything in the folder that is not a day file.
func (f Folder) Days(context.Context) ([]Day, error) {
	entries, err := fs.ReadDir(f.FS, ".")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list audit files: %w", err)
	}
	var days []Day
	for _, entry := range entries {
		name, isLog := strings.CutSuffix(entry.Name(), fileEnding)
		if _, err := time.Parse(time.DateOnly, name); err != nil || !isLog || !entry.Type().IsRegular() {
			continue
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted since the folder was listed
		}
		if err != nil {
			return nil, fmt.Errorf("list audit files: %w", err)
		}
		days = append(days, Day{name, info.Size(), info.Size()})
	}
	slices.SortFunc(days, func(a, b Day) int { return strings.Compare(a.Name, b.Name) })
	return days, nil
}

const (
	shortRead = 4 << 10   // how many bytes are read first for a single line
	longRead  = 256 << 10 // and for many lines
	maxLine   = 8 << 20   // a longer line is not a record, and is returned in parts without text
)

func firstRead(limit int) int64 {
	if limit == 1 {
		return shortRead
	}
	return longRead
}

// From implements Reader. It omits a last line without a newline unless it is sealed: such a line
// is still being written, or was cut off by a crash.
func (f Folder) From(_ context.Context, day string, place int64, limit int) (lines []Line, err error) {
	err = f.open(day, func(file io.ReaderAt, end int64) error {
		for size := firstRead(limit); place < end; size *= 2 {
			text, err := readRange(file, place, min(place+size, end))
			if err != nil {
				return err
			}
			lines = splitLines(text, place, place+size >= end)
			if len(lines) == 0 && place+size < end && size >= maxLine {
				lines = []Line{{place, place + size, nil}}
			}
			if len(lines) > 0 || place+size >= end {
				break
			}
		}
		return nil
	})
	return lines[:min(limit, len(lines))], err
}

// Before implements Reader.
func (f Folder) Before(_ context.Context, day string, place int64, limit int) (lines []Line, err error) {
	err = f.open(day, func(file io.ReaderAt, end int64) error {
		place = min(place, end)
		for size := firstRead(limit); place > 0; size *= 2 {
			start := max(place-size, 0)
			text, err := readRange(file, start, place)
			if err != nil {
				return err
			}
			skip := 0
			if start > 0 {
				skip = bytes.IndexByte(text, '\n') + 1 // the first line began before start
			}
			if start == 0 || skip > 0 {
				lines = splitLines(text[skip:], start+int64(skip), place == end)
			}
			if len(lines) == 0 && start > 0 && size >= maxLine {
				lines = []Line{{start, place, nil}}
			}
			if len(lines) > 0 || start == 0 {
				break
			}
		}
		return nil
	})
	slices.Reverse(lines)
	return lines[:min(limit, len(lines))], err
}

// open calls read with the file of a day and its size. A day without a file has no lines.
func (f Folder) open(day string, read func(file io.ReaderAt, end int64) error) error {
	file, err := f.Open(FileOf(day))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open audit file: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("open audit file: %w", err)
	}
	at, ok := file.(io.ReaderAt)
	if !ok {
		return fmt.Errorf("audit file %s cannot be read at an offset", FileOf(day))
	}
	return read(at, info.Size())
}

// readRange returns the bytes between two offsets, fewer if the file was truncated meanwhile.
func readRange(file io.ReaderAt, from, to int64) ([]byte, error) {
	text := make([]byte, to-from)
	n, err := file.ReadAt(text, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read audit file: %w", err)
	}
	return text[:n], nil
}

// splitLines splits text, which begins at a place, into its lines. A last line without a
// newline counts if the file ends there and the line is sealed.
func splitLines(text []byte, place int64, atEnd bool) []Line {
	lines := make([]Line, 0, len(text)/256+1)
	for len(text) > 0 {
		line, rest, whole := bytes.Cut(text, []byte{'\n'})
		if !whole {
			if _, _, _, sealed := split(line); !atEnd || !sealed {
				break
			}
		}
		next := place + int64(len(line)) + 1
		lines = append(lines, Line{place, next, line})
		text, place = rest, next
	}
	return lines
}
