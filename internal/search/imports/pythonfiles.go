package imports

import (
	"path"
	"slices"
	"strings"

	"remit/internal/search/lexical"
)

// resolvePython returns the files of the imported modules: the module itself, not the packages
// around it, though Python runs their __init__ files first. A stub (.pyi) is returned with its
// module, or in its place.
func resolvePython(files Files, from string, specs []spec) []string {
	r := pythonResolver{files: files, from: from}
	var found []string
	for _, s := range specs {
		module, member, _ := strings.Cut(s.text, " ")
		found = append(found, r.resolve(module, member)...)
	}
	return found
}

type pythonResolver struct {
	files  Files
	from   string
	known  []string              // the roots for absolute names, once computed
	others [][]string            // the same for every project of the workspace
	having map[string][][]string // those of others that contain a name
}

// resolve finds a module, or its submodule named member if there is one.
func (r *pythonResolver) resolve(module, member string) []string {
	dots := len(module) - len(strings.TrimLeft(module, "."))
	names := strings.FieldsFunc(module[dots:], func(c rune) bool { return c == '.' })
	if dots > 0 {
		folder, ok := within(path.Dir(r.from), strings.Repeat("../", dots-1))
		if !ok {
			return nil
		}
		found, _ := r.find([]string{folder}, names, member)
		return found
	}
	if len(names) == 0 || isPythonBuiltin(names[0]) {
		return nil
	}
	return r.absolute(names, member)
}

// absolute looks in all roots together, as Python does; then in one after the other, because only
// the person who runs the program knows the true list of roots; then in the other projects of the
// workspace, if only one of them has the module.
func (r *pythonResolver) absolute(names []string, member string) []string {
	roots := r.roots()
	if found, ok := r.find(roots, names, member); ok {
		return found
	}
	for _, root := range roots {
		if found, ok := r.find([]string{root}, names, member); ok {
			return found
		}
	}
	var only []string
	for _, project := range r.projects(names[0]) {
		found, ok := r.find(project, names, member)
		if ok && only != nil && !slices.Equal(found, only) {
			return nil
		}
		if ok {
			only = found
		}
	}
	return only
}

// find returns the files of a module below folders, or those of the submodule member if there is
// one. It returns false if there are no such files: a package without an __init__ file has none.
func (r *pythonResolver) find(folders, names []string, member string) ([]string, bool) {
	var found []string
	if len(names) == 0 && len(folders) == 1 {
		found = r.sources(path.Join(folders[0], "__init__"))
	}
	for _, name := range names {
		if found, folders = r.step(folders, name); found == nil && folders == nil {
			return nil, false
		}
	}
	if member != "" && member != "*" && folders != nil {
		if inner, _ := r.step(folders, member); inner != nil {
			return inner, true
		}
	}
	return found, found != nil
}

// step finds a module by one name in folders: its files, and the folders of its submodules. A
// package or a module in any of the folders takes precedence over folders that are not marked as
// packages.
func (r *pythonResolver) step(folders []string, name string) (sources, inside []string) {
	for _, folder := range folders {
		place := path.Join(folder, name)
		if sources := r.sources(path.Join(place, "__init__")); sources != nil {
			return sources, []string{place}
		}
		if sources := r.sources(place); sources != nil {
			return sources, nil
		}
		if len(r.files.List(place)) > 0 {
			inside = append(inside, place)
		}
	}
	return nil, inside
}

// sources returns the source and the stub of a module by its path without an extension.
func (r *pythonResolver) sources(module string) []string {
	var found []string
	for _, ending := range []string{".py", ".pyi"} {
		if r.files.Has(module + ending) {
			found = append(found, module+ending)
		}
	}
	return found
}

// roots returns the folders in which absolute names are looked up: that of the script, which is the
// first above that is not a package; those of the project; and all folders above that are not
// packages.
func (r *pythonResolver) roots() []string {
	if r.known != nil {
		return r.known
	}
	isRoot := func(folder string) bool { return r.sources(path.Join(folder, "__init__")) == nil }
	script, _ := nearest(path.Dir(r.from), isRoot)
	roots := []string{script}
	if project, ok := nearest(path.Dir(r.from), func(folder string) bool { return isPythonProject(r.files, folder) }); ok {
		roots = append(roots, pythonProjectRoots(r.files, project)...)
	}
	for folder := range upwards(path.Dir(r.from)) {
		if isRoot(folder) {
			roots = append(roots, folder)
		}
	}
	r.known = once(append(roots, ".", "src"), "")
	return r.known
}

// maxProjects limits the projects of a workspace that are examined.
const maxProjects = 100

// projects returns the roots of every project of the workspace that has a module or a folder of
// this name. It ignores modules of Python's standard library.
func (r *pythonResolver) projects(name string) [][]string {
	if pythonStandard()[name] {
		return nil
	}
	if r.having == nil {
		r.having = map[string][][]string{}
		r.others = allPythonProjects(r.files)
	}
	return cached(r.having, name, func() (found [][]string) {
		for _, roots := range r.others {
			if sources, inside := r.step(roots, name); sources != nil || inside != nil {
				found = append(found, roots)
			}
		}
		return found
	})
}

// allPythonProjects returns the roots of the projects of a workspace, a list for each.
func allPythonProjects(files Files) [][]string {
	var all [][]string
	seen := map[string]bool{}
	for _, manifest := range pythonManifests() {
		for _, file := range files.Named(manifest) {
			folder := path.Dir(file)
			if !seen[folder] && len(all) < maxProjects {
				seen[folder] = true
				all = append(all, pythonProjectRoots(files, folder))
			}
		}
	}
	return all
}

