package imports

import (
	"path"
	"slices"
)

// listedFiles are the files of a workspace, as long as the imports of one file are resolved. A folder is listed once, and
// not at all if the one above does not have it: a resolver looks in many places, and nearly all of them are not there.
type listedFiles struct {
	Files
	folders map[string][]string
}

func newListedFiles(files Files) *listedFiles {
	return &listedFiles{Files: files, folders: map[string][]string{}}
}

// Has keeps the promise of Files.
func (l *listedFiles) Has(file string) bool {
	return lists(l.In(path.Dir(file)), path.Base(file))
}

// In keeps the promise of Files.
func (l *listedFiles) In(folder string) []string {
	names, known := l.folders[folder]
	if known || outside(folder) {
		return names
	}
	if folder == "." || lists(l.In(path.Dir(folder)), path.Base(folder)+"/") {
		names = l.Files.In(folder)
	}
	l.folders[folder] = names
	return names
}

// lists tells whether a name is among those of a folder.
func lists(names []string, name string) bool {
	_, found := slices.BinarySearch(names, name)
	return found
}
