package imports

import (
	"path"
	"slices"
	"strings"
)

// resolveGo gives the files of the packages that are imported, as `go list` names them in GoFiles and CgoFiles on this
// system with cgo.
func resolveGo(files Files, from string, specs []spec) []string {
	build, ok := goBuildOf(files, path.Dir(from))
	if !ok {
		return nil
	}
	var found []string
	for _, s := range specs {
		if folder, ok := build.folder(s.text); ok {
			found = append(found, goPackageFiles(files, folder)...)
		}
	}
	return found
}

// A goPlace says where packages are: those whose import path begins with prefix are beneath folder. Every path begins
// with the empty prefix.
type goPlace struct{ prefix, folder string }

// A goBuild is what the go command knows when it looks for an import.
type goBuild struct {
	files    Files
	modules  []goPlace // of the workspace, longest prefix first
	vendor   string    // the folder of vendored packages, "" if there is none
	replaced []goPlace // longest prefix first
}

// goBuildOf finds the module and the go.work that hold for the files in a folder.
func goBuildOf(files Files, folder string) (*goBuild, bool) {
	own, ok := nearest(folder, func(f string) bool { return files.Has(path.Join(f, "go.mod")) })
	if !ok {
		return nil, false
	}
	top, used := &goModule{folder: own}, []string{own}
	if work, ok := goWorkUsing(files, own); ok {
		top, used = work, work.uses
	}
	b, replacements := &goBuild{files: files}, map[string]string{}
	for _, folder := range used {
		module := readGoModule(files, folder)
		b.add(module)
		module.replace(replacements)
	}
	top.replace(replacements) // a go.work has the last word
	for prefix, folder := range replacements {
		if folder != "" {
			b.replaced = append(b.replaced, goPlace{prefix, folder})
		}
	}
	if files.Has(path.Join(top.folder, "vendor/modules.txt")) {
		b.vendor = path.Join(top.folder, "vendor")
	}
	longestFirst(b.modules)
	longestFirst(b.replaced)
	return b, true
}

// add makes a module known by its path. The modules of Go's own source are different: packages of std have no prefix,
// and cmd sees those of std.
func (b *goBuild) add(module *goModule) {
	folder := module.folder
	switch module.path {
	case "":
	case "std":
		b.modules = append(b.modules, goPlace{"", folder})
	case "cmd":
		if above := path.Dir(folder); folder != "." && readGoModule(b.files, above).path == "std" {
			b.modules = append(b.modules, goPlace{"", above})
		}
		fallthrough
	default:
		b.modules = append(b.modules, goPlace{module.path, folder})
	}
}

func longestFirst(places []goPlace) {
	slices.SortFunc(places, func(a, b goPlace) int {
		if len(a.prefix) != len(b.prefix) {
			return len(b.prefix) - len(a.prefix)
		}
		return strings.Compare(a.prefix, b.prefix)
	})
}

// folder finds the folder of a package.
func (b *goBuild) folder(name string) (string, bool) {
	if name != path.Clean(name) || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "/") {
		return "", false
	}
	if folder, ok := b.among(b.modules, name); ok {
		return folder, true
	}
	if b.vendor != "" {
		return b.among([]goPlace{{"", b.vendor}}, name)
	}
	return b.among(b.replaced, name)
}

// among finds the folder of a package in the first of the places that has one.
func (b *goBuild) among(places []goPlace, name string) (string, bool) {
	for _, p := range places {
		rest, ok := name, true
		if p.prefix != "" {
			rest, ok = strings.CutPrefix(name, p.prefix)
			ok = ok && (rest == "" || rest[0] == '/')
		}
		if folder := path.Join(p.folder, rest); ok && !b.nested(p.folder, folder) && len(inFolder(b.files, folder, ".go")) > 0 {
			return folder, true
		}
	}
	return "", false
}

// nested tells whether another module begins between a module's folder and one beneath it.
func (b *goBuild) nested(module, folder string) bool {
	for ; folder != module && folder != "."; folder = path.Dir(folder) {
		if b.files.Has(path.Join(folder, "go.mod")) {
			return true
		}
	}
	return false
}
