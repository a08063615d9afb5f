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
	path    []byte              // path of the visited folder, with a slash at its end
	listing
}

// do visits a folder, or checks some of its files.
func (w *worker) do(j job) error {
	f := j.folder
	if f.gone {
		return nil
	}
	w.path = f.path(w.path[:0])
	if j.files != nil {
		return w.checkFiles(f, j.files)
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

// visit does the tasks in one folder, and returns them, extended by those that arose.
func (w *worker) visit(f *folder, do todo) (todo, error) {
	now := w.t.now()
	h, err := w.t.rootHandle.folder(strings.TrimSuffix(string(w.path), "/"))
	if err != nil {
		return do, w.handleListError(f, err)
	}
	defer h.close()
	st, err := h.stat()
	if err != nil {
		return do, w.handleListError(f, err)
	}
	f.fault = nil
	if f.repo == nil {
		do |= list | deep
	}
	if st.identity != f.id {
		do |= list | deep | stat
		w.setIdentity(f, h, st.identity)
	}
	do |= w.ensureWatched(f, h, do)
	known := len(w.change.Added)
	if do&check != 0 && do&list == 0 && w.stale(f, h, &st) {
		do |= list
	}
	if do&list != 0 {
		if do, err = w.list(f, h, do); err != nil {
			return do, w.handleListError(f, err)
		}
		f.stamp = st.stamp(now, w.t.tick())
	}
	w.compare(f, h, do)
	w.statAdded(h, w.change.Added[known:], f.start())
	return do, nil
}

// handleListError removes the contents of a folder that cannot be listed. If the folder itself is
// gone, it leaves that to the visit of its parent.
func (w *worker) handleListError(f *folder, err error) error {
	switch {
	case exhausted(err):
		return &fs.PathError{Op: "list", Path: string(w.path), Err: err}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP):
		return nil
	}
	w.t.o.Log.Debug("cannot list folder; it is left out", "path", string(w.path), "err", err)
	w.removeContents(f)
	f.stamp, f.id, f.fault = 0, identity{}, err
	return nil
}

// setIdentity records that a folder is another one than before, or new.
func (w *worker) setIdentity(f *folder, h handle, id identity) {
	f.id = id
	if w.t.watch != nil {
		w.t.watch.drop(f)
	}
	if f.parent != nil && f.parent.id.device != id.device && h.remote() {
		w.t.hasRemote.Store(true)
		if w.t.watch != nil {
			w.t.watch.fail(errRemote)
		}
	}
}

// ensureWatched adds a watch to the folder. If it had none, the folder must be listed after that.
func (w *worker) ensureWatched(f *folder, h handle, do todo) todo {
	if w.t.watch == nil || f.watch != 0 && do&deep == 0 {
		return 0
	}
	if w.t.watch.add(f, h) {
		return list
	}
	return 0
}

// stale reports whether the folder's names, or its rules, may have changed since they were listed.
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

// descend adds jobs for the subfolders after the visit of a folder.
func (w *worker) descend(f *folder, done todo) {
	down := done & check
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

// maxFilesPerJob is the maximum number of files checked in one job.
const maxFilesPerJob = 4096

// compare checks the files that were read: all of them, or those that events named.
func (w *worker) compare(f *folder, h handle, do todo) {
	names := w.takeTouched(f)
	start := f.start()
	if do&(check|stat) == 0 {
		for name := range names {
			if file := f.file(name); file != nil {
				w.checkFile(h, file, start)
			}
		}
		return
	}
	files := f.files
	for ; w.wake != nil && len(files) > maxFilesPerJob; files = files[maxFilesPerJob:] {
		w.push(job{folder: f, files: files[:maxFilesPerJob]})
	}
	for _, file := range files {
		w.checkFile(h, file, start)
	}
}

// takeTouched removes and returns the names that events reported.
func (w *worker) takeTouched(f *folder) map[string]struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := w.t.touched[f]
	delete(w.t.touched, f)
	return names
}

// checkFiles checks some files of a folder that was visited before.
func (w *worker) checkFiles(f *folder, files []*File) error {
	h, err := w.t.rootHandle.folder(strings.TrimSuffix(string(w.path), "/"))
	if err != nil {
		if exhausted(err) {
			return err
		}
		return nil
	}
	defer h.close()
	for _, file := range files {
		w.checkFile(h, file, f.start())
	}
	return nil
}

// checkFile compares a file with the stamps it had when it was read. Whoever clears a stamp reports
// the change. If a read stores another stamp meanwhile, that is compared too.
func (w *worker) checkFile(h handle, file *File, start int) {
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

// tick returns the time within which two writes may have the same stamp.
func (t *shared) tick() time.Duration {
	if t.hasRemote.Load() {
		return coarseTick
	}
	return t.rootHandle.tick
}
