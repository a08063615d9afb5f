package imports

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// A tsConfig is a tsconfig.json as far as it concerns resolution, including what it extends. Paths
// are relative to the workspace root.
type tsConfig struct {
	folder         string
	baseURL        string // "" if there is none
	paths          jsonObject
	pathsFrom      string // the folder that targets of paths are relative to, without a baseUrl
	rootDirs       []string
	rootDir        string
	outDir         string
	declarationDir string
	conditions     []string
	references     []string
}

// tsDepth limits the length of a chain of extends.
const tsDepth = 16

// config returns the configurations that apply to the importing file: the nearest one above it,
// then its references.
func (r *nodeResolver) config() []*tsConfig {
	if r.searched {
		return r.going
	}
	r.searched = true
	for folder := range upwards(path.Dir(r.from)) {
		for _, name := range []string{"tsconfig.json", "jsconfig.json"} {
			if c := r.project(path.Join(folder, name)); c != nil {
				r.going = append([]*tsConfig{c}, r.referred(c)...)
				return r.going
			}
		}
	}
	return nil
}

// referred returns the projects that a configuration references.
func (r *nodeResolver) referred(c *tsConfig) []*tsConfig {
	var found []*tsConfig
	for _, place := range c.references {
		if strings.HasSuffix(place, ".json") {
			found = append(found, r.project(place))
		} else {
			found = append(found, r.project(path.Join(place, "tsconfig.json")))
		}
	}
	return slices.DeleteFunc(found, func(c *tsConfig) bool { return c == nil })
}

// project reads the configuration of a project; nil if there is none.
func (r *nodeResolver) project(file string) *tsConfig {
	raw := r.configAt(file, 0)
	if raw == nil {
		return nil
	}
	c := *raw
	c.rootDirs = nil
	for _, place := range raw.rootDirs {
		c.rootDirs = append(c.rootDirs, c.here(place))
	}
	for _, field := range []*string{&c.baseURL, &c.rootDir, &c.outDir, &c.declarationDir} {
		*field = c.here(*field)
	}
	return &c
}

// tsVariable at the beginning of a path stands for the folder of the project's configuration, not
// of one that it extends.
const tsVariable = "${configDir}"

// here replaces the variable by the folder of a configuration.
func (c *tsConfig) here(place string) string {
	if rest, ok := strings.CutPrefix(place, tsVariable); ok {
		return path.Join(c.folder, rest)
	}
	return place
}

// configAt reads a configuration with what it extends; nil if there is none.
func (r *nodeResolver) configAt(file string, depth int) *tsConfig {
	if known, ok := r.configs[file]; ok {
		return known
	}
	var c *tsConfig
	if content, ok := readIn(r.files, ".", file); ok && depth < tsDepth {
		// A cycle ends here, at a configuration not read completely yet.
		r.configs[file] = nil
		object, _ := parseJSON(content)
		c = &tsConfig{folder: path.Dir(file)}
		for _, name := range object.texts("extends") {
			if base := r.base(c.folder, name, depth+1); base != nil {
				c.inherit(base)
			}
		}
		c.set(object)
	}
	r.configs[file] = c
	return c
}

// base finds the configuration that another one extends, by path or in a package of the workspace.
func (r *nodeResolver) base(folder, name string, depth int) *tsConfig {
	places := []string{path.Join(folder, name)}
	if !nodeRelative(name) && !strings.HasPrefix(name, "/") {
		places = r.published(name)
	}
	for _, place := range places {
		for _, candidate := range []string{place, place + ".json", path.Join(place, "tsconfig.json")} {
			if c := r.configAt(candidate, depth); c != nil {
				return c
			}
		}
	}
	return nil
}

// published returns the paths where a package of the workspace may provide a configuration.
func (r *nodeResolver) published(name string) []string {
	packageName, beneath := nodeSplit(name)
	folder, ok := r.member(packageName)
	if !ok {
		return nil
	}
	p := r.packageIn(folder)
	var places []string
	if main := p.text("tsconfig"); main != "" && beneath == "." {
		places = append(places, path.Join(folder, main))
	}
	if value, star, ok := nodeEntry(nodeEntries(p.get("exports")), beneath, true); ok {
		targets, _ := nodeTargets(value, star, nil)
		for _, target := range targets {
			places = append(places, path.Join(folder, target))
		}
	}
	return append(places, path.Join(folder, beneath))
}

// inherit copies the settings of another configuration, except its references.
func (c *tsConfig) inherit(base *tsConfig) {
	if base.paths != nil {
		c.paths, c.pathsFrom = base.paths, base.pathsFrom
	}
	if base.rootDirs != nil {
		c.rootDirs = base.rootDirs
	}
	if base.conditions != nil {
		c.conditions = base.conditions
	}
	c.baseURL = cmp.Or(base.baseURL, c.baseURL)
	c.rootDir = cmp.Or(base.rootDir, c.rootDir)
	c.outDir = cmp.Or(base.outDir, c.outDir)
	c.declarationDir = cmp.Or(base.declarationDir, c.declarationDir)
}

// set applies the settings of the configuration itself.
func (c *tsConfig) set(object jsonObject) {
	options := object.object("compilerOptions")
	own := tsConfig{
		baseURL: c.place(options.get("baseUrl")), rootDir: c.place(options.get("rootDir")), outDir: c.place(options.get("outDir")),
		declarationDir: c.place(options.get("declarationDir")), conditions: options.texts("customConditions"), pathsFrom: c.folder,
	}
	own.paths, _ = options.get("paths").(jsonObject)
	for _, dir := range options.texts("rootDirs") {
		own.rootDirs = append(own.rootDirs, c.place(dir))
	}
	c.inherit(&own)
	references, _ := object.get("references").([]any)
	for _, reference := range references {
		member, _ := reference.(jsonObject)
		if place := member.text("path"); place != "" {
			c.references = append(c.references, path.Join(c.folder, place))
		}
	}
}

// place returns a path in a configuration relative to the workspace root. It keeps the variable for
// a configuration that extends this one. It returns "" for a value that is not a string.
func (c *tsConfig) place(value any) string {
	text, ok := value.(string)
	if !ok || strings.HasPrefix(text, tsVariable) {
		return text
	}
	return path.Join(c.folder, text)
}

// mapped resolves an import by paths and baseUrl of the configurations that apply to the importing
// file.
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

// throughPaths tries the targets of the pattern that matches best.
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

// overlaid returns the folders that rootDirs overlays on a folder.
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

// roots returns the folders that may contain the sources of built files: the configured one, or the
// usual ones.
func (c *tsConfig) roots(folder string) []string {
	if c.rootDir != "" {
		return []string{c.rootDir}
	}
	return slices.Compact([]string{path.Join(folder, "src"), folder})
}
