package imports

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// maxModules is the maximum number of modules of a workspace that are searched for a package. The
// nearest modules are searched.
const maxModules = 100

func jvmEndings() []string { return []string{".java", ".kt", ".scala"} }

// A jvm resolves the imports of one file of Java, Kotlin or Scala.
type jvm struct {
	files    Files
	from     string
	own      sourceRoot
	isTest   bool
	packages map[string][][]string // the files of packages, by source set; a cache
	places   map[string][]jvmPlace // the folders of packages; a cache
}

// A jvmPlace is the folder of a package in a source set.
type jvmPlace struct{ set, folder string }

func jvmPlaceAt(root string) jvmPlace { return jvmPlace{path.Dir(root), root} }

// resolveJVM resolves the imports of Java, Kotlin and Scala: in the file's own source root, then in
// the nearest roots of the workspace.
func resolveJVM(files Files, from string, specs []spec) []string {
	r := &jvm{files: files, from: from, isTest: isJVMTest(from), packages: map[string][][]string{}, places: map[string][]jvmPlace{}}
	r.own = sourceRoot{folder: path.Dir(from)}
	for _, s := range specs {
		if s.kind == ownName {
			r.own = rootOf(from, s.text)
		}
	}
	return resolveNames(specs, r.name, r.all)
}

// name resolves the name of a class, of a member of one, or of a function or property of a package.
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
		return sets[0][:min(len(sets[0]), maxOfPackage)]
	}
	return r.name(name)
}

// class finds the file that is named after a class.
func (r *jvm) class(name string) (string, bool) {
	if file, ok := firstPlace(r.files, []sourceRoot{r.own}, name, jvmEndings()...); ok {
		return file, true
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

// declaring finds the file of a package that declares a name, in Kotlin or Scala, whatever the
// file's name.
func (r *jvm) declaring(name string) (string, bool) {
	namespace, _ := splitName(name)
	if namespace == "" {
		return "", false
	}
	return firstFound(r.setsOf(namespace), func(set []string) (string, bool) { return firstDeclaring(r.files, set, name) })
}

// setsOf returns the files of a package, by source set, the nearest first: a set may have roots for
// several languages.
func (r *jvm) setsOf(name string) [][]string {
	return cached(r.packages, name, func() [][]string { return r.findSets(name) })
}

func (r *jvm) findSets(name string) [][]string {
	var sets [][]string
	last := ""
	for _, place := range r.placesOf(name) {
		found := inFolder(r.files, place.folder, jvmEndings()...)
		if len(found) == 0 {
			continue
		}
		if place.set == last {
			sets[len(sets)-1] = append(sets[len(sets)-1], found...)
		} else {
			sets, last = append(sets, found), place.set
		}
	}
	if len(sets) == 0 {
		return r.described(name)
	}
	return sets
}

// placesOf returns the folders of a package, the nearest first. They are below those of the parent
// package: if that does not exist, as with most external packages, no search is needed.
func (r *jvm) placesOf(name string) []jvmPlace {
	places, known := r.places[name]
	if known {
		return places
	}
	if name == "" {
		places = r.roots()
	} else {
		dot := strings.LastIndexByte(name, '.')
		if r.own.prefix == name+"." {
			places = append(places, jvmPlaceAt(r.own.folder))
		}
		for _, around := range r.placesOf(name[:max(dot, 0)]) {
			if folder, ok := folderAt(r.files, around.folder, name[dot+1:]); ok {
				places = append(places, jvmPlace{around.set, folder})
			}
		}
	}
	r.places[name] = places
	return places
}

// described returns the files of a package that has a package-info.java, wherever its root is.
func (r *jvm) described(name string) [][]string {
	infos := endingIn(r.files, strings.ReplaceAll(name, ".", "/")+"/package-info.java")
	if len(infos) == 0 {
		return nil
	}
	return [][]string{inFolder(r.files, path.Dir(slices.MinFunc(infos, r.nearer)), jvmEndings()...)}
}

// roots returns the source roots that have every folder of their packages, the nearest first: the
// file's own, unless it omits some, and those of the modules of the workspace.
func (r *jvm) roots() []jvmPlace {
	var folders []string
	for _, module := range r.modules() {
		folders = append(folders, r.moduleRoots(module)...)
	}
	slices.SortStableFunc(folders, r.nearer)
	var places []jvmPlace
	if r.own.prefix == "" {
		places = append(places, jvmPlaceAt(r.own.folder))
	}
	for _, folder := range once(folders, r.own.folder) {
		places = append(places, jvmPlaceAt(folder))
	}
	return places
}

// modules returns the folders of the nearest modules of the workspace.
func (r *jvm) modules() []string {
	var modules []string
	for _, build := range []string{"pom.xml", "build.gradle", "build.gradle.kts", "build.xml", "build.sbt"} {
		for _, file := range r.files.Named(build) {
			modules = append(modules, path.Dir(file))
		}
	}
	modules = once(modules)
	slices.SortStableFunc(modules, func(a, b string) int {
		return cmp.Compare(shared(r.from, b+"/"), shared(r.from, a+"/"))
	})
	return modules[:min(len(modules), maxModules)]
}

// moduleRoots returns the source roots of a module: src/main/java and the like, and src itself.
func (r *jvm) moduleRoots(module string) []string {
	src := path.Join(module, "src")
	roots := []string{src}
	for _, set := range inFolder(r.files, src, "/") {
		for _, name := range []string{"java", "kotlin", "scala"} {
			if root, ok := folderAt(r.files, set, name); ok {
				roots = append(roots, root)
			}
		}
	}
	return roots
}

// nearer orders files and roots by how likely the importing file means them: non-test code, unless
// it is a test itself; the same module; src/main.
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
	return slices.ContainsFunc(strings.Split(path.Dir(file), "/"), func(part string) bool {
		return part == "test" || part == "tests" || strings.HasSuffix(part, "Test")
	})
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
