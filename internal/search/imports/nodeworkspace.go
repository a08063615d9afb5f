package imports

import (
	"bytes"
	"encoding/json"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"remit/internal/search/markdown"
)

// mostMembers is how many packages of a workspace are asked for their name.
const mostMembers = 1_000

// A nodeSpace is a workspace: packages that import each other by name.
type nodeSpace struct {
	folders []string          // of its members
	named   map[string]string // their folders by name, once all were read
}

// member finds a package of the workspaces that the importing file lies in by its name.
func (r *nodeResolver) member(name string) (string, bool) {
	for folder := range upwards(path.Dir(r.from)) {
		if found, ok := r.memberOf(r.spaceAt(folder), name); ok {
			return found, true
		}
	}
	return "", false
}

// memberOf finds a member of a workspace by its name. Those whose folder is called like it are asked first, so that the
// others need not be read; but nothing says that a folder must be.
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
		for _, folder := range space.folders[:min(len(space.folders), mostMembers)] {
			space.named[r.nameIn(folder)] = folder
		}
	}
	folder, ok := space.named[name]
	return folder, ok
}

// spaceAt gives the workspace whose root a folder is, without members if it is none.
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

// nameIn reads the name of the package in a folder, "" if it has none.
func (r *nodeResolver) nameIn(folder string) string {
	content, err := r.files.Read(path.Join(folder, "package.json"))
	if err != nil {
		return ""
	}
	return nodeName(content)
}

// nodeName reads the name of a package, which stands at the top of most, and leaves the rest alone.
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

// nodeMember tells whether a folder is that of a member. The root is one itself.
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

// workspace gives the patterns of the members of a workspace, nothing if the folder is not the root of one.
func (r *nodeResolver) workspace(folder string) []string {
	var patterns []string
	if p := r.packageIn(folder); p != nil {
		patterns = append(patterns, p.texts("workspaces")...)
		patterns = append(patterns, p.object("workspaces").texts("packages")...)
	}
	if content, ok := readIn(r.files, folder, "pnpm-workspace.yaml"); ok {
		fields, _ := markdown.Front{Body: string(content)}.Fields() // which bounds what YAML may cost
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
