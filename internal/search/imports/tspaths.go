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
	targets, star := tsTargets(c.paths, text)
	for _, target := range targets {
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

// tsTargets gives the targets of the pattern that fits a text best: the text itself, or the longest text before a star,
// then behind it.
func tsTargets(paths jsonObject, text string) (targets []string, star string) {
	prefix, suffix := -1, -1
	for _, member := range paths {
		before, after, pattern := strings.Cut(member.name, "*")
		if !pattern {
			if member.name == text {
				return textsOf(member.value), ""
			}
			continue
		}
		fits := len(text) >= len(before)+len(after) && strings.HasPrefix(text, before) && strings.HasSuffix(text, after)
		if fits && (len(before) > prefix || len(before) == prefix && len(after) > suffix) {
			prefix, suffix = len(before), len(after)
			targets, star = textsOf(member.value), text[len(before):len(text)-len(after)]
		}
	}
	return targets, star
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
