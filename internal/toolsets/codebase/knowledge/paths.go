package knowledge

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// Sources that are no files of the tree have a word and a colon before their name.
const (
	memoryPrefix  = "memory:"
	sessionPrefix = "session:"
	markPrefix    = ":" // of sources that only note something
)

// isFed tells whether a source is no file of the tree.
func isFed(path string) bool {
	return strings.HasPrefix(path, memoryPrefix) || strings.HasPrefix(path, sessionPrefix) || isMark(path)
}

func isMark(path string) bool { return strings.HasPrefix(path, markPrefix) }

// sourcePath is the path under which a file of the tree is kept.
func sourcePath(file string) string {
	if isFed(file) {
		return "./" + file
	}
	return file
}

// A memory file is kept in parts, so that whoever appends to it changes the last of them alone.
func memoryPath(name string, part int) string {
	if part == 0 {
		return memoryPrefix + name
	}
	return memoryPrefix + name + "#" + strconv.Itoa(part)
}

// memoryName is the opposite of memoryPath. Names of memory files have no # in them.
func memoryName(path string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, memoryPrefix), "#")
	return name
}

// shownPath is the path of a source as callers see it.
func (x *Index) shownPath(source string) string {
	if strings.HasPrefix(source, memoryPrefix) {
		return path.Join(x.o.MemoryFolder, memoryName(source))
	}
	return source
}

// wordsOf is what is indexed and embedded of a piece.
func wordsOf(path string, p *Piece) string {
	if strings.HasPrefix(path, memoryPrefix) {
		return p.Words(memoryName(path))
	}
	if isFed(path) {
		return p.Words("")
	}
	return p.Words(path)
}

func keyOf(words string) Key {
	sum := sha256.Sum256([]byte(words))
	return Key(sum[:16])
}

// identify names a piece, in the form of a UUID: the same piece has the same name for everybody, always. again counts pieces
// of a source that are the same.
func identify(path, name, text string, again int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%d:%s%d:%s%d", len(path), path, len(name), name, len(text), text, again))
	sum[6] = sum[6]&0x0f | 0x80 // version 8: made as the maker likes
	sum[8] = sum[8]&0x3f | 0x80
	s := hex.EncodeToString(sum[:16])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// A reach tells by its path whether a source may be found. It is for one load: it remembers folders.
type reach struct {
	skip    func(path string, folder bool) bool
	folders map[string]bool // whether they are out of reach
}

// reach gives what the rules say. Nothing is loaded as long as they are not known.
func (x *Index) reach() (*reach, error) {
	c := &x.conductor
	if c.skip == nil && x.o.Skip != nil {
		skip, err := x.o.Skip()
		if err != nil {
			return nil, fmt.Errorf("learn what may not be searched: %w", err)
		}
		c.skip = skip
	}
	return &reach{skip: c.skip, folders: map[string]bool{}}, nil
}

// hides tells whether a path, or a folder above it, is out of reach.
func (r *reach) hides(path string) bool {
	return r.skip != nil && (r.hidesFolder(folderOf(path)) || r.skip(path, false))
}

func (r *reach) hidesFolder(path string) bool {
	if path == "" {
		return false
	}
	hidden, known := r.folders[path]
	if !known {
		hidden = r.hidesFolder(folderOf(path)) || r.skip(path, true)
		r.folders[path] = hidden
	}
	return hidden
}

func folderOf(path string) string { return path[:max(strings.LastIndexByte(path, '/'), 0)] }

// bare is a source without its pieces if it is out of reach. That it is kept is remembered, so that it is removed like a file that is
// no more; until then, which takes as long as a look at all files, nothing of it can be found.
func (l *loading) bare(s Source) Source {
	switch {
	case strings.HasPrefix(s.Path, sessionPrefix) || isMark(s.Path): // these are no paths
	case l.reach.hides(strings.TrimPrefix(l.x.shownPath(s.Path), "./")):
		s.Pieces = nil
	}
	return s
}
