package imports

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// mapped resolves an import by paths and baseUrl of the configurations that go for the importing file.
func (r *nodeResolver) mapped(text string, k kind) (string, bool) {
	for _, c := range r.config() {
		if file, ok := r.throughPaths(c, text, k); ok {
			return file, true
		}
		if c.baseURL != "" && !strings.HasPrefix(text, "/") {
			if file, ok := r.place(path.Join(c.baseURL, text), k); ok {
				return file, true
			}
		}
	}
	return "", false
}

// throughPaths tries the targets of the one pattern that fits best.
func (r *nodeResolver) throughPaths(c *tsConfig, text string, k kind) (string, bool) {
	base := cmp.Or(c.baseURL, c.pathsFrom)
	targets, star, _ := nodeEntry(c.paths, text, false)
	for _, target := range textsOf(targets) {
		target = strings.Replace(target, "*", star, 1)
		if place := c.here(target); place != target {
			target = place
		} else {
			target = path.Join(base, target)
		}
		if file, ok := r.place(target, k); ok {
			return file, true
		}
		if file, ok := r.built(target, k); ok {
			return file, true
		}
	}
	return "", false
}

// overlaid gives the folders that are laid over a folder by rootDirs.
func (c *tsConfig) overlaid(folder string) []string {
	best, inside := "", ""
	for _, root := range c.rootDirs {
		rest, ok := beneath(folder, root)
		if ok && len(root) > len(best) {
			best, inside = root, rest
		}
	}
	if best == "" {
		return nil
	}
	var others []string
	for _, root := range c.rootDirs {
		if root != best {
			others = append(others, path.Join(root, inside))
		}
	}
	return others
}

// roots are the folders that built files may come from: the one a configuration names, or where sources usually are.
func (c *tsConfig) roots(folder string) []string {
	if c.rootDir != "" {
		return []string{c.rootDir}
	}
	return slices.Compact([]string{path.Join(folder, "src"), folder})
}
