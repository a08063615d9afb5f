package knowledge

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// Sources that are not files of the tree have a prefix with a colon.
const (
	memoryPrefix  = "memory:"
	sessionPrefix = "session:"
	markPrefix    = ":" // of sources that only record something
)

// isFed reports whether a source is not a file of the tree.
func isFed(path string) bool {
	return strings.HasPrefix(path, memoryPrefix) || strings.HasPrefix(path, sessionPrefix) || isMark(path)
}

func isMark(path string) bool { return strings.HasPrefix(path, markPrefix) }

// sourcePath returns the path of the source for a file of the tree.
func sourcePath(file string) string {
	if isFed(file) {
		return "./" + file
	}
	return file
}

// filePath is the inverse of sourcePath.
func filePath(source string) string { return strings.TrimPrefix(source, "./") }

// memoryPath returns the path of the source for a part of a memory file. Memory files are stored in
// parts, so that an append changes only the last one.
func memoryPath(name string, part int) string {
	if part == 0 {
		return memoryPrefix + name
	}
	return memoryPrefix + name + "#" + strconv.Itoa(part)
}

// memoryName is the inverse of memoryPath. Names of memory files contain no #.
func memoryName(path string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, memoryPrefix), "#")
	return name
}

// shownPath returns the path of a source as callers see it.
func (x *Index) shownPath(source string) string {
	if strings.HasPrefix(source, memoryPrefix) {
		return path.Join(x.o.MemoryFolder, memoryName(source))
	}
	return source
}

// wordsOf returns the text of a chunk that is indexed and embedded.
func wordsOf(path string, p *Chunk) string {
	if strings.HasPrefix(path, memoryPrefix) {
		return p.IndexText(memoryName(path))
	}
	if isFed(path) {
		return p.IndexText("")
	}
	return p.IndexText(path)
}

func keyOf(words string) Key {
	sum := sha256.Sum256([]byte(words))
	return Key(sum[:16])
}

// identify returns an id for a chunk in the form of a UUID: the same chunk always has the same id,
// in every process. again counts the identical chunks before it in its source.
func identify(path, name, text string, again int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%d:%s%d:%s%d", len(path), path, len(name), name, len(text), text, again))
	sum[6] = sum[6]&0x0f | 0x80 // version 8: custom
	sum[8] = sum[8]&0x3f | 0x80
	s := hex.EncodeToString(sum[:16])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// A pathFilter decides by its path whether a source may be found. It is used for one load, because
// it caches folders.
type pathFilter struct {
	skip    func(path string, folder bool) bool
	folders map[string]bool // whether a folder is hidden
}

// pathFilter returns the filter. Nothing is loaded until the rules are known.
func (x *Index) pathFilter() (*pathFilter, error) {
	c := &x.refresher
	if c.skip == nil && x.o.Skip != nil {
		skip, err := x.o.Skip()
		if err != nil {
			return nil, fmt.Errorf("read search rules: %w", err)
		}
		c.skip = skip
	}
	return newPathFilter(c.skip), nil
}

func newPathFilter(skip func(path string, folder bool) bool) *pathFilter {
	return &pathFilter{skip: skip, folders: map[string]bool{}}
}

// hides reports whether a path, or a folder above it, is hidden.
func (r *pathFilter) hides(path string) bool {
	return r.skip != nil && (r.hidesFolder(folderOf(path)) || r.skip(path, false))
}

func (r *pathFilter) hidesFolder(path string) bool {
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

// bare returns a hidden source without its chunks. The catalog still records the source, so that it
// is removed from the store like a deleted file; until then nothing of it can be found.
func (l *loading) bare(s Source) Source {
	if l.x.isHidden(l.pathFilter, s.Path) {
		s.Chunks = nil
	}
	return s
}

// isHidden reports whether a source must not be searched.
func (x *Index) isHidden(filter *pathFilter, source string) bool {
	if strings.HasPrefix(source, sessionPrefix) || isMark(source) { // these are not paths of files
		return false
	}
	return filter.hides(filePath(x.shownPath(source)))
}
