package tree

import (
	"strings"
)

// mergeFiles updates the folder's files from the listing.
func (w *worker) mergeFiles(f *folder) {
	start, old := f.start(), f.files
	next, fresh, kept := make([]*File, 0, len(w.files)), 0, 0
	for _, e := range w.files {
		for ; kept < len(old) && old[kept].Path[start:] < e.path[start:]; kept++ {
			w.remove(old[kept])
		}
		if kept < len(old) && old[kept].Path[start:] == e.path[start:] {
			known := old[kept]
			kept++
			if known.Link == (e.kind == symlink) {
				next = append(next, known)
				continue
			}
			w.remove(known)
		}
		w.files[fresh] = e
		fresh++
		next = append(next, nil)
	}
	for _, gone := range old[kept:] {
		w.remove(gone)
	}
	if fresh > 0 {
		next = w.makeFiles(next, w.files[:fresh], len(w.text))
	}
	f.files = next
}

// makeFiles fills the gaps in next with the new files. Their paths are substrings of one string:
// the listing's own if most of it is needed.
func (w *worker) makeFiles(next []*File, fresh []entry, total int) []*File {
	size := 0
	for _, e := range fresh {
		size += len(e.path)
	}
	if size < total/4*3 {
		var b strings.Builder
		b.Grow(size)
		for _, e := range fresh {
			b.WriteString(e.path)
		}
		packed, from := b.String(), 0
		for i, e := range fresh {
			fresh[i].path = packed[from : from+len(e.path)]
			from += len(e.path)
		}
	}
	files, used, kept := make([]File, len(fresh)), 0, next[:0]
	for _, file := range next {
		if file == nil {
			file = &files[used]
			file.Path, file.Link = fresh[used].path, fresh[used].kind == symlink
			used++
			if !w.fits(file.Path) {
				continue
			}
			w.change.Added = append(w.change.Added, file)
		}
		kept = append(kept, file)
	}
	return kept
}

// statAdded stats new files, if the reader wants that. A file that changes later has another stamp
// then; one that cannot be stat'ed is left for the reader to open.
func (w *worker) statAdded(h handle, added []*File, start int) {
	if !w.t.stats {
		return
	}
	for _, file := range added {
		now := w.t.now()
		st, err := h.lstat(file.Path[start:])
		if err != nil || st.kind != regular {
			continue
		}
		file.size, file.modified, file.statted = st.size, st.modified, true
		file.stamps[w.t.slot].Store(st.stamp(now, w.t.tick()))
	}
}

// In very deep trees, paths can be longer than system calls accept. They are listed up to a total
// size.
const (
	longPath     = 4096
	maxLongPaths = 64 << 20
)

func (w *worker) fits(path string) bool {
	if len(path) <= longPath || w.t.long.Add(int64(len(path))) <= maxLongPaths {
		return true
	}
	w.t.long.Add(-int64(len(path)))
	w.t.o.Log.Debug("path is too long; file is left out", "bytes", len(path))
	return false
}

// remove reports a file as removed.
func (w *worker) remove(file *File) {
	if len(file.Path) > longPath {
		w.t.long.Add(-int64(len(file.Path)))
	}
	for slot := range file.stamps {
		file.stamps[slot].Store(0)
	}
	w.change.Removed = append(w.change.Removed, file)
}

// mergeFolders updates the folder's subfolders from the listing. New ones are marked to be walked.
func (w *worker) mergeFolders(f *folder) {
	start, old := len(w.path), f.folders
	next, kept := make([]*folder, 0, len(w.folders)), 0
	for _, e := range w.folders {
		name := e.path[start:]
		for ; kept < len(old) && old[kept].name < name; kept++ {
			w.removeFolder(old[kept])
		}
		var c *folder
		if kept < len(old) && old[kept].name == name {
			c = old[kept]
			kept++
		} else {
			c = f.add(name)
			c.todo = list | deep
		}
		// If it differs, so do the rules, and everything below is listed again.
		c.tracked = e.tracked
		next = append(next, c)
	}
	for _, gone := range old[kept:] {
		w.removeFolder(gone)
	}
	f.folders = next
}

// removeFolder removes a folder and everything below it from the tree.
func (w *worker) removeFolder(f *folder) {
	w.removeContents(f)
	f.gone = true
	if w.t.watch != nil {
		w.t.watch.drop(f)
	}
	w.takeTouched(f)
}

// removeContents removes everything in a folder from the tree.
func (w *worker) removeContents(f *folder) {
	for _, file := range f.files {
		w.remove(file)
	}
	for _, c := range f.folders {
		w.removeFolder(c)
	}
	f.files, f.folders = nil, nil
}
