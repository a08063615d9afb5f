package imports

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
)

// resolveRust returns the files of declared modules, and for each path the file of the deepest
// module on it.
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
	modules   map[string][]spec    // the modules declared in files that were read
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

// child finds a module in the module of a file, or in an inline module of it. The file is the same
// if the child is inline too. A module without a declaration, because a macro generates it, is
// expected in its usual place.
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

// modulesOf returns the modules that a file declares.
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

// declared returns the file of a module that another file declares. A path attribute is relative to
// the folder of the file, unless the declaration is in an inline module.
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
	// A file named by an attribute has its modules beside it: then the second folder is right, if
	// the first has none.
	return firstFound([]string{r.folder(file), path.Dir(file)}, func(folder string) (string, bool) {
		return r.existing(folder, place+".rs", place+"/mod.rs")
	})
}

// existing returns the first of the names in a folder that is a file.
func (r *rustResolver) existing(folder string, names ...string) (string, bool) {
	return firstFound(names, func(name string) (string, bool) { return fileIn(r.files, folder, strings.ReplaceAll(name, `\`, "/")) })
}

// folder returns the folder that contains the modules of a file.
func (r *rustResolver) folder(file string) string {
	if path.Base(file) == "mod.rs" || r.root(file) == file {
		return path.Dir(file)
	}
	return strings.TrimSuffix(file, ".rs")
}

// parent returns the file of the module around that of a file.
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

// manifest reads the Cargo.toml in a folder.
func (r *rustResolver) manifest(folder string) tomlTable {
	return cached(r.manifests, folder, func() tomlTable {
		content, _ := readIn(r.files, folder, "Cargo.toml")
		return parseTOML(content)
	})
}

// cargo finds the folder of the Cargo.toml that applies to a file.
func (r *rustResolver) cargo(file string) (string, bool) {
	return nearest(path.Dir(file), func(folder string) bool { return r.files.Has(path.Join(folder, "Cargo.toml")) })
}

// edition returns the edition of the language of the file.
func (r *rustResolver) edition() string {
	folder, ok := r.cargo(r.from)
	if !ok {
		return ""
	}
	if t := r.manifest(folder); t.at("package") != nil && t.at("package", "edition") == nil {
		return "2015"
	}
	return r.manifest(folder).text("package", "edition")
}

// root returns the root file of a file's crate.
func (r *rustResolver) root(file string) string {
	root, known := r.roots[file]
	if !known {
		r.roots[file] = file // for now, because the search itself looks at modules
		root = r.findRoot(file)
		r.roots[file] = root
	}
	return root
}

func (r *rustResolver) findRoot(file string) string {
	folder, ok := r.cargo(file)
	if !ok {
		return r.rootAbove(file)
	}
	targets := r.targets(folder)
	inside := strings.TrimPrefix(file, folder+"/")
	parts := strings.Split(inside, "/")
	if slices.Contains(targets, file) || inside == "build.rs" {
		return file
	}
	kind := parts[0]
	if kind == "src" && len(parts) > 2 && parts[1] == "bin" {
		kind, parts = "src/bin", parts[1:]
	}
	switch kind {
	case "src/bin", "tests", "examples", "benches":
		return r.targetIn(path.Join(folder, kind), file, parts[1:])
	}
	if root := r.owner(targets, file); root != file {
		return root
	}
	return r.rootAbove(file)
}

// targets returns the root files of a package's library and programs.
func (r *rustResolver) targets(folder string) []string {
	t := r.manifest(folder)
	names := []string{t.text("lib", "path"), "src/lib.rs", "src/main.rs"}
	for _, list := range []string{"bin", "test", "example", "bench"} {
		for _, target := range t.tables(list) {
			names = append(names, target.text("path"))
		}
	}
	var found []string
	for _, name := range names {
		if file, ok := r.existing(folder, name); ok && name != "" {
			found = append(found, file)
		}
	}
	return found
}

// targetIn finds the root of a file in a folder where every file, and every folder with a main.rs,
// is a crate. inside is the rest of the file's path. A module shared by several crates belongs to
// the first that declares it.
func (r *rustResolver) targetIn(folder, file string, inside []string) string {
	if len(inside) == 1 {
		return file
	}
	if main := path.Join(folder, inside[0], "main.rs"); r.files.Has(main) {
		return main
	}
	return r.owner(inFolder(r.files, folder, ".rs"), file)
}

// owner finds the root that declares the module of a file, or the first that could.
func (r *rustResolver) owner(roots []string, file string) string {
	possible := file
	for _, root := range roots {
		inside, ok := beneath(file, path.Dir(root))
		if !ok {
			continue
		}
		if possible == file {
			possible = root
		}
		first, _, _ := strings.Cut(inside, "/")
		first = strings.TrimSuffix(first, ".rs")
		if slices.ContainsFunc(r.modulesOf(root), func(s spec) bool { return s.text == first }) {
			return root
		}
	}
	return possible
}

// rootAbove finds the root of a file without a Cargo.toml: the closest lib.rs or main.rs.
func (r *rustResolver) rootAbove(file string) string {
	if path.Base(file) == "main.rs" {
		return file
	}
	for folder := range upwards(path.Dir(file)) {
		if root, ok := r.existing(folder, "lib.rs", "main.rs"); ok {
			return root
		}
	}
	return file
}

// crate finds the root file of a library by the name that the code uses for it: the package's own,
// or one that it depends on by path.
func (r *rustResolver) crate(name string) (string, bool) {
	folder, ok := r.cargo(r.from)
	if !ok {
		return "", false
	}
	t := r.manifest(folder)
	if r.libraryName(folder, t.text("package", "name")) == name {
		return r.library(folder)
	}
	tables := []tomlTable{t}
	for _, key := range slices.Sorted(maps.Keys(t.table("target"))) {
		tables = append(tables, t.table("target", key))
	}
	for _, table := range tables {
		for _, list := range []string{"dependencies", "dev-dependencies", "build-dependencies"} {
			if found, ok := r.dependency(folder, table.table(list), name); ok {
				return found, true
			}
		}
	}
	return "", false
}

// dependency finds a library among the dependencies of the package in a folder.
func (r *rustResolver) dependency(folder string, dependencies tomlTable, name string) (string, bool) {
	for _, key := range slices.Sorted(maps.Keys(dependencies)) {
		place, ok := r.placeOf(folder, key, dependencies)
		if !ok {
			continue
		}
		known := strings.ReplaceAll(key, "-", "_")
		if dependencies.text(key, "package") == "" {
			known = r.libraryName(place, key)
		}
		if known == name {
			return r.library(place)
		}
	}
	return "", false
}

// placeOf finds the folder of a dependency: its own path, the one that the workspace specifies, or
// that of a patch.
func (r *rustResolver) placeOf(folder, key string, dependencies tomlTable) (string, bool) {
	if place := dependencies.text(key, "path"); place != "" {
		return within(folder, place)
	}
	top, ok := nearest(folder, func(f string) bool { return r.manifest(f).at("workspace") != nil })
	if !ok {
		top = folder
	}
	t := r.manifest(top)
	if place := t.text("workspace", "dependencies", key, "path"); place != "" && dependencies.at(key, "workspace") == true {
		return within(top, place)
	}
	for _, registry := range slices.Sorted(maps.Keys(t.table("patch"))) {
		if place := t.text("patch", registry, key, "path"); place != "" {
			return within(top, place)
		}
	}
	return "", false
}

// libraryName returns the name that code uses for the library of the package in a folder.
func (r *rustResolver) libraryName(folder, otherwise string) string {
	t := r.manifest(folder)
	plain := strings.ReplaceAll(cmp.Or(t.text("package", "name"), otherwise), "-", "_")
	return cmp.Or(t.text("lib", "name"), plain)
}

// library returns the root file of the library of the package in a folder.
func (r *rustResolver) library(folder string) (string, bool) {
	return r.existing(folder, cmp.Or(r.manifest(folder).text("lib", "path"), "src/lib.rs"))
}
