package console

import (
	"path"
	"strings"
)

// folder is a folder of a book with what is in it.
type folder struct {
	Name    string
	Folders []*folder
	Files   []bookFile
	Count   int  // files in it, and in the folders in it
	Open    bool // people see at once what is in it
}

// bookFile is a file of a book.
type bookFile struct{ Name, Href string }

// treeOf makes a tree of sorted paths. Lessons come first: they are what a book is for.
func treeOf(book string, files []string) []*folder {
	root := &folder{}
	for _, file := range files {
		at := root
		at.Count++
		dir, name := path.Split(file)
		for part := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
			if part != "" {
				at = at.inside(part)
				at.Count++
			}
		}
		at.Files = append(at.Files, bookFile{Name: name, Href: fileHref(book, file)})
	}
	top := root.Folders
	for i, f := range top {
		if f.Name == "lessons" {
			f.openUp(len(files) <= 100)
			copy(top[1:i+1], top[:i])
			top[0] = f
		}
	}
	if len(root.Files) > 0 {
		top = append(top, &folder{Name: "Other files", Files: root.Files, Count: len(root.Files), Open: true})
	}
	return top
}

// inside gives the folder of a name. Paths are sorted, so it is the last one or new.
func (f *folder) inside(name string) *folder {
	if n := len(f.Folders); n > 0 && f.Folders[n-1].Name == name {
		return f.Folders[n-1]
	}
	made := &folder{Name: name}
	f.Folders = append(f.Folders, made)
	return made
}

// openUp opens a folder, and those in it if there is little in them.
func (f *folder) openUp(all bool) {
	f.Open = true
	for _, sub := range f.Folders {
		if all {
			sub.openUp(all)
		}
	}
}
