package imports

import (
	"path"
	"strings"
)

// A nodePackage is a package.json and where it lies.
type nodePackage struct {
	folder string
	jsonObject
}

// packageIn reads the package.json of a folder, nil if there is none.
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

// packageOf gives the package that a file belongs to, nil if it belongs to none.
func (r *nodeResolver) packageOf(file string) *nodePackage {
	for folder := range upwards(path.Dir(file)) {
		if p := r.packageIn(folder); p != nil {
			return p
		}
	}
	return nil
}

// nodeSplit splits @scope/name/rest into the package's name and the path beneath it, which begins with a dot.
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

// offered resolves what a package offers under a path beneath it: by its exports if it says any, else by file.
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

// main resolves what a package gives by its main file.
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

// target resolves what a main field names: a file, with or without its extension, or a folder with an index.
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

// entrance finds the main source of a package by the names it usually has.
func (r *nodeResolver) entrance(p *nodePackage, k kind) (string, bool) {
	own := p.text("name")
	own = own[strings.LastIndexByte(own, '/')+1:]
	names := []string{"src/index", "index", "lib/index", "source/index", "src/main", "src/" + own}
	return firstFound(names, func(name string) (string, bool) { return r.file(path.Join(p.folder, name), k) })
}

// source finds the file that a built one comes from: as the configuration of the compiler says, or where sources
// usually are.
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

// origin finds a file of the same name that another one can be made from.
func (r *nodeResolver) origin(full string, k kind) (string, bool) {
	if stem, ok := strings.CutSuffix(full, ".css"); ok {
		return r.extended(stem, []string{".css", ".scss", ".sass", ".less"})
	}
	return r.extended(nodeStem(full), nodeCode(k))
}

// compiled finds a source by outDir and rootDir of the package's configurations.
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

// built finds the source of a built file that is imported by its path, as programs beneath bin do it.
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

// nodeStem takes the extensions off that a built file may have.
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

// nodeTails gives a path, and the path without the folders at its front that build tools write to.
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

// nodeOutput tells whether a folder's name is one of those that build tools write to.
func nodeOutput(folder string) bool {
	switch strings.TrimPrefix(folder, "_") {
	case "dist", "build", "built", "out", "output", "lib", "libs", "es", "es6", "es2015", "esm", "esm5", "esm2015", "cjs", "umd", "iife",
		"types", "typings", "dts", "module", "modules", "modern", "legacy", "node", "browser", "commonjs", "import", "require", "bundle",
		"bundles", "package", "tsc", "compiled", "release", "prod", "production", "development":
		return true
	}
	return strings.HasPrefix(folder, "dist-") || strings.HasPrefix(folder, "dist_")
}