// isPythonBuiltin reports whether a module is part of the interpreter, and so takes precedence over
// any file.
func isPythonBuiltin(name string) bool {
	builtins := []string{"_thread", "atexit", "builtins", "errno", "faulthandler", "gc", "itertools", "marshal", "sys", "time"}
	return slices.Contains(builtins, name)
}

// pythonManifests returns the files that make a folder a project, the most informative first.
func pythonManifests() []string { return []string{"pyproject.toml", "setup.cfg", "setup.py"} }

func isPythonProject(files Files, folder string) bool {
	return slices.ContainsFunc(pythonManifests(), func(name string) bool { return files.Has(path.Join(folder, name)) })
}

// pythonProjectRoots returns the folders in which a project keeps its packages: those in its
// manifests, then src, then its own.
func pythonProjectRoots(files Files, project string) []string {
	var named []string
	for _, manifest := range pythonManifests() {
		content, ok := readIn(files, project, manifest)
		if !ok {
			continue
		}
		switch manifest {
		case "pyproject.toml":
			named = append(named, pyprojectRoots(parseTOML(content))...)
		case "setup.cfg":
			named = append(named, setupConfigRoots(string(content))...)
		case "setup.py":
			named = append(named, setupScriptRoots(content)...)
		}
	}
	var roots []string
	for _, name := range append(named, "src", ".") {
		if root, ok := within(project, name); ok {
			roots = append(roots, root)
		}
	}
	return once(roots)
}

// pyprojectRoots reads the source folders from the settings of Python's build tools.
func pyprojectRoots(t tomlTable) []string {
	roots := slices.Concat(
		t.texts("tool", "setuptools", "packages", "find", "where"),
		t.texts("tool", "pdm", "build", "package-dir"),
		t.texts("tool", "uv", "build-backend", "module-root"),
		t.texts("tool", "maturin", "python-source"),
		t.texts("tool", "hatch", "build", "sources"),
		t.texts("tool", "hatch", "build", "dev-mode-dirs"),
		t.texts("tool", "hatch", "build", "targets", "wheel", "sources"),
		t.texts("tool", "pytest", "ini_options", "pythonpath"),
		t.texts("tool", "pyright", "extraPaths"),
	)
	folders := t.table("tool", "setuptools", "package-dir")
	for name := range folders {
		roots = append(roots, packageRoot(name, folders.text(name))...)
	}
	slices.Sort(roots)
	for _, p := range t.tables("tool", "poetry", "packages") {
		if from := p.text("from"); from != "" {
			roots = append(roots, from)
		}
	}
	for _, list := range [][]string{
		t.texts("tool", "hatch", "build", "targets", "wheel", "packages"),
		t.texts("tool", "hatch", "build", "packages"),
		t.texts("tool", "scikit-build", "wheel", "packages"),
	} {
		for _, folder := range list {
			roots = append(roots, path.Dir(path.Clean(folder)))
		}
	}
	return roots
}

// packageRoot returns where packages are if the named one is in a folder. No name means all
// packages.
func packageRoot(name, folder string) []string {
	above, ok := strings.CutSuffix(path.Clean(folder), strings.ReplaceAll(name, ".", "/"))
	if folder == "" || !ok || name != "" && above != "" && !strings.HasSuffix(above, "/") {
		return nil
	}
	return []string{path.Clean(above)}
}

// setupConfigRoots reads package_dir and packages.find of a setup.cfg.
func setupConfigRoots(content string) []string {
	var roots []string
	section, key := "", ""
	for line := range strings.Lines(content) {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';' {
			continue
		}
		value := trimmed
		switch name, after, ok := strings.Cut(trimmed, "="); {
		case trimmed[0] == '[':
			section, key = strings.Trim(trimmed, "[] "), ""
			continue
		case ok && line[0] != ' ' && line[0] != '\t':
			key, value = strings.TrimSpace(name), strings.TrimSpace(after)
		}
		switch section + " " + key {
		case "options.packages.find where":
			roots = append(roots, strings.Fields(value)...)
		case "options package_dir":
			if name, folder, ok := strings.Cut(value, "="); ok {
				roots = append(roots, packageRoot(strings.TrimSpace(name), strings.TrimSpace(folder))...)
			}
		}
	}
	return roots
}

// setupScriptRoots finds find_packages("src"), where="src" and package_dir={"": "src"} in a
// setup.py.
func setupScriptRoots(content []byte) []string {
	var roots []string
	var before [5]lexical.Token // the tokens before the current one, the latest first
	is := func(t lexical.Token, texts ...string) bool {
		return t.Kind != lexical.Text && slices.Contains(texts, t.Text)
	}
	for s := scanPython(content); s.Tok.Kind != lexical.End; s.next() {
		if isText(s.Tok) {
			finds := is(before[0], "(") && is(before[1], "find_packages", "find_namespace_packages")
			where := is(before[0], "=") && is(before[1], "where")
			first := is(before[0], ":") && is(before[2], "{") && is(before[3], "=") && is(before[4], "package_dir")
			switch {
			case finds || where:
				roots = append(roots, s.Tok.Text)
			case first && isText(before[1]):
				roots = append(roots, packageRoot(before[1].Text, s.Tok.Text)...)
			}
		}
		copy(before[1:], before[:])
		before[0] = s.Tok
	}
	return roots
}
