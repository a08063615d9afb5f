package imports

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// mostModules is how many modules of a workspace are looked into for a package.
const mostModules = 500

func jvmEndings() []string { return []string{".java", ".kt", ".scala"} }

// A sourceRoot is a folder under which packages are folders, without those of prefix: Kotlin lets a project leave out
// the part that all of its packages share.
type sourceRoot struct {
	folder string
	prefix string   // with a dot at the end, unless empty
	inside []string // what is in the folder
}

// A jvm resolves the imports of one file of Java, Kotlin or Scala.
type jvm struct {
	files    Files
	from     string
	own      sourceRoot
	isTest   bool
	roots    []sourceRoot          // found when first needed
	searched bool                  // whether they were
	packages map[string][][]string // the files of packages that were asked for, by source set
}

// jvmFiles resolves the imports of Java, Kotlin and Scala: in the file's own source root, then in whatever root of the
// workspace is nearest.
func jvmFiles(files Files, from string, specs []spec) []string {
	r := &jvm{files: files, from: from, isTest: isJVMTest(from), packages: map[string][][]string{}}
	r.own = sourceRoot{folder: path.Dir(from)}
	for _, s := range specs {
		if s.kind == jvmPackage {
			r.own = rootOf(from, s.text)
		}
	}
	r.own.inside = files.In(r.own.folder)
	var found []string
	for _, s := range specs {
		switch s.kind {
		case jvmName:
			found = append(found, r.name(s.text)...)
		case jvmAll:
			found = append(found, r.all(s.text)...)
		}
	}
	return found
}

// rootOf gives the source root of a file by the package that it says it is in.
func rootOf(from, packageName string) sourceRoot {
	root := sourceRoot{folder: path.Dir(from)}
	rest := strings.Split(packageName, ".")
	for len(rest) > 0 && path.Base(root.folder) == rest[len(rest)-1] {
		root.folder = path.Dir(root.folder)
		rest = rest[:len(rest)-1]
	}
	if len(rest) > 0 {
		root.prefix = strings.Join(rest, ".") + "."
	}
	return root
}

// name resolves the name of a class, of what is in one, or of a function or property of a package.
func (r *jvm) name(name string) []string {
	for end := len(name); end > 0; end = strings.LastIndexByte(name[:end], '.') {
		part := name[:end]
		if part != name && !strings.Contains(part, ".") {
			break
		}
		if file, ok := r.class(part); ok {
			return []string{file}
		}
		if file, ok := r.declaring(part); ok {
			return []string{file}
		}
	}
	return nil
}

// all resolves a.b.*, where a.b is a class or a package.
func (r *jvm) all(name string) []string {
	if file, ok := r.class(name); ok {
		return []string{file}
	}
	if sets := r.setsOf(name); len(sets) > 0 {
		return sets[0][:min(len(sets[0]), mostOfPackage)]
	}
	return r.name(name)
}

// class finds the file that is named after a class.
func (r *jvm) class(name string) (string, bool) {
	if rest, ok := strings.CutPrefix(name, r.own.prefix); ok {
		for _, ending := range jvmEndings() {
			file := path.Join(r.own.folder, strings.ReplaceAll(rest, ".", "/")+ending)
			if r.files.Has(file) {
				return file, true
			}
		}
	}
	if !strings.Contains(name, ".") {
		return "", false
	}
	tail := strings.ReplaceAll(name, ".", "/")
	var found []string
	for _, ending := range jvmEndings() {
		found = append(found, endingIn(r.files, tail+ending)...)
	}
	if len(found) == 0 {
		return "", false
	}
	return slices.MinFunc(found, r.nearer), true
}

// declaring finds the file of a package that declares a name, in Kotlin or Scala, whatever the file is called.
func (r *jvm) declaring(name string) (string, bool) {
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return "", false
	}
	for _, set := range r.setsOf(name[:dot]) {
		for _, file := range set {
			declaration := kotlinDeclaration
			switch path.Ext(file) {
			case ".java":
				continue
			case ".scala":
				declaration = scalaDeclaration
			}
			if content, err := r.files.Read(file); err == nil && declares(content, name[dot+1:], declaration) {
				return file, true
			}
		}
	}
	return "", false
}

