package imports

import (
	"path"
	"strings"
)

// resolveRuby resolves what is required: from the file's folder, or in the folders that Ruby would look in: lib of the
// folders above and of every gem in the workspace, and in a Rails application those beneath app.
func resolveRuby(files Files, from string, specs []spec) []string {
	r := &ruby{files: files, from: from}
	return resolveEach(specs, r.file)
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
	if !strings.HasSuffix(name, ".rb") {
		name += ".rb"
	}
	return fileIn(r.files, folder, name)
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
		if file, ok := fileIn(r.files, folder, name); ok && path.Ext(name) != "" {
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
	for folder := range upwards(path.Dir(r.from)) {
		if path.Base(folder) == "lib" {
			r.roots = append(r.roots, folder)
		}
		r.roots = append(r.roots, path.Join(folder, "lib"))
		switch path.Base(folder) {
		case "spec", "test":
			r.roots = append(r.roots, folder)
		}
		if r.files.Has(path.Join(folder, "config/application.rb")) {
			r.roots = append(r.roots, inFolder(r.files, path.Join(folder, "app"), "/")...)
		}
	}
	for parent := range upwards(path.Dir(r.from)) {
		r.roots = append(r.roots, r.gemsIn(parent)...)
	}
	return r.roots
}

// gemsIn gives the lib folders of the gems that are directly in a folder, or in its folder gems.
func (r *ruby) gemsIn(parent string) []string {
	var found []string
	for _, folder := range append(inFolder(r.files, parent, "/"), inFolder(r.files, path.Join(parent, "gems"), "/")...) {
		if len(inFolder(r.files, folder, ".gemspec")) > 0 {
			found = append(found, path.Join(folder, "lib"))
		}
	}
	return found
}
