package imports

import (
	"path"
	"slices"
	"strings"

	"remit/internal/search/lexical"
)

// pythonManifests names the files that make a folder a project, the most telling first.
func pythonManifests() []string { return []string{"pyproject.toml", "setup.cfg", "setup.py"} }

func isPythonProject(files Files, folder string) bool {
	return slices.ContainsFunc(pythonManifests(), func(name string) bool { return files.Has(path.Join(folder, name)) })
}

// pythonProjectRoots gives the folders in which a project keeps its packages: those that its manifests name, then src,
// then its own.
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

// pyprojectRoots reads what the build tools of Python call their source folders.
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

// packageRoot says where packages are if the named one is in a folder. No name means all of them.
func packageRoot(name, folder string) []string {
	above, ok := strings.CutSuffix(path.Clean(folder), strings.ReplaceAll(name, ".", "/"))
	switch {
	case folder == "" || !ok:
		return nil
	case name == "" || above == "":
		return []string{path.Clean(above)}
	case strings.HasSuffix(above, "/"):
		return []string{path.Clean(above)}
	}
	return nil
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

// setupScriptRoots finds find_packages("src"), where="src" and package_dir={"": "src"} in a setup.py.
func setupScriptRoots(content []byte) []string {
	var roots []string
	var before [5]lexical.Token // the tokens before the current one, the last first
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
