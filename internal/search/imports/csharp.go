package imports

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// maxReferences limits the number of referenced projects that are followed from that of a file.
const maxReferences = 64

// resolveCSharp resolves using directives by the convention that a namespace is a folder of a
// project: the file's own, and those that it references. Only files that are in the namespace
// count.
func resolveCSharp(files Files, from string, specs []spec) []string {
	r := csharp{files: files, projects: csharpProjects(files, from, specs)}
	return resolveNames(specs, r.namespace, r.typeOrNamespace)
}

// A csharp resolves the directives of one file.
type csharp struct {
	files    Files
	projects []sourceRoot
}

// namespace returns the files of a namespace in the first project that has any.
func (r csharp) namespace(name string) []string {
	return namespaceFiles(r.files, r.projects, name, ".cs", func(content []byte) bool {
		specs, _ := extractCSharp(content)
		return slices.ContainsFunc(specs, func(s spec) bool { return s.kind == ownName && s.text == name })
	})
}

// typeOrNamespace returns the file of a type, or of the type that contains it; or the files of a
// namespace.
func (r csharp) typeOrNamespace(name string) []string {
	for part := name; strings.Contains(part, "."); {
		namespace, _ := splitName(part)
		if file, ok := firstDeclaring(r.files, r.namespace(namespace), part); ok {
			return []string{file}
		}
		part = namespace
	}
	return r.namespace(name)
}

// csharpProjects returns the project of a file and those that it references, each once, as the
// folders of the namespaces that begin with theirs. Without a project file, the root is derived
// from the file's own namespace.
func csharpProjects(files Files, from string, specs []spec) []sourceRoot {
	var found []sourceRoot
	seen := map[string]bool{}
	for queue := nearestProjects(files, from); len(queue) > 0 && len(found) < maxReferences; queue = queue[1:] {
		content, err := files.Read(queue[0])
		if seen[queue[0]] || err != nil {
			continue
		}
		seen[queue[0]] = true
		folder := path.Dir(queue[0])
		found = append(found, sourceRoot{folder, rootNamespace(queue[0], content) + "."})
		for _, match := range projectReference().FindAllSubmatch(content, -1) {
			if file, ok := within(folder, strings.ReplaceAll(string(match[1]), `\`, "/")); ok {
				queue = append(queue, file)
			}
		}
	}
	for _, s := range specs {
		if s.kind == ownName && len(found) == 0 {
			found = append(found, rootOf(from, s.text))
		}
	}
	return found
}

// nearestProjects returns the project files of the nearest folder above that has any.
func nearestProjects(files Files, from string) []string {
	for folder := range upwards(path.Dir(from)) {
		if found := inFolder(files, folder, ".csproj"); len(found) > 0 {
			return found
		}
	}
	return nil
}

var (
	projectNamespace = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<RootNamespace>([^<]*)</RootNamespace>`) })
	projectReference = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`<ProjectReference[^>]*?\bInclude=["']([^"'>]*)["']`)
	})
)

// rootNamespace returns the root namespace of a project: the declared one, or its name.
func rootNamespace(file string, content []byte) string {
	if said := projectNamespace().FindSubmatch(content); said != nil && !strings.Contains(string(said[1]), "$(") {
		return strings.TrimSpace(string(said[1]))
	}
	return strings.ReplaceAll(strings.TrimSuffix(path.Base(file), ".csproj"), " ", "_")
}
