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

// watcher hears from the kernel what is done in folders. Nothing runs for it: what happened before drain is called is in the queue
// when it reads that.
type watcher struct {
	fd     int
	limit  int
	buffer []byte

	mu      sync.Mutex // guards the rest
	folders map[int32]*folder
	rivals  [][2]*folder // folders with the same watch
	err     error
}

// watched are the events that tell of names that come or go, and of files that are written.
const watched = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MODIFY | unix.IN_CLOSE_WRITE | unix.IN_ATTRIB | unix.IN_MOVED_FROM | unix.IN_MOVED_TO |
	unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR | unix.IN_EXCL_UNLINK

// newWatcher gives a watcher for at most so many folders.
func newWatcher(p *place, limit int) (*watcher, error) {
	if p.root.remote() {
		return nil, errRemote
	}
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("begin to watch: %w", err)
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

// add watches a folder that is open, and tells whether it was not watched before. The kernel gives the watch it has if the folder
// was moved, and the folder that had it is to be looked at by its parent.
func (w *watcher) add(f *folder, h handle) bool {
	if !w.hasRoom(f) {
		return false
	}
	// The path of the descriptor leads to the very folder, however long its own path is and whatever became of that.
	got, err := unix.InotifyAddWatch(w.fd, "/proc/self/fd/"+strconv.Itoa(int(h)), watched)
	if err != nil {
		w.fail(fmt.Errorf("watch a folder: %w", err))
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	watch := int32(got)
	if other := w.folders[watch]; other != nil && other != f {
		w.rivals = append(w.rivals, [2]*folder{other, f})
	}
	fresh := watch != f.watch
	if fresh && w.folders[f.watch] == f {
		delete(w.folders, f.watch)
	}
	w.folders[watch], f.watch = f, watch
	return fresh
}

// hasRoom tells whether a folder may be watched.
func (w *watcher) hasRoom(f *folder) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil && f.watch == 0 && len(w.folders) >= w.limit {
		w.err = errTooMany
	}
	return w.err == nil
}

// drop ends the watch of a folder, unless that has become another's.
func (w *watcher) drop(f *folder) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f.watch != 0 && w.folders[f.watch] == f {
		delete(w.folders, f.watch)
		_, _ = unix.InotifyRmWatch(w.fd, uint32(f.watch)) // it fails if the kernel was first
	}
	f.watch = 0
}

// fail notes why watching is of no use.
func (w *watcher) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
}

// failure tells why watching is of no use, if it is not. After a whole walk two folders that share a watch are one folder with two
// paths, of which the kernel tells one.
func (w *watcher) failure(whole bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !whole || w.err != nil {
		return w.err
	}
	for _, pair := range w.rivals {
		if !pair[0].gone && !pair[1].gone && pair[0].watch == pair[1].watch {
			return errTwice
		}
	}
	w.rivals = nil
	return nil
}

// drain gives what happened until now. whole is false if some of it was lost.
func (w *watcher) drain(each func(event)) (whole bool, err error) {
	waiting, err := unix.IoctlGetInt(w.fd, unix.TIOCINQ)
	if err != nil {
		return false, fmt.Errorf("ask for events: %w", err)
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

// parse takes events apart: watch, mask, cookie, length of the name, name.
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
			continue // of a watch that was dropped
		}
		lost := mask&(unix.IN_IGNORED|unix.IN_UNMOUNT) != 0
		if lost {
			delete(w.folders, watch)
			f.watch = 0
		}
		each(event{
			folder: f, name: string(name), lost: lost,
			within:  mask&unix.IN_ISDIR != 0,
			entries: mask&(unix.IN_CREATE|unix.IN_DELETE|unix.IN_MOVED_FROM|unix.IN_MOVED_TO) != 0,
		})
	}
	return whole
}
