package tree

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"remit/internal/search/ignore"
)

// todo is a set of tasks for an Update in a folder.
type todo uint8

const (
	// Compare the folder, and the files that were read, with their stamps, here and below.
	check      todo = 1 << iota
	list            // list the folder again
	deep            // also list the folders below
	stat            // compare the files that were read with their stamps
	checkNamed      // compare the files named in Tree.touched
)

// folder is a folder of the tree. It does not store its path: in a deep tree the paths would need
// memory quadratic in its depth.
type folder struct {
	parent  *folder
	name    string
	length  int       // length of its path
	files   []*File   // sorted by name
	folders []*folder // sorted by name
	repo    *repository
	rules   *ignore.Rules // the rules that apply in it
	id      identity      // of the folder that was listed
	stamp   stamp         // of the folder when it was listed
	ignore  stamp         // stamp of its .gitignore when it was read; 0 if there is none
	sum     uint64        // hash of its .gitignore
	watch   int32         // its watch descriptor; 0 if there is none
	fault   error         // why it cannot be listed; nil if it can
	todo    todo
	tracked bool // it is ignored: only tracked files are listed
	git     bool // it contains a .git
	queued  bool // it is in Tree.marked
	gone    bool
}

// repository is the git repository of a part of the tree.
type repository struct {
	*ignore.Repository
	at        *folder
	start     int  // offset at which paths relative to it begin
	candidate bool // its .git is not a repository yet, but may become one
}

// obsolete reports whether the repository is no longer needed.
func (r *repository) obsolete() bool {
	return r.at.gone || !r.at.git && r.candidate || r.at.repo != r && !r.candidate
}

// becameRepository reports whether a .git that was not a repository may have become one.
func (r *repository) becameRepository(folder string) bool {
	if !r.candidate {
		return false
	}
	_, err := os.Lstat(filepath.Join(folder, git, "HEAD"))
	return err == nil
}

// path appends the path of the folder to buffer, with a slash at its end. The path of the root is
// empty.
func (f *folder) path(buffer []byte) []byte {
	if f.parent == nil {
		return buffer
	}
	from := len(buffer)
	buffer = slices.Grow(buffer, f.length+1)[:from+f.length+1]
	for ; f.parent != nil; f = f.parent {
		end := from + f.length
		buffer[end] = '/'
		copy(buffer[end-len(f.name):end], f.name)
	}
	return buffer
}

// add returns a new folder in f.
func (f *folder) add(name string) *folder {
	length := len(name)
	if f.parent != nil {
		length += f.length + 1
	}
	return &folder{parent: f, name: strings.Clone(name), length: length}
}

func (f *folder) depth() (depth int) {
	for ; f.parent != nil; f = f.parent {
		depth++
	}
	return depth
}

// child returns the folder of that name in f, or nil.
func (f *folder) child(name string) *folder {
	at, found := slices.BinarySearchFunc(f.folders, name, func(c *folder, name string) int { return strings.Compare(c.name, name) })
	if !found {
		return nil
	}
	return f.folders[at]
}

// file returns the file of that name in f, or nil.
func (f *folder) file(name string) *File {
	start := f.start()
	at, found := slices.BinarySearchFunc(f.files, name, func(c *File, name string) int { return strings.Compare(c.Path[start:], name) })
	if !found {
		return nil
	}
	return f.files[at]
}

// start returns the offset at which names begin in the paths of the entries of f.
func (f *folder) start() int {
	if f.parent == nil {
		return 0
	}
	return f.length + 1
}
