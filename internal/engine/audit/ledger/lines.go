package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
)

// Line is one line of a day's file. Places grow from line to line, and what stands at
// one never changes.
type Line struct {
	Place int64 // where it begins
	Next  int64 // where the next one will begin
	Text  []byte
}

// Lines is what the file of a day can do if it is no plain file: give lines from a
// place on, in either direction, some at a time.
type Lines interface {
	// From gives lines at a place and after it, oldest first; none at the end.
	From(place int64) ([]Line, error)
	// Before gives lines that end before a place, newest first; none at the beginning.
	Before(place int64) ([]Line, error)
}

// linesOf opens the file of a day.
func linesOf(dir fs.FS, name string) (Lines, io.Closer, error) {
	file, err := dir.Open(name)
	if err != nil {
		return nil, nil, fmt.Errorf("open audit file: %w", err)
	}
	if lines, ok := file.(Lines); ok {
		return lines, file, nil
	}
	info, err := file.Stat()
	if at, ok := file.(io.ReaderAt); ok && err == nil {
		return plainFile{at, info.Size(), pieceSize}, file, nil
	}
	_ = file.Close() // nothing was read
	return nil, nil, errors.Join(fmt.Errorf("audit file %s cannot be read from a place", name), err)
}

// plainFile is a file in which the place of a line is its first byte.
type plainFile struct {
	file  io.ReaderAt
	size  int64
	piece int64 // how much is read at once
}

const (
	pieceSize = 256 << 10
	longest   = 32 * pieceSize // a longer line is no record, and is passed over piece by piece
)

// From keeps the promise of Lines. A last line without an end is still being written,
// or was torn, and is left out.
func (f plainFile) From(place int64) ([]Line, error) {
	for size := f.piece; ; size *= 2 {
		text, err := f.read(place, min(place+size, f.size))
		if err != nil {
			return nil, err
		}
		end := int64(bytes.LastIndexByte(text, '\n') + 1)
		switch {
		case end > 0:
			return split(text[:end], place), nil
		case place+size >= f.size:
			return nil, nil
		case size >= longest:
			return []Line{{place, place + size, nil}}, nil
		}
	}
}

// Before keeps the promise of Lines.
func (f plainFile) Before(place int64) ([]Line, error) {
	place = min(place, f.size)
	for size := f.piece; place > 0; size *= 2 {
		start := max(place-size, 0)
		text, err := f.read(start, place)
		if err != nil {
			return nil, err
		}
		text = text[:bytes.LastIndexByte(text, '\n')+1] // what was torn ends in none
		skip := 0
		if start > 0 {
			skip = bytes.IndexByte(text, '\n') + 1 // it began earlier
		}
		switch {
		case skip < len(text):
			lines := split(text[skip:], start+int64(skip))
			slices.Reverse(lines)
			return lines, nil
		case start == 0:
			return nil, nil
		case size >= longest:
			return []Line{{start, place, nil}}, nil
		}
	}
	return nil, nil
}

// read gives the bytes between two places. What was cut off meanwhile is missing.
func (f plainFile) read(from, to int64) ([]byte, error) {
	if to <= from {
		return nil, nil
	}
	text := make([]byte, to-from)
	n, err := f.file.ReadAt(text, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read audit file: %w", err)
	}
	return text[:n], nil
}

// split takes whole lines apart, of which the first begins at a place.
func split(text []byte, place int64) []Line {
	lines := make([]Line, 0, len(text)/256+1)
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte{'\n'})
		next := place + int64(len(line)) + 1
		lines = append(lines, Line{place, next, line})
		text, place = rest, next
	}
	return lines
}
