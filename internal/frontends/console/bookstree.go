package console

import (
	"path"
	"strings"
)

// folder is a folder of a book with its content.
type folder struct {
	Name    string
	Folders []*folder
	Files   []bookFile
	Count   int  // number of files in it and its subfolders
	Open    bool // shown unfolded
}

// bookFile is a file of a book.
type bookFile struct {
	Name, Href string
	Current    bool // the page shows it
}

// treeOf builds a tree from sorted paths. Lessons come first, because they are the main content of
// a book.
func treeOf(book string, files []string) []*folder {
	root := &folder{}
	for _, file := range files {
		at := root
		at.Count++
		dir, name := path.Split(file)
		for part := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
			if part != "" {
				at = at.subfolder(part)
				at.Count++
			}
		}
		at.Files = append(at.Files, bookFile{Name: name, Href: fileHref(book, file)})
	}
	top := root.Folders
	for i, f := range top {
		if f.Name == "lessons" {
			f.unfold(len(files) <= 100)
			copy(top[1:i+1], top[:i])
			top[0] = f
		}
	}
	if len(root.Files) > 0 {
		top = append(top, &folder{Name: "Other files", Files: root.Files, Count: len(root.Files), Open: true})
	}
	return top
}

// subfolder returns the subfolder with a name. Paths are sorted, so it is the last one or a new
// one.
func (f *folder) subfolder(name string) *folder {
	if n := len(f.Folders); n > 0 && f.Folders[n-1].Name == name {
		return f.Folders[n-1]
	}
	made := &folder{Name: name}
	f.Folders = append(f.Folders, made)
	return made
}

// unfold opens a folder, and all of its subfolders if all is true.
func (f *folder) unfold(all bool) {
	f.Open = true
	for _, sub := range f.Folders {
		if all {
			sub.unfold(all)
		}
	}
}

// openFor opens only the folders that lead to a file, and marks the file. It reports whether the
// folder contains it.
func (f *folder) openFor(href string) bool {
	f.Open = false
	for i := range f.Files {
		f.Files[i].Current = f.Files[i].Href == href
		f.Open = f.Open || f.Files[i].Current
	}
	for _, sub := range f.Folders {
		f.Open = sub.openFor(href) || f.Open
	}
	return f.Open
}
