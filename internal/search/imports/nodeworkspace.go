package imports

import (
	"bytes"
	"encoding/json"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"remit/internal/search/markdown"
)

// maxMembers limits the packages of a workspace whose names are read.
const maxMembers = 1_000

// A nodeSpace is a workspace: packages that import each other by name.
type nodeSpace struct {
	folders []string          // of its members
	named   map[string]string // their folders by name, once all were read
}

// member finds a package by its name in the workspaces that contain the importing file.
func (r *nodeResolver) member(name string) (string, bool) {
	for folder := range upwards(path.Dir(r.from)) {
		if found, ok := r.memberOf(r.spaceAt(folder), name); ok {
			return found, true
		}
	}
	return "", false
}

// memberOf finds a member of a workspace by its name. It first tries members whose folder has that
// name, to avoid reading the others; but folder and package names may differ.
func (r *nodeResolver) memberOf(space *nodeSpace, name string) (string, bool) {
	for _, folder := range space.folders {
		if base := path.Base(folder); base == path.Base(name) || base == strings.ReplaceAll(strings.TrimPrefix(name, "@"), "/", "-") {
			if r.nameIn(folder) == name {
				return folder, true
			}
		}
	}
	if space.named == nil {
		space.named = map[string]string{}
		for _, folder := range space.folders[:min(len(space.folders), maxMembers)] {
			space.named[r.nameIn(folder)] = folder
		}
	}
	folder, ok := space.named[name]
	return folder, ok
}

// spaceAt returns the workspace with this root folder, without members if it is not a root.
func (r *nodeResolver) spaceAt(root string) *nodeSpace {
	return cached(r.spaces, root, func() *nodeSpace {
		space, patterns := &nodeSpace{}, r.workspace(root)
		if len(patterns) == 0 {
			return space
		}
		for _, file := range r.files.Named("package.json") {
			folder := path.Dir(file)
			if inside, ok := beneath(folder, root); ok && !nodeForeign(file) && nodeMember(patterns, inside) {
				space.folders = append(space.folders, folder)
			}
		}
		return space
	})
}

// nameIn returns the name of the package in a folder, or "".
func (r *nodeResolver) nameIn(folder string) string {
	content, err := r.files.Read(path.Join(folder, "package.json"))
	if err != nil {
		return ""
	}
	return nodeName(content)
}

// nodeName reads the name of a package, which is usually at the top, and does not parse the rest.
func nodeName(content []byte) string {
	d := json.NewDecoder(bytes.NewReader(content))
	if opening, err := d.Token(); err != nil || opening != json.Delim('{') {
		return ""
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return ""
		}
		var value any
		if err := d.Decode(&value); err != nil || name == "name" {
			text, _ := value.(string)
			return text
		}
	}
	return ""
}

// nodeMember reports whether a folder is that of a member. The root itself is one.
func nodeMember(patterns []string, folder string) bool {
	if folder == "." {
		return true
	}
	in := false
	for _, pattern := range patterns {
		pattern, not := strings.CutPrefix(pattern, "!")
		pattern = path.Clean(pattern)
		if ok, err := doublestar.Match(pattern, folder); err == nil && ok {
			in = !not
		}
	}
	return in
}

// workspace returns the patterns of the members of a workspace, or nothing if the folder is not a
// workspace root.
func (r *nodeResolver) workspace(folder string) []string {
	var patterns []string
	if p := r.packageIn(folder); p != nil {
		patterns = append(patterns, p.texts("workspaces")...)
		patterns = append(patterns, p.object("workspaces").texts("packages")...)
	}
	if content, ok := readIn(r.files, folder, "pnpm-workspace.yaml"); ok {
		// It limits the cost of parsing YAML.
		fields, _ := markdown.Front{Body: string(content)}.Fields()
		patterns = append(patterns, textsOf(fields["packages"])...)
	}
	if content, ok := readIn(r.files, folder, "lerna.json"); ok {
		lerna, _ := parseJSON(content)
		if patterns = append(patterns, lerna.texts("packages")...); len(patterns) == 0 {
			patterns = []string{"packages/*"}
		}
	}
	return patterns
}
