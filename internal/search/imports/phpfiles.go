package imports

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// mostComposers is how many packages of a workspace are looked into for a class.
const mostComposers = 200

// A php resolves what one PHP file uses and includes.
type php struct {
	files    Files
	from     string
	own      []sourceRoot      // by the file's own namespace
	composer []composerPackage // read when first needed
	read     bool              // whether they were
}

// resolvePHP resolves included files by their path and used classes as Composer's autoloader does; without a
// composer.json that knows a class, by the folders that the file's own namespace has.
func resolvePHP(files Files, from string, specs []spec) []string {
	r := &php{files: files, from: from}
	var found []string
	for _, s := range specs {
		name := strings.ReplaceAll(s.text, `\`, "/")
		switch s.kind {
		case phpOwn:
			r.own = []sourceRoot{rootOf(from, strings.ReplaceAll(name, "/", "."))}
		case phpBeside:
			found = append(found, r.at(path.Dir(from), name)...)
		case phpFile:
			found = append(found, r.included(name)...)
		case phpClass:
			found = append(found, r.class(s.text)...)
		case phpFunction:
			found = append(found, r.function(s.text)...)
		}
	}
	return found
}

// at gives the file that has a name in a folder, if there is one.
func (r *php) at(folder, name string) []string {
	if file, ok := fileIn(r.files, folder, name); ok {
		return []string{file}
	}
	return nil
}

// included finds a file that is included by a name alone: beside the file, or from the workspace's root.
func (r *php) included(name string) []string {
	if found := r.at(path.Dir(r.from), name); found != nil || strings.HasPrefix(name, ".") {
		return found
	}
	return r.at(".", name)
}

// class finds the file of a class, interface, trait or enum.
func (r *php) class(name string) []string {
	for _, p := range r.packages() {
		if file, ok := p.class(r.files, name); ok {
			return []string{file}
		}
	}
	for _, root := range r.own {
		dotted := strings.ReplaceAll(name, `\`, ".")
		if rest, ok := strings.CutPrefix(dotted, root.prefix); ok {
			return r.at(root.folder, strings.ReplaceAll(rest, ".", "/")+".php")
		}
	}
	return nil
}

// function finds the file of a function or constant: among those that Composer always loads, or in the namespace's
// folder.
func (r *php) function(name string) []string {
	slash := strings.LastIndexByte(name, '\\')
	if slash < 0 {
		return nil
	}
	for _, p := range r.packages() {
		for _, file := range p.withFunctions(r.files, name[:slash]) {
			if content, err := r.files.Read(file); err == nil && phpDeclares(content, name[:slash], name[slash+1:], "function", "const") {
				return []string{file}
			}
		}
	}
	return nil
}

// packages gives the workspace's Composer packages, the nearest first.
func (r *php) packages() []composerPackage {
	if r.read {
		return r.composer
	}
	r.read = true
	files := r.files.Named("composer.json")
	slices.SortStableFunc(files, func(a, b string) int {
		return cmp.Compare(r.distance(a), r.distance(b))
	})
	for _, file := range files[:min(len(files), mostComposers)] {
		content, err := r.files.Read(file)
		if err != nil {
			continue
		}
		if p, ok := readComposer(path.Dir(file), content); ok {
			r.composer = append(r.composer, p)
		}
	}
	return r.composer
}

// distance orders composer files: those above the file by how near they are, then others by what they share with it.
func (r *php) distance(composer string) int {
	folder := path.Dir(composer)
	if folder == "." || strings.HasPrefix(r.from, folder+"/") {
		return -strings.Count(composer, "/") - 1
	}
	return 1000 - shared(r.from, composer)
}

// phpDeclares tells whether a PHP file declares a name in a namespace, with one of these words before it.
func phpDeclares(content []byte, namespace, name string, words ...string) bool {
	s := newScanner(content, phpLexicon())
	s.outside()
	s.next()
	space := ""
	for s.tok.kind != tokenEnd {
		at := s.tok
		s.next()
		switch {
		case at.kind != tokenWord:
		case isKeyword(at, "namespace"):
			space = s.name(`\`)
		case isKeyword(at, words...) && s.sees(name) && strings.EqualFold(space, namespace):
			return true
		}
	}
	return false
}
