package memlog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"remit/internal/contract"
	"remit/internal/toolsets/learning"
)

// Reader opens the files of a log for reading.
type Reader interface {
	// OpenRead opens name if policy allows it. It never follows a symlink. The error is a
	// contract.Error that says why the file cannot be read.
	OpenRead(name string, policy *contract.PathPolicy) (*os.File, error)
}

// open opens a file for reading. That it is missing counts only if its folder is the right one.
func (m *Memory) open(file string, policy *contract.PathPolicy) (*os.File, error) {
	name := path.Join(m.Folder, file)
	f, err := m.Reader.OpenRead(name, policy)
	if err == nil || m.Place == nil || !isMissing(err) {
		return f, err
	}
	if err := m.Place.Before(false); err != nil {
		return nil, err
	}
	return m.Reader.OpenRead(name, policy) // the folder may have come back only now
}

// Stat implements learning.Memory.
func (m *Memory) Stat(_ context.Context, file string, policy *contract.PathPolicy) (fs.FileInfo, error) {
	f, err := m.open(file, policy)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Stat()
}

// Tail implements learning.Memory.
func (m *Memory) Tail(_ context.Context, file string, policy *contract.PathPolicy, limit int64) (learning.Tail, error) {
	f, err := m.open(file, policy)
	if err != nil {
		return learning.Tail{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return learning.Tail{}, fmt.Errorf("stat %s: %w", file, err)
	}
	text, before, err := endOf(f, info.Size(), limit)
	if err != nil {
		return learning.Tail{}, fmt.Errorf("read %s: %w", file, err)
	}
	if formatOf(file) == JSONLines {
		text = finished(text)
	}
	return learning.Tail{Text: text, Before: before}, nil
}

// endOf reads the last lines that fit into limit bytes, and returns how many bytes precede them.
func endOf(r io.ReaderAt, size, limit int64) (text []byte, before int64, err error) {
	start := max(size-limit-1, 0) // the byte before tells whether a line begins there
	buf := make([]byte, size-start)
	n, err := r.ReadAt(buf, start)
	if err != nil && !errors.Is(err, io.EOF) { // a torn line may have been cut off meanwhile
		return nil, 0, err
	}
	buf = buf[:n]
	if size <= limit {
		return buf, 0, nil
	}
	cut := bytes.IndexByte(buf, '\n') + 1
	if cut == 0 {
		cut = len(buf) // one very long line
	}
	return buf[cut:], start + int64(cut), nil
}

// finished removes a last line that is still being written, or was torn. A last line that is valid
// JSON only lacks its newline, and stays.
func finished(text []byte) []byte {
	end := bytes.LastIndexByte(text, '\n') + 1
	if json.Valid(text[end:]) {
		return text
	}
	return text[:end]
}
