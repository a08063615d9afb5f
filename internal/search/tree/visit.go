package tree

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"time"
)

// worker visits folders, one after the other.
type worker struct {
	*run
	change  Change
	changed [maxReaders][]*File // by reader
	path    []byte              // of the folder that is visited, with a slash at its end
	listing
}

// do visits a folder, or looks at some of its files.
func (w *worker) do(j job) error {
	f := j.folder
	if f.gone {
		return nil
	}
	w.path = f.path(w.path[:0])
	if j.files != nil {
		return w.again(f, j.files)
	}
	do := j.do | f.todo
	f.todo = 0
	if do == 0 {
		return nil
	}
	done, err := w.visit(f, do)
	if err != nil {
		f.todo |= do
		return err
	}
	if w.size() >= batch {
		w.flush()
	}
	w.descend(f, done)
	return nil
}

// visit does what there is to do in one folder, and tells what that came to be.
func (w *worker) visit(f *folder, do todo) (todo, error) {
	now := w.t.now()
	h, err := w.t.place.folder(strings.TrimSuffix(string(w.path), "/"))
	if err != nil {
		return do, w.refused(f, err)
	}
	defer h.close()
	st, err := h.stat()
	if err != nil {
		return do, w.refused(f, err)
	}
	if f.repo == nil {
		do |= list | deep
	}
	if st.identity != f.id {
		do |= list | deep | stat
		w.arrive(f, h, st.identity)
	}
	do |= w.observe(f, h, do)
	if do&look != 0 && do&list == 0 && w.stale(f, h, &st) {
		do |= list
	}
	if do&list != 0 {
		if do, err = w.list(f, h, do); err != nil {
			return do, w.refused(f, err)
		}
		f.stamp = st.stamp(now, w.t.tick())
	}
	w.compare(f, h, do)
	return do, nil
}

// refused takes away what was in a folder that cannot be listed now. What has vanished is left to the visit to its parent.
func (w *worker) refused(f *folder, err error) error {
	switch {
	case exhausted(err):
		return &fs.PathError{Op: "list", Path: string(w.path), Err: err}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP):
		return nil
	}
	w.t.o.Log.Debug("folder is left out", "path", string(w.path), "err", err)
	w.empty(f)
	f.stamp, f.id = 0, identity{}
	return nil
}

// arrive notes that a folder is another one than before, or is seen for the first time.
func (w *worker) arrive(f *folder, h handle, id identity) {
	f.id = id
	if w.t.watch != nil {
		w.t.watch.drop(f)
	}
	if f.parent != nil && f.parent.id.device != id.device && h.remote() {
		w.t.distant.Store(true)
		if w.t.watch != nil {
			w.t.watch.fail(errRemote)
		}
	}
}

// observe sees to it that the folder is watched. If it was not, it has to be listed from now on.
func (w *worker) observe(f *folder, h handle, do todo) todo {
	if w.t.watch == nil || f.watch != 0 && do&deep == 0 {
		return 0
	}
	if w.t.watch.add(f, h) {
		return list
	}
	return 0
}

// stale tells whether the folder's names, or its rules, may differ from what was listed.
func (w *worker) stale(f *folder, h handle, st *status) bool {
	if !st.same(f.stamp) {
		return true
	}
	if f.ignore == 0 {
		return false
	}
	rules, err := h.lstat(gitignore)
	return err != nil || !rules.same(f.ignore)
}

// descend adds the jobs that follow from the visit to a folder.
func (w *worker) descend(f *folder, done todo) {
	down := done & look
	if done&deep != 0 {
		down |= list | deep | done&stat
	}
	jobs := make([]job, 0, 64)
	for _, c := range f.folders {
		if down|c.todo != 0 {
			jobs = append(jobs, job{folder: c, do: down})
		}
	}
	if len(jobs) > 0 {
		w.push(jobs...)
	}
}

// many is how many files are looked at in one job.
const many = 4096

// compare looks at the files that were read: all of them, or those that an event named.
func (w *worker) compare(f *folder, h handle, do todo) {
	names := w.named(f)
	start := f.start()
	if do&(look|stat) == 0 {
		for name := range names {
			if file := f.file(name); file != nil {
				w.look(h, file, start)
			}
		}
		return
	}
	files := f.files
	for ; w.wake != nil && len(files) > many; files = files[many:] {
		w.push(job{folder: f, files: files[:many]})
	}
	for _, file := range files {
		w.look(h, file, start)
	}
}

// named takes the names that events told of.
func (w *worker) named(f *folder) map[string]struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := w.t.touched[f]
	delete(w.t.touched, f)
	return names
}

// again looks at some files of a folder that was visited before.
func (w *worker) again(f *folder, files []*File) error {
	h, err := w.t.place.folder(strings.TrimSuffix(string(w.path), "/"))
	if err != nil {
		if exhausted(err) {
			return err
		}
		return nil
	}
	defer h.close()
	for _, file := range files {
		w.look(h, file, f.start())
	}
	return nil
}

// look compares a file with the stamps it had when it was read. A stamp is taken away by the one who reports the change; a read
// that notes another one meanwhile is compared as well.
func (w *worker) look(h handle, file *File, start int) {
	var st status
	var err error
	asked := false
	for slot := range file.stamps {
		stamp := &file.stamps[slot]
		for noted := stamp.Load(); noted != 0; noted = stamp.Load() {
			if !asked {
				st, err = h.lstat(file.Path[start:])
				asked = true
			}
			if err == nil && st.same(noted) {
				break
			}
			if stamp.CompareAndSwap(noted, 0) {
				w.changed[slot] = append(w.changed[slot], file)
				break
			}
			asked = false
		}
	}
}

// tick is the time within which two writes may leave the same stamp.
func (t *shared) tick() time.Duration {
	if t.distant.Load() {
		return coarse
	}
	return t.place.tick
}
