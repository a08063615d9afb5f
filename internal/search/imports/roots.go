package imports

import (
	"path"
	"strings"
)

// A sourceRoot is a folder under which packages are folders, without those of prefix: Kotlin lets a project leave out
// the part that all of its packages share.
type sourceRoot struct {
	folder string
	prefix string // with a dot at the end, unless empty
}

// rootOf gives the source root of a file by the package that it says it is in, with dots.
func rootOf(from, packageName string) sourceRoot {
	root := sourceRoot{folder: path.Dir(from)}
	rest := strings.Split(packageName, ".")
	for len(rest) > 0 && path.Base(root.folder) == rest[len(rest)-1] {
		root.folder = path.Dir(root.folder)
		rest = rest[:len(rest)-1]
	}
	if len(rest) > 0 {
		root.prefix = strings.Join(rest, ".") + "."
	}
	return root
}

// place gives the folder or file without an ending that a name with dots has beneath a root.
func (r sourceRoot) place(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name+".", r.prefix)
	return path.Join(r.folder, strings.ReplaceAll(rest, ".", "/")), ok
}

// firstPlace finds the file that a name with dots has beneath the first of the roots that has one.
func firstPlace(files Files, roots []sourceRoot, name string, endings ...string) (string, bool) {
	return firstFound(roots, func(root sourceRoot) (string, bool) {
		return firstFound(endings, func(ending string) (string, bool) {
			place, ok := root.place(name)
			return place + ending, ok && files.Has(place+ending)
		})
	})
}

// namespaceFiles gives the files of a namespace in the first of the roots that has any that are wanted.
func namespaceFiles(files Files, roots []sourceRoot, name, ending string, wanted func(content []byte) bool) []string {
	for _, root := range roots {
		folder, ok := root.place(name)
		if !ok {
			continue
		}
		var found []string
		for _, file := range inFolder(files, folder, ending) {
			if content, err := files.Read(file); err == nil && len(found) < mostOfPackage && wanted(content) {
				found = append(found, file)
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// firstDeclaring finds the first of some files that declares a name with dots. Those of Java have the name of what they declare.
func firstDeclaring(files Files, among []string, name string) (string, bool) {
	namespace, simple := splitName(name)
	return firstFound(among, func(file string) (string, bool) {
		content, err := files.Read(file)
		language := declaringLanguages[path.Ext(file)]
		return file, err == nil && language != "" && declares(language, content, namespace, simple)
	})
}

// splitName cuts a name before its last dot.
func splitName(name string) (namespace, simple string) {
	dot := strings.LastIndexByte(name, '.')
	return name[:max(dot, 0)], name[dot+1:]
}

// declaringLanguages are those in which a file declares names that need not be its own, by extension.
var declaringLanguages = map[string]string{".kt": "kotlin", ".scala": "scala", ".cs": "csharp", ".php": "php"}

// resolveNames gives the files of names that are imported one by one, and of those that stand for all in them.
func resolveNames(specs []spec, one, all func(name string) []string) []string {
	var found []string
	for _, s := range specs {
		switch s.kind {
		case oneName:
			found = append(found, one(s.text)...)
		case allOf:
			found = append(found, all(s.text)...)
		}
	}
	return found
}
