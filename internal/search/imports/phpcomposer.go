package imports

import (
	"path"
	"slices"
	"strings"
)

// A composerPackage is a folder with a composer.json, and where its classes are.
type composerPackage struct {
	folder string
	loads  []composerLoad
}

// A composerLoad is one of the autoload sections of a composer.json: folders by what names begin with, and files.
type composerLoad struct {
	psr4, psr0      jsonObject
	classmap, files []string
}

// readComposer reads a composer.json. Parts that have another shape than they should, as an empty list where a map is
// meant, are left out.
func readComposer(folder string, content []byte) (composerPackage, bool) {
	object, err := parseJSON(content)
	p := composerPackage{folder: folder}
	for _, section := range []string{"autoload", "autoload-dev"} {
		load := object.object(section)
		p.loads = append(p.loads, composerLoad{
			psr4: load.object("psr-4"), psr0: load.object("psr-0"), classmap: load.texts("classmap"), files: load.texts("files"),
		})
	}
	return p, err == nil
}

// class finds the file of a class by the rules of PSR-4 and PSR-0 and in the folders of the class map.
func (p composerPackage) class(files Files, name string) (string, bool) {
	for _, load := range p.loads {
		for _, prefix := range prefixesOf(load.psr4, name) {
			rest := strings.TrimPrefix(strings.TrimPrefix(name, prefix), `\`)
			if file, ok := p.first(files, load.psr4.texts(prefix), strings.ReplaceAll(rest, `\`, "/")+".php"); ok {
				return file, true
			}
		}
		for _, prefix := range prefixesOf(load.psr0, name) {
			if file, ok := p.first(files, load.psr0.texts(prefix), psr0Path(name)); ok {
				return file, true
			}
		}
		if file, ok := p.mapped(files, load.classmap, name); ok {
			return file, true
		}
	}
	return "", false
}

// prefixesOf gives those prefixes of a section that a name begins with, the longest first.
func prefixesOf(section jsonObject, name string) []string {
	var found []string
	for _, member := range section {
		if strings.HasPrefix(name, member.name) {
			found = append(found, member.name)
		}
	}
	slices.SortStableFunc(found, func(a, b string) int { return len(b) - len(a) })
	return found
}

// psr0Path gives the path of a class by PSR-0, where an underscore of the class's own name is a folder too.
func psr0Path(name string) string {
	slash := strings.LastIndexByte(name, '\\') + 1
	return strings.ReplaceAll(name[:slash], `\`, "/") + strings.ReplaceAll(name[slash:], "_", "/") + ".php"
}

// first finds the first of the package's folders that has a file.
func (p composerPackage) first(files Files, roots []string, name string) (string, bool) {
	for _, root := range roots {
		folder, inside := within(p.folder, root)
		if file, ok := fileIn(files, folder, name); ok && inside {
			return file, true
		}
	}
	return "", false
}

// mapped finds a class in the class map's folders, by a file that is called as it is and declares it.
func (p composerPackage) mapped(files Files, roots []string, name string) (string, bool) {
	if len(roots) == 0 {
		return "", false
	}
	slash := strings.LastIndexByte(name, '\\')
	simple := name[slash+1:]
	for _, file := range files.Named(simple + ".php") {
		inside := slices.ContainsFunc(roots, func(root string) bool {
			folder, ok := within(p.folder, root)
			_, holds := beneath(file, folder)
			return ok && holds
		})
		if !inside {
			continue
		}
		content, err := files.Read(file)
		if err == nil && phpDeclares(content, name[:max(slash, 0)], simple, "class", "interface", "trait", "enum") {
			return file, true
		}
	}
	return "", false
}

// withFunctions gives the files that may declare functions of a namespace: those always loaded, and those in the
// folders of the namespace.
func (p composerPackage) withFunctions(files Files, namespace string) []string {
	var found []string
	for _, load := range p.loads {
		for _, name := range load.files {
			if file, ok := fileIn(files, p.folder, name); ok {
				found = append(found, file)
			}
		}
		for _, prefix := range prefixesOf(load.psr4, namespace+`\`) {
			rest := strings.ReplaceAll(strings.TrimPrefix(namespace+`\`, prefix), `\`, "/")
			for _, root := range load.psr4.texts(prefix) {
				if folder, ok := within(p.folder, path.Join(root, rest)); ok {
					found = append(found, inFolder(files, folder, ".php")...)
				}
			}
		}
	}
	return found[:min(len(found), mostOfPackage)]
}
