package ignore

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"sort"
	"strings"
)

// Tracked is the set of files that git tracks, by their paths from the root. A nil *Tracked is
// empty. It is safe for concurrent use.
type Tracked struct {
	fold bool     // the paths are folded
	text string   // the sorted paths, concatenated
	ends []uint32 // the end of each path in text
}

// Has reports whether the file with this path from the root is tracked.
func (t *Tracked) Has(path string) bool {
	if t == nil {
		return false
	}
	path = folded(path, t.fold)
	i := t.search(path)
	return i < len(t.ends) && t.path(i) == path
}

// Beneath reports whether the folder with this path from the root contains tracked files. "" is the
// root.
func (t *Tracked) Beneath(folder string) bool {
	if t == nil || folder == "" {
		return t.Len() > 0
	}
	prefix := folded(folder, t.fold) + "/"
	i := t.search(prefix)
	return i < len(t.ends) && strings.HasPrefix(t.path(i), prefix)
}

// Len returns the number of tracked files.
func (t *Tracked) Len() int {
	if t == nil {
		return 0
	}
	return len(t.ends)
}

func (t *Tracked) search(path string) int {
	return sort.Search(len(t.ends), func(i int) bool { return t.path(i) >= path })
}

func (t *Tracked) path(i int) string {
	start := uint32(0)
	if i > 0 {
		start = t.ends[i-1]
	}
	return t.text[start:t.ends[i]]
}

// same reports whether both contain the same files.
func (t *Tracked) same(other *Tracked) bool {
	if t.Len() == 0 || other.Len() == 0 {
		return t.Len() == other.Len()
	}
	return t.text == other.text && slices.Equal(t.ends, other.ends)
}

const (
	modeKind = 0o170000
	modeFile = 0o100000
	modeLink = 0o120000
	// Size of an entry before the object id: times, device, inode, mode, owner, size.
	entryHeader = 40
	entryMode   = 24
	extended    = 0x4000
)

// indexReader reads git's index of version 2, 3 or 4. It ignores extensions.
type indexReader struct {
	data    []byte
	at      int
	version uint32
	id      int // size of an object id
	name    []byte
	mode    uint32
}

// readIndex returns the files of an index that are in a folder, which must end with / unless it is
// "". It returns nil if the index is invalid. shared returns the content of a shared index that a
// split index refers to; files in either are tracked.
func readIndex(data []byte, id int, folder string, fold bool, shared func(name string) []byte) *Tracked {
	paths := pathList{fold: fold}
	rest, ok := paths.addIndex(data, id, folded(folder, fold))
	if !ok {
		return nil
	}
	if base := sharedIndex(rest, id); base != "" {
		if _, ok = paths.addIndex(shared("sharedindex."+base), id, folded(folder, fold)); !ok {
			return nil
		}
	}
	return paths.tracked()
}

// addIndex adds the files of an index, and returns what follows them. It returns false if the index
// is invalid.
func (l *pathList) addIndex(data []byte, id int, folder string) (rest []byte, ok bool) {
	r := indexReader{data: data, at: 12, id: id}
	if len(data) < r.at || string(data[:4]) != "DIRC" {
		return nil, false
	}
	r.version = binary.BigEndian.Uint32(data[4:])
	count := binary.BigEndian.Uint32(data[8:])
	if r.version < 2 || r.version > 4 || int64(count)*int64(entryHeader+id) > int64(len(data)) {
		return nil, false
	}
	for range count {
		if !r.next() {
			return nil, false
		}
		if kind := r.mode & modeKind; kind != modeFile && kind != modeLink {
			continue // a submodule, or a folder in a sparse index
		}
		if path, ok := cutFolder(r.name, folder, l.fold); ok && !l.add(path) {
			return nil, false
		}
	}
	return data[r.at:], true
}

// sharedIndex returns the name of the shared index that the extensions refer to, or "".
func sharedIndex(extensions []byte, id int) string {
	for len(extensions) >= 8+id {
		size := int64(binary.BigEndian.Uint32(extensions[4:]))
		if string(extensions[:4]) == "link" && size >= int64(id) {
			return hex.EncodeToString(extensions[8 : 8+id])
		}
		extensions = extensions[min(8+size, int64(len(extensions))):]
	}
	return ""
}

// next reads an entry. It returns false if the entry is invalid.
func (r *indexReader) next() bool {
	start := r.at
	header := entryHeader + r.id + 2
	if len(r.data)-start < header {
		return false
	}
	r.mode = binary.BigEndian.Uint32(r.data[start+entryMode:])
	flags := binary.BigEndian.Uint16(r.data[start+header-2:])
	if flags&extended != 0 && r.version > 2 {
		header += 2
	}
	r.at = min(start+header, len(r.data))
	if r.version < 4 {
		r.name = r.name[:0]
	} else if !r.cut() {
		return false
	}
	end := bytes.IndexByte(r.data[r.at:], 0)
	if end < 0 {
		return false
	}
	r.name = append(r.name, r.data[r.at:r.at+end]...)
	r.at += end + 1
	if r.version < 4 { // up to eight zeros pad the entry to a multiple of eight
		r.at = min(start+(r.at-start+7)/8*8, len(r.data))
	}
	return true
}

// cut removes as many bytes from the end of the previous name as an entry of version 4 says. The
// number is in git's variable-width encoding.
func (r *indexReader) cut() bool {
	size := 0
	for first := true; ; first = false {
		if r.at == len(r.data) || size > len(r.name) {
			return false
		}
		c := r.data[r.at]
		r.at++
		if !first {
			size++
		}
		size = size<<7 | int(c&0x7f)
		if c < 0x80 {
			break
		}
	}
	if size > len(r.name) {
		return false
	}
	r.name = r.name[:len(r.name)-size]
	return true
}

// cutFolder returns the path relative to a folder. The folder must already be folded.
func cutFolder(path []byte, folder string, fold bool) ([]byte, bool) {
	if fold {
		path = []byte(folded(string(path), true))
	}
	path, ok := bytes.CutPrefix(path, []byte(folder))
	return path, ok && len(path) > 0
}

// A pathList collects paths.
type pathList struct {
	fold     bool
	text     []byte
	ends     []uint32
	unsorted bool
}

// add adds a path unless it repeats the last one. It returns false if the list is too large.
func (l *pathList) add(path []byte) bool {
	if n := len(l.ends); n > 0 {
		start := uint32(0)
		if n > 1 {
			start = l.ends[n-2]
		}
		switch order := bytes.Compare(l.text[start:], path); {
		case order == 0:
			return true // a conflict has several entries of one path
		case order > 0:
			l.unsorted = true
		}
	}
	l.text = append(l.text, path...)
	l.ends = append(l.ends, uint32(len(l.text)))
	return len(l.text) < math.MaxUint32
}

// tracked returns the paths in order. They are in order already, unless the index is invalid or
// split.
func (l *pathList) tracked() *Tracked {
	t := &Tracked{fold: l.fold, text: string(l.text), ends: slices.Clip(l.ends)}
	if !l.unsorted {
		return t
	}
	paths := make([]string, t.Len())
	for i := range paths {
		paths[i] = t.path(i)
	}
	slices.Sort(paths)
	sorted := pathList{fold: l.fold}
	for _, path := range paths {
		sorted.add([]byte(path))
	}
	return sorted.tracked()
}
