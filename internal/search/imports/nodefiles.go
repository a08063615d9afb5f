package imports

import (
	"path"
	"slices"
	"strings"
)

// A nodeResolver finds the files that the scripts of one folder import, as TypeScript and bundlers
// do. It caches the configuration it has read, and is used for the imports of one file only.
type nodeResolver struct {
	files    Files
	from     string
	typed    bool // the importing file is TypeScript
	packages map[string]*nodePackage
	spaces   map[string]*nodeSpace // by root folder
	configs  map[string]*tsConfig
	going    []*tsConfig // the configurations that apply to from, once searched
	searched bool        // whether going is set
}

func newNodeResolver(files Files, from string) *nodeResolver {
	return &nodeResolver{
		files: files, from: from, typed: nodeTyped(from),
		packages: map[string]*nodePackage{}, spaces: map[string]*nodeSpace{}, configs: map[string]*tsConfig{},
	}
}

// nodeTyped reports whether a file is TypeScript, or may contain some.
func nodeTyped(file string) bool {
	return slices.Contains([]string{".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte", ".astro"}, path.Ext(file))
}

// resolve finds the file of one import. It ignores a query or fragment after the path, which is for
// the bundler.
func (r *nodeResolver) resolve(s spec) (string, bool) {
	if file, ok := r.written(s); ok {
		return file, true
	}
	if n := strings.IndexAny(s.text[1:], "?#"); n >= 0 {
		s.text = s.text[:n+1]
		return r.written(s)
	}
	return "", false
}

// written resolves an import exactly as written.
func (r *nodeResolver) written(s spec) (string, bool) {
	text, folder := s.text, path.Dir(r.from)
	switch s.kind {
	case jsReference, jsURL, cssURL:
		return r.exact(path.Join(folder, text))
	case htmlLink:
		return r.link(text)
	case cssImport:
		if file, ok := r.stylesheet(path.Join(folder, text)); ok {
			return file, true
		}
	}
	if nodeRelative(text) {
		return r.relative(text, s.kind)
	}
	if file, ok := r.mapped(text, s.kind); ok {
		return file, true
	}
	switch {
	case text[0] == '/' || hasScheme(text):
		return "", false
	case text[0] == '#':
		return r.internal(text, s.kind)
	}
	return r.bare(text, s.kind)
}

func nodeRelative(text string) bool {
	return text == "." || text == ".." || strings.HasPrefix(text, "./") || strings.HasPrefix(text, "../")
}

// exact returns a path if it is that of a file of the workspace.
func (r *nodeResolver) exact(file string) (string, bool) {
	if outside(file) || nodeForeign(file) || !r.files.Has(file) {
		return "", false
	}
	return file, true
}

// nodeForeign reports whether a path leads into packages that a package manager has installed.
func nodeForeign(file string) bool {
	return strings.HasPrefix(file, "node_modules/") || strings.Contains(file, "/node_modules/")
}

// relative resolves ./x and ../x; with rootDirs, from each of the overlaid folders.
func (r *nodeResolver) relative(text string, k kind) (string, bool) {
	folder := path.Dir(r.from)
	if file, ok := r.beneath(folder, text, k); ok {
		return file, true
	}
	for _, c := range r.config() {
		for _, other := range c.overlaid(folder) {
			if file, ok := r.beneath(other, text, k); ok {
				return file, true
			}
		}
	}
	return r.built(path.Join(folder, text), k)
}

// beneath resolves a path in a folder. A path that ends in a slash, or in dots, is a folder itself.
func (r *nodeResolver) beneath(folder, text string, k kind) (string, bool) {
	full := path.Join(folder, text)
	if last := text[strings.LastIndexByte(text, '/')+1:]; last == "" || last == "." || last == ".." {
		return r.folder(full, k)
	}
	return r.place(full, k)
}

// place resolves the path of a file, whose extension may be omitted, or of a folder.
func (r *nodeResolver) place(full string, k kind) (string, bool) {
	if outside(full) {
		return "", false
	}
	if file, ok := r.file(full, k); ok {
		return file, true
	}
	return r.folder(full, k)
}

// file resolves the path of a file, whose extension may be omitted or be that of its compiled
// output. For type-only imports, declarations take precedence over compiled code.
func (r *nodeResolver) file(full string, k kind) (string, bool) {
	if !r.typed {
		if file, ok := r.exact(full); ok {
			return file, true
		}
	}
	compiled, isCompiled := nodeCompiled[path.Ext(full)]
	stem := strings.TrimSuffix(full, path.Ext(full))
	if file, ok := r.extended(stem, compiled.sources); ok {
		return file, true
	}
	if k == jsTypeOnly && isCompiled {
		if file, ok := r.exact(stem + compiled.declaration); ok {
			return file, true
		}
	}
	if file, ok := r.exact(full); ok {
		return file, true
	}
	if file, ok := r.extended(full, append(nodeCode(k), ".json", ".vue", ".svelte", ".astro", ".css")); ok || !isCompiled {
		return file, ok
	}
	return r.exact(stem + compiled.declaration)
}

// extended finds the first existing file of a path with one of the extensions.
func (r *nodeResolver) extended(stem string, extensions []string) (string, bool) {
	return firstFound(extensions, func(extension string) (string, bool) { return r.exact(stem + extension) })
}

// nodeCompiled maps the extensions of compiled code to those of its sources and declarations.
var nodeCompiled = map[string]struct {
	sources     []string
	declaration string
}{
	".js":  {[]string{".ts", ".tsx"}, ".d.ts"},
	".jsx": {[]string{".tsx", ".ts"}, ".d.ts"},
	".mjs": {[]string{".mts"}, ".d.mts"},
	".cjs": {[]string{".cts"}, ".d.cts"},
}

// nodeCode returns the extensions of scripts, in order. Declarations come before code for type-only
// imports.
func nodeCode(k kind) []string {
	if k == jsTypeOnly {
		return []string{".ts", ".tsx", ".d.ts", ".mts", ".cts", ".d.mts", ".d.cts", ".js", ".jsx", ".mjs", ".cjs"}
	}
	return []string{".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".d.ts", ".d.mts", ".d.cts"}
}

// folder resolves a folder: by its package.json, or to its index.
func (r *nodeResolver) folder(full string, k kind) (string, bool) {
	if outside(full) {
		return "", false
	}
	if p := r.packageIn(full); p != nil {
		if file, ok := r.main(p, k); ok {
			return file, true
		}
	}
	return r.file(path.Join(full, "index"), k)
}
