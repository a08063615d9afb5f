package imports

import (
	"path"
	"slices"
	"strings"
)

// A nodePackage is a package.json with its folder.
type nodePackage struct {
	folder string
	jsonObject
}

// packageIn reads the package.json of a folder; nil if there is none.
func (r *nodeResolver) packageIn(folder string) *nodePackage {
	return cached(r.packages, folder, func() *nodePackage {
		content, ok := readIn(r.files, folder, "package.json")
		if !ok {
			return nil
		}
		object, _ := parseJSON(content)
		return &nodePackage{folder, object}
	})
}

// packageOf returns the package that a file belongs to; nil if there is none.
func (r *nodeResolver) packageOf(file string) *nodePackage {
	for folder := range upwards(path.Dir(file)) {
		if p := r.packageIn(folder); p != nil {
			return p
		}
	}
	return nil
}

// nodeSplit splits @scope/name/rest into the package's name and the path below it, which begins
// with a dot.
func nodeSplit(text string) (name, beneath string) {
	name, rest, _ := strings.Cut(text, "/")
	if strings.HasPrefix(name, "@") {
		second, after, _ := strings.Cut(rest, "/")
		name, rest = name+"/"+second, after
	}
	if rest == "" {
		return name, "."
	}
	return name, "./" + rest
}

// bare resolves the import of a package that is part of the workspace.
func (r *nodeResolver) bare(text string, k kind) (string, bool) {
	name, beneath := nodeSplit(text)
	own := r.packageOf(r.from)
	if own != nil && own.text("name") == name && own.get("exports") != nil {
		return r.offered(own, beneath, k)
	}
	if own != nil {
		if folder, ok := r.linked(own, name); ok {
			return r.offered(r.packageIn(folder), beneath, k)
		}
	}
	if folder, ok := r.member(name); ok {
		return r.offered(r.packageIn(folder), beneath, k)
	}
	return "", false
}

// linked finds a package that another takes from a folder: "file:../x".
func (r *nodeResolver) linked(own *nodePackage, name string) (string, bool) {
	for _, field := range []string{"dependencies", "devDependencies", "peerDependencies", "optionalDependencies"} {
		source := own.object(field).text(name)
		for _, protocol := range []string{"file:", "link:", "portal:"} {
			if place, ok := strings.CutPrefix(source, protocol); ok {
				folder, ok := within(own.folder, place)
				return folder, ok && r.packageIn(folder) != nil
			}
		}
	}
	return "", false
}

// offered resolves a path below a package: by the package's exports if it has any, otherwise by
// file.
func (r *nodeResolver) offered(p *nodePackage, beneath string, k kind) (string, bool) {
	if p == nil {
		return "", false
	}
	if exports := p.get("exports"); exports != nil {
		return r.exported(p, nodeEntries(exports), beneath, k)
	}
	if beneath == "." {
		if file, ok := r.main(p, k); ok {
			return file, true
		}
		if file, ok := r.file(path.Join(p.folder, "index"), k); ok {
			return file, true
		}
		return r.entrance(p, k)
	}
	full := path.Join(p.folder, beneath)
	if file, ok := r.place(full, k); ok {
		return file, true
	}
	return r.source(p, beneath, k)
}

// main resolves the main file of a package.
func (r *nodeResolver) main(p *nodePackage, k kind) (string, bool) {
	fields := []string{"main", "module", "source", "types", "typings", "style", "sass"}
	if k == jsTypeOnly {
		fields = []string{"types", "typings", "main", "module", "source"}
	}
	var targets []string
	for _, field := range fields {
		if target := p.text(field); target != "" {
			targets = append(targets, target)
		}
	}
	if file, ok := firstFound(targets, func(target string) (string, bool) { return r.target(p, target, k) }); ok {
		return file, true
	}
	return firstFound(targets, func(target string) (string, bool) { return r.source(p, target, k) })
}

// target resolves the value of a main field: a file, with or without its extension, or a folder
// with an index.
func (r *nodeResolver) target(p *nodePackage, target string, k kind) (string, bool) {
	full := path.Join(p.folder, target)
	if full == p.folder {
		return "", false
	}
	if file, ok := r.file(full, k); ok {
		return file, true
	}
	return r.file(path.Join(full, "index"), k)
}

