package imports

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
)

// manifest reads the Cargo.toml in a folder.
func (r *rustResolver) manifest(folder string) tomlTable {
	return cached(r.manifests, folder, func() tomlTable {
		content, _ := readIn(r.files, folder, "Cargo.toml")
		return parseTOML(content)
	})
}

// cargo finds the folder of the Cargo.toml that holds for a file.
func (r *rustResolver) cargo(file string) (string, bool) {
	return nearest(path.Dir(file), func(folder string) bool { return r.files.Has(path.Join(folder, "Cargo.toml")) })
}

// edition gives the edition of the language that the file is written in.
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

// root gives the file that the crate of a file begins with.
func (r *rustResolver) root(file string) string {
	root, known := r.roots[file]
	if !known {
		r.roots[file] = file // meanwhile, because the search for it looks at modules
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

// targets gives the files that a package's library and programs begin with.
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

// targetIn finds the root of a file in a folder where every file, and every folder with a main.rs, is a crate of its own.
// inside is the rest of the file's path. A module that several crates share belongs to the first that declares it.
func (r *rustResolver) targetIn(folder, file string, inside []string) string {
	if len(inside) == 1 {
		return file
	}
	if main := path.Join(folder, inside[0], "main.rs"); r.files.Has(main) {
		return main
	}
	return r.owner(inFolder(r.files, folder, ".rs"), file)
}

// owner finds the root that declares the module a file is part of; or the first that could.
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

// rootAbove finds the root of a file where no Cargo.toml tells: the closest lib.rs or main.rs.
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

// crate finds the first file of a library by the name that the code uses for it: the package's own, or one that it
// depends on by path.
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

// placeOf finds the folder of a dependency: its own path, that which the workspace gives it, or that of a patch.
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

// libraryName gives the name that code uses for the library of the package in a folder.
func (r *rustResolver) libraryName(folder, otherwise string) string {
	t := r.manifest(folder)
	plain := strings.ReplaceAll(cmp.Or(t.text("package", "name"), otherwise), "-", "_")
	return cmp.Or(t.text("lib", "name"), plain)
}

// library gives the first file of the library of the package in a folder.
func (r *rustResolver) library(folder string) (string, bool) {
	return r.existing(folder, cmp.Or(r.manifest(folder).text("lib", "path"), "src/lib.rs"))
}
