package imports

import (
	"path"
	"slices"
	"strings"
)

// nodeEntries gives exports as an object of paths: it may be written as what "." alone means.
func nodeEntries(exports any) jsonObject {
	if object, ok := exports.(jsonObject); ok && len(object) > 0 && strings.HasPrefix(object[0].name, ".") {
		return object
	}
	return jsonObject{{".", exports}}
}

// internal resolves "#x" by the imports of the package that the file belongs to.
func (r *nodeResolver) internal(text string, k kind) (string, bool) {
	p := r.packageOf(r.from)
	if p == nil {
		return "", false
	}
	table := p.object("imports")
	value, star, _ := nodeEntry(table, text, true)
	targets, _ := nodeTargets(value, star, r.conditions(k))
	for _, target := range targets {
		if !strings.HasPrefix(target, "./") && !strings.HasPrefix(target, "#") && target != "" {
			return r.bare(target, k)
		}
	}
	return r.exported(p, table, text, k)
}

// exported resolves a path by the table in which a package says what lies behind it.
func (r *nodeResolver) exported(p *nodePackage, table jsonObject, beneath string, k kind) (string, bool) {
	value, star, ok := nodeEntry(table, beneath, true)
	if !ok {
		return "", false
	}
	chosen, denied := nodeTargets(value, star, r.conditions(k))
	if file, ok := r.firstOf(p, chosen, k); ok || denied {
		return file, ok
	}
	// What is chosen would be built, and from sources that are not where they usually are. Another condition may name
	// them; tools that run without a build have their own.
	all, _ := nodeTargets(value, star, nil)
	if file, ok := r.firstOf(p, all, k); ok || beneath != "." {
		return file, ok
	}
	return r.entrance(p, k)
}

// firstOf gives the first target that there is, else the first whose source there is.
func (r *nodeResolver) firstOf(p *nodePackage, targets []string, k kind) (string, bool) {
	targets = slices.DeleteFunc(targets, func(target string) bool { return !strings.HasPrefix(target, "./") })
	if file, ok := firstFound(targets, func(target string) (string, bool) { return r.exact(path.Join(p.folder, target)) }); ok {
		return file, true
	}
	return firstFound(targets, func(target string) (string, bool) { return r.source(p, target, k) })
}

// conditions are those that hold for an import, besides default.
func (r *nodeResolver) conditions(k kind) map[string]bool {
	held := map[string]bool{
		"import": k != jsRequire, "require": k == jsRequire, "module": true, "node": true, "types": k == jsTypeOnly,
		"style": k == cssImport, "sass": k == cssImport,
	}
	for _, c := range r.config() {
		for _, name := range c.conditions {
			held[name] = true
		}
	}
	return held
}

// nodeEntry finds the entry of a table for a path: itself, or the pattern with the longest text before its star, then behind it,
// and what the star stands for. In a table of a package that is something, and a pattern that ends in a slash has its star there.
func nodeEntry(table jsonObject, text string, ofPackage bool) (value any, star string, ok bool) {
	longest, length := -1, -1
	for _, member := range table {
		if member.name == text && !strings.Contains(text, "*") {
			return member.value, "", true
		}
		before, after, pattern := strings.Cut(member.name, "*")
		fits := len(text) >= len(before)+len(after) && strings.HasPrefix(text, before) && strings.HasSuffix(text, after)
		if !fits || !pattern && (!ofPackage || !strings.HasSuffix(before, "/")) || ofPackage && len(text) == len(before)+len(after) {
			continue
		}
		if len(before) > longest || len(before) == longest && len(member.name) > length {
			longest, length = len(before), len(member.name)
			value, star, ok = member.value, text[len(before):len(text)-len(after)], true
		}
	}
	return value, star, ok
}

// nodeTargets gives the files that an entry names, in order: those behind the conditions that hold, or all if held is
// nil. It stops at null, by which a package says that there is nothing.
func nodeTargets(value any, star string, held map[string]bool) (found []string, stop bool) {
	switch v := value.(type) {
	case string:
		if strings.HasSuffix(v, "/") {
			return []string{v + star}, false
		}
		return []string{strings.ReplaceAll(v, "*", star)}, false
	case []any:
		for _, element := range v {
			inner, _ := nodeTargets(element, star, held)
			found = append(found, inner...)
		}
		return found, false
	case jsonObject:
		for _, member := range v {
			if held != nil && !held[member.name] && member.name != "default" {
				continue
			}
			inner, end := nodeTargets(member.value, star, held)
			found = append(found, inner...)
			if end && held != nil {
				return found, true
			}
		}
		return found, false
	}
	return nil, true
}
