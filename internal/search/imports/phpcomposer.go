package imports

import (
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"
)

// A composerPackage is a folder with a composer.json, and where its classes are.
type composerPackage struct {
	folder string
	loads  []composerLoad
}

// A composerLoad is one of the autoload sections of a composer.json.
type composerLoad struct {
	PSR4     map[string]oneOrMore `json:"psr-4"`
	PSR0     map[string]oneOrMore `json:"psr-0"`
	Classmap []string             `json:"classmap"`
	Files    []string             `json:"files"`
}

// oneOrMore is a string or a list of them.
type oneOrMore []string

// UnmarshalJSON takes both; anything else is nothing.
func (o *oneOrMore) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*o = oneOrMore{one}
		return nil
	}
	var more []string
	if json.Unmarshal(data, &more) == nil {
		*o = more
	}
	return nil
}

// readComposer reads a composer.json. Parts that have another shape than they should, as an empty list where a map is
// meant, are left out.
func readComposer(folder string, content []byte) (composerPackage, bool) {
	var file struct {
		Autoload    composerLoad `json:"autoload"`
		AutoloadDev composerLoad `json:"autoload-dev"`
	}
	var shape *json.UnmarshalTypeError
	if err := json.Unmarshal(content, &file); err != nil && !errors.As(err, &shape) {
		return composerPackage{}, false
	}
	return composerPackage{folder, []composerLoad{file.Autoload, file.AutoloadDev}}, true
}

// class finds the file of a class by the rules of PSR-4 and PSR-0 and in the folders of the class map.
func (p composerPackage) class(files Files, name string) (string, bool) {
	for _, load := range p.loads {
		for _, prefix := range prefixesOf(load.PSR4, name) {
			rest := strings.TrimPrefix(strings.TrimPrefix(name, prefix), `\`)
			if file, ok := p.first(files, load.PSR4[prefix], strings.ReplaceAll(rest, `\`, "/")+".php"); ok {
				return file, true
			}
		}
		for _, prefix := range prefixesOf(load.PSR0, name) {
			if file, ok := p.first(files, load.PSR0[prefix], psr0Path(name)); ok {
				return file, true
			}
		}
		if file, ok := p.mapped(files, load.Classmap, name); ok {
			return file, true
		}
	}
	return "", false
}

// prefixesOf gives those prefixes of a section that a name begins with, the longest first.
func prefixesOf(section map[string]oneOrMore, name string) []string {
	var found []string
	for prefix := range section {
		if strings.HasPrefix(name, prefix) {
			found = append(found, prefix)
		}
	}
	slices.SortFunc(found, func(a, b string) int { return len(b) - len(a) })
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
		folder, ok := within(p.folder, root)
		if !ok {
			continue
		}
		if file, ok := within(folder, name); ok && files.Has(file) {
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
			return ok && (file == folder || folder == "." || strings.HasPrefix(file, folder+"/"))
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
		for _, name := range load.Files {
			if file, ok := within(p.folder, name); ok && files.Has(file) {
				found = append(found, file)
			}
		}
		for _, prefix := range prefixesOf(load.PSR4, namespace+`\`) {
			rest := strings.ReplaceAll(strings.TrimPrefix(namespace+`\`, prefix), `\`, "/")
			for _, root := range load.PSR4[prefix] {
				if folder, ok := within(p.folder, path.Join(root, rest)); ok {
					found = append(found, inFolder(files, folder, ".php")...)
				}
			}
		}
	}
	return found[:min(len(found), mostOfPackage)]
}
