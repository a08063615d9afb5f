package imports

import (
	"path"
	"strings"
)

// rubyFiles resolves what is required: from the file's folder, or in the folders that Ruby would look in: lib of the
// folders above and of every gem in the workspace, and in a Rails application those beneath app.
func rubyFiles(files Files, from string, specs []spec) []string {
	r := &ruby{files: files, from: from}
	var found []string
	for _, s := range specs {
		if file, ok := r.file(s); ok {
			found = append(found, file)
		}
	}
	return found
}

// A ruby resolves what one file requires.
type ruby struct {
	files Files
	from  string
	roots []string // the folders that are looked in, found when first needed
}

// file finds the file that a spec means.
func (r *ruby) file(s spec) (string, bool) {
	switch s.kind {
	case rubyBeside:
		return r.at(path.Dir(r.from), s.text)
	case rubyLoad:
		return r.loaded(s.text)
	default:
		return r.feature(s.text)
	}
}

// at finds a file in a folder, with or without its ending.
func (r *ruby) at(folder, name string) (string, bool) {
	file, ok := within(folder, name)
	if !ok {
		return "", false
	}
	if !strings.HasSuffix(name, ".rb") && r.files.Has(file+".rb") {
		return file + ".rb", true
	}
	return file, strings.HasSuffix(name, ".rb") && r.files.Has(file)
}

// feature finds what require names.
func (r *ruby) feature(name string) (string, bool) {
	if strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") {
		return r.at(path.Dir(r.from), name)
	}
	for _, root := range r.loadPath() {
		if file, ok := r.at(root, name); ok {
			return file, true
		}
	}
	return "", false
}

// loaded finds what load names: a file with its ending, from the root or beside the file, or in the folders of require.
func (r *ruby) loaded(name string) (string, bool) {
	for _, folder := range append([]string{path.Dir(r.from), "."}, r.loadPath()...) {
		if file, ok := within(folder, name); ok && path.Ext(name) != "" && r.files.Has(file) {
			return file, true
		}
	}
	return "", false
}

// loadPath gives the folders that Ruby looks in, those of the file's own gem first.
func (r *ruby) loadPath() []string {
	if r.roots != nil {
		return r.roots
	}
	for _, folder := range folders(r.from) {
		if path.Base(folder) == "lib" {
			r.roots = append(r.roots, folder)
		}
		r.roots = append(r.roots, path.Join(folder, "lib"))
		switch path.Base(folder) {
		case "spec", "test":
			r.roots = append(r.roots, folder)
		}
		if r.files.Has(path.Join(folder, "config/application.rb")) {
			r.roots = append(r.roots, r.beneath(path.Join(folder, "app"))...)
		}
	}
	for _, parent := range folders(r.from) {
		r.roots = append(r.roots, r.gemsIn(parent)...)
	}
	return r.roots
}

// beneath gives the folders in a folder.
func (r *ruby) beneath(folder string) []string {
	var found []string
	for _, name := range r.files.In(folder) {
		if strings.HasSuffix(name, "/") {
			found = append(found, path.Join(folder, name))
		}
	}
	return found
}

// gemsIn gives the lib folders of the gems that are directly in a folder, or in its folder gems.
func (r *ruby) gemsIn(parent string) []string {
	var found []string
	for _, folder := range append(r.beneath(parent), r.beneath(path.Join(parent, "gems"))...) {
		if len(inFolder(r.files, folder, ".gemspec")) > 0 {
			found = append(found, path.Join(folder, "lib"))
		}
	}
	return found
}
