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

// Tracked are files that git tracks, by their paths from the root. A nil *Tracked has none. It is safe for concurrent use.
type Tracked struct {
	fold bool     // they are folded
	text string   // the paths, one after another, in the order of bytes
	ends []uint32 // where each of them ends
}

// Has tells whether a file is tracked, by its path from the root.
func (t *Tracked) Has(path string) bool {
	if t == nil {
		return false
	}
	path = folded(path, t.fold)
	i := t.search(path)
	return i < len(t.ends) && t.path(i) == path
}

// Beneath tells whether a tracked file is beneath a folder, by its path from the root; "" is the root.
func (t *Tracked) Beneath(folder string) bool {
	if t == nil || folder == "" {
		return t.Len() > 0
	}
	prefix := folded(folder, t.fold) + "/"
	i := t.search(prefix)
	return i < len(t.ends) && strings.HasPrefix(t.path(i), prefix)
}

// Len is how many there are.
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

// same tells whether two are of the same files.
func (t *Tracked) same(other *Tracked) bool {
	if t.Len() == 0 || other.Len() == 0 {
		return t.Len() == other.Len()
	}
	return t.text == other.text && slices.Equal(t.ends, other.ends)
}

const (
	modeKind    = 0o170000
	modeFile    = 0o100000
	modeLink    = 0o120000
	entryHeader = 40 // before the id of an entry: times, device, inode, mode, owner, size
	entryMode   = 24
	extended    = 0x4000
)

// indexReader reads git's index, of version 2, 3 or 4, whose extensions are of no interest.
type indexReader struct {
	data    []byte
	at      int
	version uint32
	id      int // the size of an object's id
	name    []byte
	mode    uint32
}

// readIndex gives the files of an index that are beneath a folder, which ends with / if it is not "". A broken index has none.
// shared gives another that it is a part of, by its name: what is in either is tracked.
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

// addIndex adds the files of an index, and gives what follows them. It is false if the index is broken.
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
			continue // another repository, or a folder that a sparse index holds as one
		}
		if path, ok := cutFolder(r.name, folder, l.fold); ok && !l.add(path) {
			return nil, false
		}
	}
	return data[r.at:], true
}

// sharedIndex is the name of the index that extensions say another is a part of, "" if none.
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

// next reads an entry. It is false if that is broken.
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
	if r.version < 4 { // up to eight zeros, so that the next entry begins at a multiple of eight
		r.at = min(start+(r.at-start+7)/8*8, len(r.data))
	}
	return true
}

// cut takes from the end of the name before as much as an entry of version 4 says, in git's way to write a number.
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

// cutFolder gives the path from a folder, which is folded as the path has to be.
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

// add takes a path, once. It is false if there are too many.
func (l *pathList) add(path []byte) bool {
	if n := len(l.ends); n > 0 {
		start := uint32(0)
		if n > 1 {
			start = l.ends[n-2]
		}
		switch order := bytes.Compare(l.text[start:], path); {
		case order == 0:
			return true // in a conflict there are several of one
		case order > 0:
			l.unsorted = true
		}
	}
	l.text = append(l.text, path...)
	l.ends = append(l.ends, uint32(len(l.text)))
	return len(l.text) < math.MaxUint32
}

// tracked gives the paths in order, in which git has them unless the index is broken or a part of it is elsewhere.
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
