package imports

import (
	"bytes"
	"encoding/json"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// member finds a package of the workspaces that the importing file lies in by its name.
func (r *nodeResolver) member(name string) (string, bool) {
	for folder := path.Dir(r.from); ; folder = path.Dir(folder) {
		if found, ok := r.members(folder)[name]; ok {
			return found, true
		}
		if folder == "." || folder == "/" {
			return "", false
		}
	}
}

// members gives the packages of the workspace whose root a folder is, by name.
func (r *nodeResolver) members(root string) map[string]string {
	if known, ok := r.spaces[root]; ok {
		return known
	}
	var found map[string]string
	if patterns := r.workspace(root); len(patterns) > 0 {
		found = map[string]string{}
		for _, file := range r.files.Named("package.json") {
			folder := path.Dir(file)
			if beneath, ok := nodeBeneath(folder, root); ok && !nodeForeign(file) && nodeMember(patterns, beneath) {
				if content, ok := r.content(file); ok {
					found[nodeName(content)] = folder
				}
			}
		}
	}
	r.spaces[root] = found
	return found
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

// nodeBeneath gives the path of a folder from another one above it.
func nodeBeneath(folder, root string) (string, bool) {
	if root == "." {
		return folder, !strings.HasPrefix(folder, "..")
	}
	if folder == root {
		return ".", true
	}
	return strings.CutPrefix(folder, root+"/")
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
	if content, ok := r.content(path.Join(folder, "pnpm-workspace.yaml")); ok {
		patterns = append(patterns, pnpmPackages(content)...)
	}
	if content, ok := r.content(path.Join(folder, "lerna.json")); ok {
		lerna, _ := webJSON(content)
		if patterns = append(patterns, lerna.texts("packages")...); len(patterns) == 0 {
			patterns = []string{"packages/*"}
		}
	}
	return patterns
}

// content reads a file if there is one.
func (r *nodeResolver) content(file string) ([]byte, bool) {
	if !r.files.Has(file) {
		return nil, false
	}
	content, err := r.files.Read(file)
	return content, err == nil
}

// pnpmPackages reads the list "packages" of a pnpm-workspace.yaml, written in either style of lists.
func pnpmPackages(content []byte) []string {
	var found []string
	within := false
	for line := range bytes.Lines(content) {
		text := strings.TrimRight(string(line), " \t\r\n")
		trimmed := strings.TrimLeft(text, " \t")
		switch {
		case trimmed == "" || trimmed[0] == '#':
		case strings.HasPrefix(text, "packages:"):
			within = true
			list, ok := strings.CutPrefix(strings.TrimSpace(yamlPlain(text[len("packages:"):])), "[")
			for _, element := range strings.Split(strings.TrimSuffix(list, "]"), ",") {
				if element = yamlText(element); ok && element != "" {
					found = append(found, element)
				}
			}
		case within && strings.HasPrefix(trimmed, "- "):
			found = append(found, yamlText(trimmed[2:]))
		case text == trimmed:
			within = false
		}
	}
	return found
}

// yamlText takes quotes and a comment off a text of one line.
func yamlText(text string) string {
	text = strings.TrimSpace(text)
	if text != "" && (text[0] == '"' || text[0] == '\'') {
		inner, _, _ := strings.Cut(text[1:], text[:1])
		return inner
	}
	return strings.TrimSpace(yamlPlain(text))
}

// yamlPlain takes a comment off.
func yamlPlain(text string) string {
	before, _, _ := strings.Cut(" "+text, " #")
	return before
}
