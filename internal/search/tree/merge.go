package tree

import (
	"strings"
)

// mergeFiles takes over the files that were listed.
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
		next = w.place(next, w.files[:fresh], len(w.text))
	}
	f.files = next
}

// place makes files of what is new, in the gaps of next. Their paths are parts of one string, which is the one that was judged if
// most of that is needed.
func (w *worker) place(next []*File, fresh []entry, judged int) []*File {
	size := 0
	for _, e := range fresh {
		size += len(e.path)
	}
	if size < judged/4*3 {
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

// Paths that are longer than systems take in one call exist, in trees that are very deep. They are listed while there is room.
const (
	longPath = 4096
	longRoom = 64 << 20
)

func (w *worker) fits(path string) bool {
	if len(path) <= longPath || w.t.long.Add(int64(len(path))) <= longRoom {
		return true
	}
	w.t.long.Add(-int64(len(path)))
	w.t.o.Log.Debug("file is left out: its path is too long", "bytes", len(path))
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

// mergeFolders takes over the folders that were listed. New ones are to be walked.
func (w *worker) mergeFolders(f *folder) {
	start, old := len(w.path), f.folders
	next, kept := make([]*folder, 0, len(w.folders)), 0
	for _, e := range w.folders {
		name := e.path[start:]
		for ; kept < len(old) && old[kept].name < name; kept++ {
			w.forget(old[kept])
		}
		var c *folder
		if kept < len(old) && old[kept].name == name {
			c = old[kept]
			kept++
		} else {
			c = f.add(name)
			c.todo = list | deep
		}
		c.tracked = e.tracked // if it differs, so do the rules, and all that is beneath is listed again
		next = append(next, c)
	}
	for _, gone := range old[kept:] {
		w.forget(gone)
	}
	f.folders = next
}

// forget takes a folder out of the tree, with all that is beneath.
func (w *worker) forget(f *folder) {
	w.empty(f)
	f.gone = true
	if w.t.watch != nil {
		w.t.watch.drop(f)
	}
	w.named(f)
}

// empty takes all that is in a folder out of the tree.
func (w *worker) empty(f *folder) {
	for _, file := range f.files {
		w.remove(file)
	}
	for _, c := range f.folders {
		w.forget(c)
	}
	f.files, f.folders = nil, nil
}