// entrance finds the main source of a package by its usual names.
func (r *nodeResolver) entrance(p *nodePackage, k kind) (string, bool) {
	own := p.text("name")
	own = own[strings.LastIndexByte(own, '/')+1:]
	names := []string{"src/index", "index", "lib/index", "source/index", "src/main", "src/" + own}
	return firstFound(names, func(name string) (string, bool) { return r.file(path.Join(p.folder, name), k) })
}

// source finds the source of a built file: by the compiler's configuration, or in the usual places.
func (r *nodeResolver) source(p *nodePackage, target string, k kind) (string, bool) {
	target = path.Clean(target)
	if outside(target) {
		return "", false
	}
	if file, ok := r.compiled(p, target, k); ok {
		return file, true
	}
	return firstFound(nodeTails(target), func(tail string) (string, bool) {
		return firstFound([]string{"src", "source", "lib", ""}, func(folder string) (string, bool) {
			return r.origin(path.Join(p.folder, folder, tail), k)
		})
	})
}

// origin finds a source with the same name as a built file.
func (r *nodeResolver) origin(full string, k kind) (string, bool) {
	if stem, ok := strings.CutSuffix(full, ".css"); ok {
		return r.extended(stem, []string{".css", ".scss", ".sass", ".less"})
	}
	return r.extended(nodeStem(full), nodeCode(k))
}

// compiled finds the source of a built file by outDir, declarationDir and rootDir in the package's
// TypeScript configurations.
func (r *nodeResolver) compiled(p *nodePackage, target string, k kind) (string, bool) {
	full := path.Join(p.folder, target)
	for _, name := range []string{"tsconfig.json", "tsconfig.build.json", "tsconfig.lib.json"} {
		c := r.project(path.Join(p.folder, name))
		if c == nil {
			continue
		}
		for _, out := range []string{c.outDir, c.declarationDir} {
			rest, ok := strings.CutPrefix(full, out+"/")
			if out == "" || !ok {
				continue
			}
			for _, root := range c.roots(p.folder) {
				if file, ok := r.origin(path.Join(root, rest), k); ok {
					return file, true
				}
			}
		}
	}
	return "", false
}

// built finds the source of a built file that is imported by its path, as programs in bin do.
func (r *nodeResolver) built(full string, k kind) (string, bool) {
	if outside(full) {
		return "", false
	}
	p := r.packageOf(full)
	if p == nil {
		return "", false
	}
	target := strings.TrimPrefix(full, p.folder+"/")
	first, rest, _ := strings.Cut(target, "/")
	switch first {
	case "dist", "build", "out":
		if rest != "" {
			return r.source(p, target, k)
		}
		return r.entrance(p, k)
	}
	return "", false
}

// nodeStem removes the extensions that a built file may have.
func nodeStem(file string) string {
	folder, name := path.Split(file)
	for {
		extension := path.Ext(name)
		switch extension {
		case ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".d", ".esm", ".umd", ".min", ".production", ".development",
			".browser", ".node":
			if extension != name {
				name = strings.TrimSuffix(name, extension)
				continue
			}
		}
		return folder + name
	}
}

// nodeTails returns a path, and the path without leading output folders of build tools.
func nodeTails(file string) []string {
	tails := []string{file}
	for {
		first, rest, ok := strings.Cut(file, "/")
		if !ok || !nodeOutput(first) {
			return tails
		}
		file = rest
		tails = append(tails, file)
	}
}

// nodeOutput reports whether a folder name is a usual output folder of build tools.
func nodeOutput(folder string) bool {
	switch strings.TrimPrefix(folder, "_") {
	case "dist", "build", "built", "out", "output", "lib", "libs", "es", "es6", "es2015", "esm", "esm5", "esm2015", "cjs", "umd", "iife",
		"types", "typings", "dts", "module", "modules", "modern", "legacy", "node", "browser", "commonjs", "import", "require", "bundle",
		"bundles", "package", "tsc", "compiled", "release", "prod", "production", "development":
		return true
	}
	return strings.HasPrefix(folder, "dist-") || strings.HasPrefix(folder, "dist_")
}

// nodeEntries returns exports as an object of paths: it may be written as the value of "." alone.
func nodeEntries(exports any) jsonObject {
	if object, ok := exports.(jsonObject); ok && len(object) > 0 && strings.HasPrefix(object[0].name, ".") {
		return object
	}
	return jsonObject{{".", exports}}
}

