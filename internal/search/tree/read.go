package tree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Read reads a file into the memory that room gives for its size, which must be one byte more at least; if that is nil, nothing is read
// and data is nil. No link is followed, wherever in the path it is, and only regular files are read. A file that grows or shrinks
// meanwhile gives what was there, and is reported by the next Update.
func (t *Tree) Read(f *File, room func(size int64) []byte) (data []byte, err error) {
	h, size, err := t.open(f)
	if err != nil {
		return nil, err
	}
	defer h.close()
	data = room(size)
	if data == nil {
		return nil, nil
	}
	n, err := fill(h, data[:size])
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: f.Path, Err: err}
	}
	return data[:n], nil
}

// Open opens a file to read it in pieces, as Read does.
func (t *Tree) Open(f *File) (*os.File, error) {
	h, _, err := t.open(f)
	if err != nil {
		return nil, err
	}
	file, err := h.file(f.Path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", f.Path, err)
	}
	return file, nil
}

// reading is the stamp of a file that is being opened: an Update of another reader may come between the look at the file and the note of
// its stamp, and then reports it.
const reading = racy | 2

// open opens a file and notes its stamp, before anything is read.
func (t *Tree) open(f *File) (h handle, size int64, err error) {
	t.home.RLock()
	defer t.home.RUnlock()
	if t.closed {
		return h, 0, fs.ErrClosed
	}
	noted := &f.stamps[t.slot]
	noted.Store(reading)
	now := t.now()
	h, err = t.place.file(f.Path)
	if err != nil {
		t.noteRefusal(f)
		return h, 0, &fs.PathError{Op: "open", Path: f.Path, Err: err}
	}
	st, err := h.stat()
	if err == nil {
		noted.CompareAndSwap(reading, st.stamp(now, t.tick()))
		if st.kind != regular {
			err = ErrIrregular
		}
	}
	if err != nil {
		h.close()
		return h, 0, &fs.PathError{Op: "open", Path: f.Path, Err: err}
	}
	return h, st.size, nil
}

// noteRefusal notes the stamp of a file that cannot be read, so that a change to it is reported. Where even that is refused, every
// Update that looks reports it.
func (t *Tree) noteRefusal(f *File) {
	noted := racy | 1
	now := t.now()
	if st, err := t.place.lstat(f.Path); err == nil {
		noted = st.stamp(now, t.tick())
	}
	f.stamps[t.slot].CompareAndSwap(reading, noted)
}

// fill reads until data is full or the file ends.
func fill(h handle, data []byte) (n int, err error) {
	for n < len(data) {
		more, err := h.read(data[n:])
		n += more
		if errors.Is(err, io.EOF) || err == nil && more == 0 {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
