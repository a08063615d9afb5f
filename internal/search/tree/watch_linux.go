package tree

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// watcher receives the kernel's events for folders (inotify). It needs no goroutine: events that
// precede a call of drain are in the kernel's queue when drain reads it.
type watcher struct {
	fd     int
	limit  int
	buffer []byte

	mu         sync.Mutex // guards the fields below
	folders    map[int32]*folder
	duplicates [][2]*folder // pairs of folders with the same watch
	err        error
}

// watched is the mask of events for names that are added or removed, and for files that are
// written.
const watched = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MODIFY | unix.IN_CLOSE_WRITE | unix.IN_ATTRIB | unix.IN_MOVED_FROM | unix.IN_MOVED_TO |
	unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR | unix.IN_EXCL_UNLINK

// newWatcher returns a watcher for at most limit folders.
func newWatcher(p *rootHandle, limit int) (*watcher, error) {
	if p.root.remote() {
		return nil, errRemote
	}
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("start watching: %w", err)
	}
	return &watcher{fd: fd, limit: limit, folders: map[int32]*folder{}, buffer: make([]byte, 64<<10)}, nil
}

// close ends all watches.
func (w *watcher) close() {
	_ = unix.Close(w.fd)
	for _, f := range w.folders {
		f.watch = 0
	}
}

// add watches an open folder, and reports whether it was not watched before. If the folder was
// moved, the kernel returns its existing watch, and the visit of its old parent finds that it is
// gone from there.
func (w *watcher) add(f *folder, h handle) bool {
	if !w.canAdd(f) {
		return false
	}
	// The path of the descriptor always leads to the open folder, however long its own path is and
	// even if it was moved.
	got, err := unix.InotifyAddWatch(w.fd, "/proc/self/fd/"+strconv.Itoa(int(h)), watched)
	if err != nil {
		w.fail(fmt.Errorf("watch folder: %w", err))
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	watch := int32(got)
	if other := w.folders[watch]; other != nil && other != f {
		w.duplicates = append(w.duplicates, [2]*folder{other, f})
	}
	fresh := watch != f.watch
	if fresh && w.folders[f.watch] == f {
		delete(w.folders, f.watch)
	}
	w.folders[watch], f.watch = f, watch
	return fresh
}

// canAdd reports whether a folder may be watched.
func (w *watcher) canAdd(f *folder) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil && f.watch == 0 && len(w.folders) >= w.limit {
		w.err = errTooMany
	}
	return w.err == nil
}

// drop ends the watch of a folder, unless another folder has taken it over.
func (w *watcher) drop(f *folder) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f.watch != 0 && w.folders[f.watch] == f {
		delete(w.folders, f.watch)
		// Fails if the kernel has removed it already.
		_, _ = unix.InotifyRmWatch(w.fd, uint32(f.watch))
	}
	f.watch = 0
}

// fail records why watching is impossible.
func (w *watcher) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
}

// failure returns the reason why watching is impossible, or nil. After a complete walk, two folders
// with the same watch are one folder with two paths, and the kernel reports only one of them.
func (w *watcher) failure(whole bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !whole || w.err != nil {
		return w.err
	}
	for _, pair := range w.duplicates {
		if !pair[0].gone && !pair[1].gone && pair[0].watch == pair[1].watch {
			return errDuplicate
		}
	}
	w.duplicates = nil
	return nil
}

// drain passes all events up to now to each. whole is false if events were lost.
func (w *watcher) drain(each func(event)) (whole bool, err error) {
	waiting, err := unix.IoctlGetInt(w.fd, unix.TIOCINQ)
	if err != nil {
		return false, fmt.Errorf("count events: %w", err)
	}
	whole = true
	for waiting > 0 {
		n, err := unix.Read(w.fd, w.buffer)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return whole, nil
		case err != nil:
			return false, fmt.Errorf("read events: %w", err)
		}
		waiting -= n
		whole = w.parse(w.buffer[:n], each) && whole
	}
	return whole, nil
}

// parse parses events: watch, mask, cookie, length of the name, name.
func (w *watcher) parse(data []byte, each func(event)) (whole bool) {
	whole = true
	for len(data) >= unix.SizeofInotifyEvent {
		watch, mask := int32(binary.NativeEndian.Uint32(data)), binary.NativeEndian.Uint32(data[4:])
		end := min(unix.SizeofInotifyEvent+int(binary.NativeEndian.Uint32(data[12:])), len(data))
		name, _, _ := bytes.Cut(data[unix.SizeofInotifyEvent:end], []byte{0})
		data = data[end:]
		if mask&unix.IN_Q_OVERFLOW != 0 {
			whole = false
			continue
		}
		f := w.folders[watch]
		if f == nil {
			continue // the watch was dropped
		}
		lost := mask&(unix.IN_IGNORED|unix.IN_UNMOUNT) != 0
		if lost {
			delete(w.folders, watch)
			f.watch = 0
		}
		each(event{
			folder: f, name: string(name), lost: lost,
			isFolder: mask&unix.IN_ISDIR != 0,
			entries:  mask&(unix.IN_CREATE|unix.IN_DELETE|unix.IN_MOVED_FROM|unix.IN_MOVED_TO) != 0,
		})
	}
	return whole
}
