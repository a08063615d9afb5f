package tree

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"remit/internal/search/ignore"
)

// todo is what an Update has to do in a folder.
type todo uint8

const (
	look  todo = 1 << iota // compare the folder and the files that were read with their stamps, here and beneath
	list                   // list the folder again
	deep                   // list those beneath as well
	stat                   // compare the files that were read with their stamps
	named                  // compare those of Tree.touched
)

// folder is a folder of the tree. It does not know its path: in a deep tree the paths would take the square of its depth.
type folder struct {
	parent  *folder
	name    string
	length  int       // of its path
	files   []*File   // by name
	folders []*folder // by name
	repo    *repository
	rules   *ignore.Rules // those that hold in it
	id      identity      // of what was listed
	stamp   stamp         // of the folder when it was listed
	ignore  stamp         // of its .gitignore when it was read; 0 if there is none
	sum     uint64        // of the content of its .gitignore
	watch   int32         // its watch; 0 if there is none
	todo    todo
	tracked bool // it is ignored: only what git tracks is listed
	git     bool // it has a .git
	queued  bool // it is in Tree.marked
	gone    bool
}

// repository is what git knows of a part of the tree.
type repository struct {
	*ignore.Repository
	at      *folder
	start   int  // where paths begin for it
	dormant bool // its .git is none yet, though one may come of it
}

// over tells whether the repository is of no use any more.
func (r *repository) over() bool {
	return r.at.gone || !r.at.git && r.dormant || r.at.repo != r && !r.dormant
}

// awakes tells whether a .git that was no repository may have become one.
func (r *repository) awakes(folder string) bool {
	if !r.dormant {
		return false
	}
	_, err := os.Lstat(filepath.Join(folder, git, "HEAD"))
	return err == nil
}

// path is the path of the folder with a slash at its end, "" for the root, appended to buffer.
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

// add makes a folder beneath f.
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

// child is the folder of that name beneath f, nil if there is none.
func (f *folder) child(name string) *folder {
	at, found := slices.BinarySearchFunc(f.folders, name, func(c *folder, name string) int { return strings.Compare(c.name, name) })
	if !found {
		return nil
	}
	return f.folders[at]
}

// file is the file of that name in f, nil if there is none.
func (f *folder) file(name string) *File {
	start := f.start()
	at, found := slices.BinarySearchFunc(f.files, name, func(c *File, name string) int { return strings.Compare(c.Path[start:], name) })
	if !found {
		return nil
	}
	return f.files[at]
}

// start is where names begin in the paths of what is in f.
func (f *folder) start() int {
	if f.parent == nil {
		return 0
	}
	return f.length + 1
}