// internal resolves "#x" by the imports field of the file's package.
func (r *nodeResolver) internal(text string, k kind) (string, bool) {
	p := r.packageOf(r.from)
	if p == nil {
		return "", false
	}
	table := p.object("imports")
	value, star, _ := nodeEntry(table, text, true)
	targets, _ := nodeTargets(value, star, r.conditions(k))
	for _, target := range targets {
		if !strings.HasPrefix(target, "./") && !strings.HasPrefix(target, "#") && target != "" {
			return r.bare(target, k)
		}
	}
	return r.exported(p, table, text, k)
}

// exported resolves a path by the exports or imports table of a package.
func (r *nodeResolver) exported(p *nodePackage, table jsonObject, beneath string, k kind) (string, bool) {
	value, star, ok := nodeEntry(table, beneath, true)
	if !ok {
		return "", false
	}
	chosen, denied := nodeTargets(value, star, r.conditions(k))
	if file, ok := r.firstOf(p, chosen, k); ok || denied {
		return file, ok
	}
	// The target for the conditions is a built file whose sources are not in the usual places. The
	// target for another condition may be a source, since tools that need no build have conditions
	// of their own.
	all, _ := nodeTargets(value, star, nil)
	if file, ok := r.firstOf(p, all, k); ok || beneath != "." {
		return file, ok
	}
	return r.entrance(p, k)
}

// firstOf returns the first existing target, otherwise the first whose source exists.
func (r *nodeResolver) firstOf(p *nodePackage, targets []string, k kind) (string, bool) {
	targets = slices.DeleteFunc(targets, func(target string) bool { return !strings.HasPrefix(target, "./") })
	if file, ok := firstFound(targets, func(target string) (string, bool) { return r.exact(path.Join(p.folder, target)) }); ok {
		return file, true
	}
	return firstFound(targets, func(target string) (string, bool) { return r.source(p, target, k) })
}

// conditions returns the conditions that hold for an import, besides default.
func (r *nodeResolver) conditions(k kind) map[string]bool {
	held := map[string]bool{
		"import": k != jsRequire, "require": k == jsRequire, "module": true, "node": true, "types": k == jsTypeOnly,
		"style": k == cssImport, "sass": k == cssImport,
	}
	for _, c := range r.config() {
		for _, name := range c.conditions {
			held[name] = true
		}
	}
	return held
}

// nodeEntry finds the entry of a table for a path: an exact one, or the pattern with the longest
// text before its star, then after it, with what the star matches. In a package's table the star
// must match something, and a pattern that ends in a slash implies a star.
func nodeEntry(table jsonObject, text string, ofPackage bool) (value any, star string, ok bool) {
	longest, length := -1, -1
	for _, member := range table {
		if member.name == text && !strings.Contains(text, "*") {
			return member.value, "", true
		}
		before, after, pattern := strings.Cut(member.name, "*")
		fits := len(text) >= len(before)+len(after) && strings.HasPrefix(text, before) && strings.HasSuffix(text, after)
		if !fits || !pattern && (!ofPackage || !strings.HasSuffix(before, "/")) || ofPackage && len(text) == len(before)+len(after) {
			continue
		}
		if len(before) > longest || len(before) == longest && len(member.name) > length {
			longest, length = len(before), len(member.name)
			value, star, ok = member.value, text[len(before):len(text)-len(after)], true
		}
	}
	return value, star, ok
}

// nodeTargets returns the files that an entry names, in order: those under conditions that hold, or
// all if held is nil. It stops at null, by which a package hides a path.
func nodeTargets(value any, star string, held map[string]bool) (found []string, stop bool) {
	switch v := value.(type) {
	case string:
		if strings.HasSuffix(v, "/") {
			return []string{v + star}, false
		}
		return []string{strings.ReplaceAll(v, "*", star)}, false
	case []any:
		for _, element := range v {
			inner, _ := nodeTargets(element, star, held)
			found = append(found, inner...)
		}
		return found, false
	case jsonObject:
		for _, member := range v {
			if held != nil && !held[member.name] && member.name != "default" {
				continue
			}
			inner, end := nodeTargets(member.value, star, held)
			found = append(found, inner...)
			if end && held != nil {
				return found, true
			}
		}
		return found, false
	}
	return nil, true
}
