package imports

import (
	"path"
	"strings"
)

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
	for _, tail := range nodeTails(target) {
		for _, folder := range []string{"src", "source", "lib", ""} {
			if file, ok := r.origin(path.Join(p.folder, folder, tail), k); ok {
				return file, true
			}
		}
	}
	return "", false
}

// origin finds a file of the same name that another one can be made from.
func (r *nodeResolver) origin(full string, k kind) (string, bool) {
	stem, extensions := nodeStem(full), nodeCode(k)
	if path.Ext(full) == ".css" {
		stem, extensions = strings.TrimSuffix(full, ".css"), []string{".css", ".scss", ".sass", ".less"}
	}
	for _, extension := range extensions {
		if file, ok := r.exact(stem + extension); ok {
			return file, true
		}
	}
	return "", false
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
