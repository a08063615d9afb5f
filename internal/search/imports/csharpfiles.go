package imports

import (
	"path"
	"strings"
)

// mostReferences is how many projects are followed from the one of a file.
const mostReferences = 64

// A csharpProject is a folder whose namespaces are folders, beneath the one that it begins with.
type csharpProject struct {
	folder    string
	namespace string
}

// resolveCSharp resolves using directives by the convention that a namespace is a folder of a project: the file's own,
// and those that it refers to. Only files that are in the namespace count.
func resolveCSharp(files Files, from string, specs []spec) []string {
	r := csharp{files: files, projects: csharpProjects(files, from, specs)}
	var found []string
	for _, s := range specs {
		switch s.kind {
		case csharpNamespace:
			found = append(found, r.namespace(s.text)...)
		case csharpType:
			found = append(found, r.typeOrNamespace(s.text)...)
		}
	}
	return found
}

// A csharp resolves the directives of one file.
type csharp struct {
	files    Files
	projects []csharpProject
}

// namespace gives the files of a namespace in the first project that has any.
func (r csharp) namespace(name string) []string {
	for _, project := range r.projects {
		folder, ok := project.place(name)
		if !ok {
			continue
		}
		var found []string
		for _, file := range inFolder(r.files, folder, ".cs") {
			content, err := r.files.Read(file)
			if err == nil && len(found) < mostOfPackage && csharpDeclares(content, name) {
				found = append(found, file)
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// place gives the folder that a namespace has in a project.
func (p csharpProject) place(namespace string) (string, bool) {
	rest, ok := strings.CutPrefix(namespace+".", p.namespace+".")
	if p.namespace == "" {
		rest, ok = namespace+".", true
	}
	return path.Join(p.folder, strings.ReplaceAll(rest, ".", "/")), ok
}

// typeOrNamespace gives the file of a type, or of the type that it is in; or the files of a namespace.
func (r csharp) typeOrNamespace(name string) []string {
	for part := name; ; {
		dot := strings.LastIndexByte(part, '.')
		if dot < 0 {
			break
		}
		space, simple := part[:dot], part[dot+1:]
		for _, file := range r.namespace(space) {
			content, err := r.files.Read(file)
			if err == nil && csharpDefines(content, simple) {
				return []string{file}
			}
		}
		part = space
	}
	return r.namespace(name)
}

// csharpProjects gives the project that a file is in and those that it refers to, each once. Without a project file the
// file's own namespace tells where namespaces begin.
func csharpProjects(files Files, from string, specs []spec) []csharpProject {
	var found []csharpProject
	seen := map[string]bool{}
	for queue := nearestProjects(files, from); len(queue) > 0 && len(found) < mostReferences; queue = queue[1:] {
		if seen[queue[0]] {
			continue
		}
		seen[queue[0]] = true
		content, err := files.Read(queue[0])
		if err != nil {
			continue
		}
		folder := path.Dir(queue[0])
		found = append(found, csharpProject{folder, rootNamespace(queue[0], string(content))})
		for _, reference := range projectReferences(string(content)) {
			if file, ok := within(folder, reference); ok {
				queue = append(queue, file)
			}
		}
	}
	for _, s := range specs {
		if s.kind == csharpOwn && len(found) == 0 {
			root := rootOf(from, s.text)
			found = append(found, csharpProject{root.folder, strings.TrimSuffix(root.prefix, ".")})
		}
	}
	return found
}

// nearestProjects gives the project files of the nearest folder above that has any.
func nearestProjects(files Files, from string) []string {
	for folder := range upwards(path.Dir(from)) {
		if found := inFolder(files, folder, ".csproj"); len(found) > 0 {
			return found
		}
	}
	return nil
}

// rootNamespace gives the namespace that a project begins with: what it says, or its name.
func rootNamespace(file, content string) string {
	name := strings.TrimSuffix(path.Base(file), ".csproj")
	_, rest, ok := strings.Cut(content, "<RootNamespace>")
	if said, _, closed := strings.Cut(rest, "</RootNamespace>"); ok && closed && !strings.Contains(said, "$(") {
		return strings.TrimSpace(said)
	}
	return strings.ReplaceAll(name, " ", "_")
}

// projectReferences gives the paths of the projects that a project file refers to.
func projectReferences(content string) []string {
	var found []string
	for {
		_, rest, ok := strings.Cut(content, "<ProjectReference")
		if !ok {
			return found
		}
		tag, after, _ := strings.Cut(rest, ">")
		content = after
		if _, value, ok := strings.Cut(tag, "Include="); ok && len(value) > 1 {
			name, _, closed := strings.Cut(value[1:], value[:1])
			if closed {
				found = append(found, strings.ReplaceAll(name, `\`, "/"))
			}
		}
	}
}
