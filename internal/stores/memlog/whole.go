package memlog

import (
	"bytes"
	"io"
	"os"
	"time"
)

const (
	chunkSize = 64 << 10
	markSize  = 256
)

// whole describes the whole lines at the start of a file, so that only what came
// after them must be read. The zero value is true of any file.
type whole struct {
	size  int64 // of all of them, newlines included
	lines int64
	last  int64 // where the last of them starts

	// Signs by which an edit in place is noticed: the bytes before size, and the
	// time of the last change.
	mark    []byte
	changed time.Time
}

// stillIn tells whether the file still starts with these lines. A file that grew
// is taken to have been appended to if the bytes where it used to end are the
// same: anything put in or taken out before them would have shifted them. One
// that shrank has no such bytes.
func (w *whole) stillIn(f io.ReaderAt, now os.FileInfo) bool {
	if now.Size() == w.size && !now.ModTime().Equal(w.changed) {
		return false
	}
	var found [markSize]byte
	mark := found[:len(w.mark)]
	err := readFull(f, mark, w.size-int64(len(mark)))
	return err == nil && bytes.Equal(mark, w.mark)
}

// extend takes in the whole lines between size and end, a chunk at a time.
func (w *whole) extend(f io.ReaderAt, end int64) error {
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

func (w *whole) takeMark(f io.ReaderAt) error {
	w.mark = append(w.mark[:0], make([]byte, min(w.size, markSize))...)
	return readFull(f, w.mark, w.size-int64(len(w.mark)))
}

// count takes in the lines that end within chunk, which starts at offset at.
func (w *whole) count(chunk []byte, at int64) {
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

// stamp records that the file as it is now is known.
func (w *whole) stamp(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	w.changed = info.ModTime()
	return nil
}

// readFull fills p from offset at; to find the file shorter than that is an error.
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