// setsOf gives the files of a package, by source set, the nearest first: a set may have roots for several languages.
func (r *jvm) setsOf(name string) [][]string {
	if sets, ok := r.packages[name]; ok {
		return sets
	}
	var sets [][]string
	last := ""
	for _, root := range r.allRoots() {
		rest, ok := strings.CutPrefix(name+".", root.prefix)
		if !ok || !root.holds(rest) {
			continue
		}
		found := inFolder(r.files, path.Join(root.folder, strings.ReplaceAll(rest, ".", "/")), jvmEndings()...)
		if len(found) == 0 {
			continue
		}
		if set := path.Dir(root.folder); set == last {
			sets[len(sets)-1] = append(sets[len(sets)-1], found...)
		} else {
			sets, last = append(sets, found), set
		}
	}
	if len(sets) == 0 {
		sets = r.described(name)
	}
	r.packages[name] = sets
	return sets
}

// described gives the files of a package that has a package-info.java, wherever its root is.
func (r *jvm) described(name string) [][]string {
	infos := endingIn(r.files, strings.ReplaceAll(name, ".", "/")+"/package-info.java")
	if len(infos) == 0 {
		return nil
	}
	return [][]string{inFolder(r.files, path.Dir(slices.MinFunc(infos, r.nearer)), jvmEndings()...)}
}

// holds tells whether the first folder of a package, given with dots, is in the root.
func (root sourceRoot) holds(packageName string) bool {
	first, _, _ := strings.Cut(packageName, ".")
	return first == "" || slices.Contains(root.inside, first+"/")
}

// allRoots gives the file's own root, and those of the modules of the workspace, the nearest first.
func (r *jvm) allRoots() []sourceRoot {
	if r.searched {
		return r.roots
	}
	r.searched = true
	seen := map[string]bool{}
	var others []string
	for _, build := range []string{"pom.xml", "build.gradle", "build.gradle.kts", "build.xml", "build.sbt"} {
		for _, file := range r.files.Named(build) {
			if module := path.Dir(file); !seen[module] && len(seen) < mostModules {
				seen[module] = true
				others = append(others, r.moduleRoots(module)...)
			}
		}
	}
	slices.SortStableFunc(others, r.nearer)
	r.roots = append(r.roots, r.own)
	for _, folder := range others {
		if folder == r.own.folder {
			continue
		}
		r.roots = append(r.roots, sourceRoot{folder: folder, inside: r.files.In(folder)})
	}
	return r.roots
}

// moduleRoots gives the source roots of a module: src/main/java and the like, and src itself.
func (r *jvm) moduleRoots(module string) []string {
	src := path.Join(module, "src")
	roots := []string{src}
	for _, set := range r.files.In(src) {
		if !strings.HasSuffix(set, "/") {
			continue
		}
		for _, root := range r.files.In(path.Join(src, set)) {
			if root == "java/" || root == "kotlin/" || root == "scala/" {
				roots = append(roots, path.Join(src, set, root))
			}
		}
	}
	return roots
}

// nearer orders files and roots by how likely the file that imports means them: what is not for tests, unless it is a
// test itself; what is in the same module; what is in src/main.
func (r *jvm) nearer(a, b string) int {
	return cmp.Or(
		compareBool(!r.isTest && isJVMTest(a), !r.isTest && isJVMTest(b)),
		cmp.Compare(shared(r.from, b+"/"), shared(r.from, a+"/")),
		compareBool(!isMain(a), !isMain(b)),
		cmp.Compare(a, b),
	)
}

func isMain(file string) bool { return strings.Contains("/"+file+"/", "/src/main/") }

func isJVMTest(file string) bool {
	for part := range strings.SplitSeq(path.Dir(file), "/") {
		if part == "test" || part == "tests" || strings.HasSuffix(part, "Test") {
			return true
		}
	}
	return false
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
