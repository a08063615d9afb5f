package tree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

// Read reads a file into the buffer that alloc returns for its size. The buffer must be at least
// one byte longer than that. If alloc returns nil, nothing is read and data is nil. Read follows no
// links anywhere in the path, and reads regular files only. If the file grows or shrinks meanwhile,
// Read returns what was there, and the next Update reports the file.
func (t *Tree) Read(f *File, alloc func(size int64) []byte) (data []byte, err error) {
	h, size, err := t.open(f)
	if err != nil {
		return nil, err
	}
	defer h.close()
	data = alloc(size)
	if data == nil {
		return nil, nil
	}
	n, err := fill(h, data[:size])
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: f.Path, Err: err}
	}
	return data[:n], nil
}

// Open opens a file for reading in pieces. It follows the same rules as Read.
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

// Modified returns when the content of a file was changed last, or the zero time if it is gone.
func (t *Tree) Modified(path string) time.Time {
	t.rootMu.RLock()
	defer t.rootMu.RUnlock()
	if t.closed {
		return time.Time{}
	}
	st, err := t.rootHandle.lstat(path)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(0, st.modified)
}

// Unlisted calls found with every folder that the last Update could not list, and why.
func (t *Tree) Unlisted(found func(path string, err error)) {
	t.update.Lock()
	defer t.update.Unlock()
	var visit func(f *folder)
	visit = func(f *folder) {
		if f.fault != nil {
			found(strings.TrimSuffix(string(f.path(nil)), "/"), f.fault)
		}
		for _, child := range f.folders {
			visit(child)
		}
	}
	visit(t.root)
}

// reading is the stamp of a file that is being opened. If another reader's Update runs between the
// stat of the file and the store of its stamp, it sees this value and reports the file.
const reading = racy | 2

// open opens a file and records its stamp before anything is read.
func (t *Tree) open(f *File) (h handle, size int64, err error) {
	t.rootMu.RLock()
	defer t.rootMu.RUnlock()
	if t.closed {
		return h, 0, fs.ErrClosed
	}
	noted := &f.stamps[t.slot]
	noted.Store(reading)
	now := t.now()
	h, err = t.rootHandle.file(f.Path)
	if err != nil {
		t.stampUnreadable(f)
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

// stampUnreadable records the stamp of a file that cannot be opened, so that a change to it is
// reported. If the file has no status either, every Update that checks it reports it.
func (t *Tree) stampUnreadable(f *File) {
	noted := racy | 1
	now := t.now()
	if st, err := t.rootHandle.lstat(f.Path); err == nil {
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
