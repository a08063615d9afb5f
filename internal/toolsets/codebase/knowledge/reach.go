package knowledge

import (
	"fmt"
	"strings"
)

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
