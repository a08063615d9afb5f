package imports

import (
	"path"
	"slices"
	"strings"
)

// resolveRust gives the files of modules that are declared, and for each path the file of the deepest module on it.
func resolveRust(files Files, from string, specs []spec) []string {
	r := rustResolver{files: files, from: from, modules: map[string][]spec{}, manifests: map[string]tomlTable{}, roots: map[string]string{}}
	return resolveEach(specs, func(s spec) (string, bool) {
		switch s.kind {
		case rustModule:
			return r.declared(from, s)
		case rustInclude:
			return fileIn(files, path.Dir(from), s.text)
		case rustPath, rustUse, rustCrate:
			return r.path(strings.Split(s.text, "::"), s.kind)
		}
		return "", false
	})
}

type rustResolver struct {
	files     Files
	from      string
	modules   map[string][]spec    // the modules that files declare, of those that were read
	manifests map[string]tomlTable // by folder
	roots     map[string]string    // of the crates that files belong to
}

// path finds the file of the deepest module on a path.
func (r *rustResolver) path(names []string, k kind) (string, bool) {
	switch names[0] {
	case "crate":
		return r.deepest(r.root(r.from), names[1:])
	case "self":
		return r.deepest(r.from, names[1:])
	case "super":
		file := r.from
		for ; len(names) > 0 && names[0] == "super"; names = names[1:] {
			if file == r.root(file) {
				return "", false
			}
			file = r.parent(file)
		}
		return r.deepest(file, names)
	}
	if k == rustUse {
		if _, _, ok := r.child(r.from, nil, names[0]); ok {
			return r.deepest(r.from, names)
		}
	}
	if library, ok := r.crate(names[0]); ok {
		return r.deepest(library, names[1:])
	}
	if root := r.root(r.from); r.edition() == "2015" {
		if _, _, ok := r.child(root, nil, names[0]); ok {
			return r.deepest(root, names)
		}
	}
	return "", false
}

// deepest follows names from the module of a file as long as they are modules.
func (r *rustResolver) deepest(file string, names []string) (string, bool) {
	var inline []string
	for _, name := range names {
		next, inner, ok := r.child(file, inline, name)
		if !ok {
			break
		}
		file, inline = next, inner
	}
	return file, file != "" && r.files.Has(file)
}

// child finds a module in the module of a file, or in one that is written out in it. Its file is the same if it is
// written out too. A module that no declaration was found for, because a macro makes it, is where it should be.
func (r *rustResolver) child(file string, inline []string, name string) (next string, inner []string, ok bool) {
	full := strings.Join(append(slices.Clip(inline), name), "::")
	declared := false
	for _, s := range r.modulesOf(file) {
		text, _, _ := strings.Cut(s.text, " ")
		if text != full {
			continue
		}
		if s.kind == rustInline {
			return file, append(slices.Clip(inline), name), true
		}
		declared = true
		if found, ok := r.declared(file, s); ok {
			return found, nil, true
		}
	}
	if declared {
		return "", nil, false
	}
	if found, ok := r.declared(file, spec{text: full}); ok && found != r.root(file) {
		return found, nil, true
	}
	return "", nil, false
}

// modulesOf gives the modules that a file declares.
func (r *rustResolver) modulesOf(file string) []spec {
	return cached(r.modules, file, func() []spec {
		content, err := r.files.Read(file)
		if err != nil {
			return nil
		}
		specs, _ := extractRust(content)
		return slices.DeleteFunc(specs, func(s spec) bool { return s.kind != rustModule && s.kind != rustInline })
	})
}

// declared gives the file of a module that another file declares. That of an attribute is looked for beside the file, unless
// the declaration stands in a module that is written out.
func (r *rustResolver) declared(file string, s spec) (string, bool) {
	full, attribute, has := strings.Cut(s.text, " ")
	place := strings.ReplaceAll(full, "::", "/")
	inside := path.Dir(place) != "."
	if has && !inside {
		return r.existing(path.Dir(file), attribute)
	}
	if has {
		return r.existing(path.Join(r.folder(file), path.Dir(place)), attribute)
	}
	// A file that an attribute names has its modules beside it: then the second is right, if the first has nothing.
	return firstFound([]string{r.folder(file), path.Dir(file)}, func(folder string) (string, bool) {
		return r.existing(folder, place+".rs", place+"/mod.rs")
	})
}

// existing gives the first of the names in a folder that is a file.
func (r *rustResolver) existing(folder string, names ...string) (string, bool) {
	return firstFound(names, func(name string) (string, bool) { return fileIn(r.files, folder, strings.ReplaceAll(name, `\`, "/")) })
}

// folder gives the folder in which the modules of a file are.
func (r *rustResolver) folder(file string) string {
	if path.Base(file) == "mod.rs" || r.root(file) == file {
		return path.Dir(file)
	}
	return strings.TrimSuffix(file, ".rs")
}

// parent gives the file of the module around that of a file.
func (r *rustResolver) parent(file string) string {
	folder := path.Dir(file)
	if path.Base(file) == "mod.rs" {
		folder = path.Dir(folder)
	}
	root := r.root(file)
	if folder != path.Dir(root) {
		if found, ok := r.existing(".", folder+".rs", folder+"/mod.rs"); ok {
			return found
		}
	}
	return root
}
