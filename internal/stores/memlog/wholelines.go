package memlog

import (
	"bytes"
	"io"
	"os"
	"slices"
	"time"
)

const (
	chunkSize = 64 << 10
	markSize  = 256
	maxMark   = 4 << 10
)

// wholeLines describes the complete lines at the start of a file, so that only what follows them
// must be read. The zero value is valid for any file.
type wholeLines struct {
	size  int64 // total size, including newlines
	lines int64
	last  int64 // offset of the last of them

	// mark and changed reveal an edit in place: they are the bytes before size, with the last line
	// unless it is very long, and the time of the last change.
	mark    []byte
	changed time.Time
}

// stillIn reports whether the file still starts with these lines. If the file grew and the bytes at
// its old end are unchanged, it counts as appended to: an insertion or removal before them would
// have moved them. If it shrank, those bytes are gone.
func (w *wholeLines) stillIn(f io.ReaderAt, now os.FileInfo) bool {
	if now.Size() == w.size && !now.ModTime().Equal(w.changed) {
		return false
	}
	mark := make([]byte, len(w.mark))
	err := readFull(f, mark, w.size-int64(len(mark)))
	return err == nil && bytes.Equal(mark, w.mark)
}

// extend adds the complete lines between size and end, one chunk at a time.
func (w *wholeLines) extend(f io.ReaderAt, end int64) error {
	if end == w.size {
		return nil
	}
	chunk := make([]byte, min(end-w.size, chunkSize))
	for at := w.size; at < end; at += int64(len(chunk)) {
		chunk = chunk[:min(end-at, int64(len(chunk)))]
		if err := readFull(f, chunk, at); err != nil {
			return err
		}
		w.count(chunk, at)
	}
	return w.takeMark(f)
}

func (w *wholeLines) takeMark(f io.ReaderAt) error {
	w.mark = append(w.mark[:0], make([]byte, w.markLength())...)
	return readFull(f, w.mark, w.size-int64(len(w.mark)))
}

func (w *wholeLines) markLength() int64 {
	return min(w.size, maxMark, max(markSize, w.size-w.last))
}

// append adds whole lines that were written after the others.
func (w *wholeLines) append(lines []byte) {
	w.count(lines, w.size)
	length := int(w.markLength())
	if length > len(lines) {
		lines = append(slices.Clone(w.mark), lines...)
	}
	w.mark = append(w.mark[:0], lines[len(lines)-length:]...)
}

// count adds the lines that end within chunk, which starts at offset at.
func (w *wholeLines) count(chunk []byte, at int64) {
	n := bytes.Count(chunk, []byte{'\n'})
	if n == 0 {
		return
	}
	end := bytes.LastIndexByte(chunk, '\n')
	w.lines += int64(n)
	w.last = w.size
	if before := bytes.LastIndexByte(chunk[:end], '\n'); before >= 0 {
		w.last = at + int64(before) + 1
	}
	w.size = at + int64(end) + 1
}

// readFull fills p from offset at. It returns an error if the file is shorter.
func readFull(f io.ReaderAt, p []byte, at int64) error {
	n, err := f.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
