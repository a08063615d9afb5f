package imports

import (
	"bytes"
	"cmp"
	"errors"
	"go/build"
	"go/parser"
	goscanner "go/scanner"
	gotoken "go/token"
	"io"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// extractGo reads the import declarations of a Go file. Patterns of //go:embed are not imports.
func extractGo(content []byte) ([]spec, error) {
	fset := gotoken.NewFileSet()
	file, err := parser.ParseFile(fset, "", content, parser.ImportsOnly|parser.SkipObjectResolution)
	if err != nil {
		return nil, goSyntaxError(content, err)
	}
	var specs []spec
	for _, s := range file.Imports {
		name, err := strconv.Unquote(s.Path.Value)
		if err == nil && name != "C" {
			specs = append(specs, spec{text: name, line: fset.PositionFor(s.Pos(), false).Line})
		}
	}
	return specs, nil
}

// goSyntaxError converts the first error of Go's parser. It counts the line itself, because the
// parser's may come from a //line comment.
func goSyntaxError(content []byte, err error) error {
	var list goscanner.ErrorList
	if !errors.As(err, &list) || len(list) == 0 {
		return &SyntaxError{Line: 1, Reason: err.Error()}
	}
	offset := min(max(list[0].Pos.Offset, 0), len(content))
	return &SyntaxError{Line: 1 + bytes.Count(content[:offset], []byte("\n")), Reason: list[0].Msg}
}

// resolveGo returns the files of the imported packages, as `go list` returns them in GoFiles and
// CgoFiles on this system with cgo.
func resolveGo(files Files, from string, specs []spec) []string {
	build, ok := goBuildOf(files, path.Dir(from))
	if !ok {
		return nil
	}
	var found []string
	for _, s := range specs {
		if folder, ok := build.folder(s.text); ok {
			found = append(found, goPackageFiles(files, folder)...)
		}
	}
	return found
}

// A goPlace says where packages are: those whose import path begins with prefix are below folder.
// Every path begins with the empty prefix.
type goPlace struct{ prefix, folder string }

// A goBuild is what the go command uses to resolve an import.
type goBuild struct {
	files    Files
	modules  []goPlace // of the workspace, longest prefix first
	vendor   string    // the folder of vendored packages; "" if there is none
	replaced []goPlace // longest prefix first
}

// goBuildOf finds the module and the go.work that apply to the files in a folder.
func goBuildOf(files Files, folder string) (*goBuild, bool) {
	own, ok := nearest(folder, func(f string) bool { return files.Has(path.Join(f, "go.mod")) })
	if !ok {
		return nil, false
	}
	top, used := &goModule{folder: own}, []string{own}
	if work, ok := goWorkUsing(files, own); ok {
		top, used = work, work.uses
	}
	b, replacements := &goBuild{files: files}, map[string]string{}
	for _, folder := range used {
		module := readGoModule(files, folder)
		b.add(module)
		module.replace(replacements)
	}
	top.replace(replacements) // a go.work takes precedence
	for prefix, folder := range replacements {
		if folder != "" {
			b.replaced = append(b.replaced, goPlace{prefix, folder})
		}
	}
	if files.Has(path.Join(top.folder, "vendor/modules.txt")) {
		b.vendor = path.Join(top.folder, "vendor")
	}
	longestFirst(b.modules)
	longestFirst(b.replaced)
	return b, true
}

// add registers a module by its path. The modules of Go's own source are special: packages of std
// have no prefix, and cmd may import those of std.
func (b *goBuild) add(module *goModule) {
	folder := module.folder
	switch module.path {
	case "":
	case "std":
		b.modules = append(b.modules, goPlace{"", folder})
	case "cmd":
		if above := path.Dir(folder); folder != "." && readGoModule(b.files, above).path == "std" {
			b.modules = append(b.modules, goPlace{"", above})
		}
		fallthrough
	default:
		b.modules = append(b.modules, goPlace{module.path, folder})
	}
}

func longestFirst(places []goPlace) {
	slices.SortFunc(places, func(a, b goPlace) int {
		return cmp.Or(len(b.prefix)-len(a.prefix), strings.Compare(a.prefix, b.prefix))
	})
}

// folder finds the folder of a package.
func (b *goBuild) folder(name string) (string, bool) {
	if name != path.Clean(name) || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "/") {
		return "", false
	}
	if folder, ok := b.among(b.modules, name); ok {
		return folder, true
	}
	if b.vendor != "" {
		return b.among([]goPlace{{"", b.vendor}}, name)
	}
	return b.among(b.replaced, name)
}

// among finds the folder of a package in the first of the places that has one.
func (b *goBuild) among(places []goPlace, name string) (string, bool) {
	for _, p := range places {
		rest, ok := name, true
		if p.prefix != "" {
			rest, ok = strings.CutPrefix(name, p.prefix)
			ok = ok && (rest == "" || rest[0] == '/')
		}
		if folder := path.Join(p.folder, rest); ok && !b.nested(p.folder, folder) && len(inFolder(b.files, folder, ".go")) > 0 {
			return folder, true
		}
	}
	return "", false
}

// nested reports whether another module begins between a module's folder and a folder below it.
func (b *goBuild) nested(module, folder string) bool {
	for ; folder != module && folder != "."; folder = path.Dir(folder) {
		if b.files.Has(path.Join(folder, "go.mod")) {
			return true
		}
	}
	return false
}

// goPackageFiles returns the files of the package in a folder when it is built for this system with
// cgo.
func goPackageFiles(files Files, folder string) []string {
	var found []string
	for _, name := range files.List(folder) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		content, err := files.Read(path.Join(folder, name))
		if err == nil && goFileFits(name, content) {
			found = append(found, path.Join(folder, name))
		}
	}
	return found
}

// goFileFits reports whether a file's name and build constraint match, and whether it is more than
// documentation.
func goFileFits(name string, content []byte) bool {
	context := build.Default
	context.GOOS, context.GOARCH, context.CgoEnabled, context.BuildTags = runtime.GOOS, runtime.GOARCH, true, nil
	context.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	if fits, err := context.MatchFile("", name); err != nil || !fits {
		return false
	}
	file, _ := parser.ParseFile(gotoken.NewFileSet(), "", content, parser.PackageClauseOnly|parser.SkipObjectResolution)
	return file == nil || file.Name == nil || file.Name.Name != "documentation"
}

// A goModule is the content of a go.mod or a go.work as far as it locates packages.
type goModule struct {
	folder   string
	path     string
	uses     []string          // folders of the modules that a go.work uses
	required map[string]string // versions by module path
	replaces []goReplacement
}

// A goReplacement is a replace directive. The target is a folder if it begins with a dot.
type goReplacement struct{ path, version, target string }

// readGoModule reads the go.mod in a folder. It ignores what it cannot parse.
func readGoModule(files Files, folder string) *goModule {
	content, _ := readIn(files, folder, "go.mod")
	return parseGoModule(folder, content)
}

// goWorkUsing finds the go.work that applies to a module's folder, if it uses that module.
func goWorkUsing(files Files, module string) (*goModule, bool) {
	folder, ok := nearest(module, func(f string) bool { return files.Has(path.Join(f, "go.work")) })
	if !ok {
		return nil, false
	}
	content, _ := files.Read(path.Join(folder, "go.work"))
	work := parseGoModule(folder, content)
	return work, slices.Contains(work.uses, module)
}

// replace records the folder of each replaced module; "" if it is not a folder of the workspace.
func (m *goModule) replace(folders map[string]string) {
	for _, r := range m.replaces {
		if required := m.required[r.path]; r.version != "" && required != "" && required != r.version {
			continue
		}
		folders[r.path] = ""
		if folder, ok := within(m.folder, r.target); ok && strings.HasPrefix(r.target, ".") {
			folders[r.path] = folder
		}
	}
}

func parseGoModule(folder string, content []byte) *goModule {
	m := &goModule{folder: folder, required: map[string]string{}}
	block := ""
	for line := range strings.Lines(string(content)) {
		words := goModuleWords(line)
		switch {
		case len(words) == 0:
		case block != "" && words[0] == ")":
			block = ""
		case block != "":
			m.note(block, words)
		case len(words) == 2 && words[1] == "(":
			block = words[0]
		default:
			m.note(words[0], words[1:])
		}
	}
	return m
}

// note processes one directive.
func (m *goModule) note(verb string, words []string) {
	switch {
	case verb == "module" && len(words) == 1:
		m.path = words[0]
	case verb == "use" && len(words) == 1:
		if folder, ok := within(m.folder, words[0]); ok && !path.IsAbs(words[0]) {
			m.uses = append(m.uses, folder)
		}
	case verb == "require" && len(words) == 2:
		m.required[words[0]] = words[1]
	case verb == "replace":
		arrow := slices.Index(words, "=>")
		if arrow < 1 || arrow+1 >= len(words) {
			return
		}
		r := goReplacement{path: words[0], target: words[arrow+1]}
		if arrow == 2 {
			r.version = words[1]
		}
		m.replaces = append(m.replaces, r)
	}
}

// goModuleWords splits a line of a go.mod into words, without quotes, up to a comment.
func goModuleWords(line string) []string {
	var words []string
	for {
		line = strings.TrimLeft(line, " \t\r\n")
		if line == "" || strings.HasPrefix(line, "//") {
			return words
		}
		if quoted, err := strconv.QuotedPrefix(line); err == nil && line[0] != '\'' {
			word, _ := strconv.Unquote(quoted)
			words, line = append(words, word), line[len(quoted):]
			continue
		}
		end := strings.IndexAny(line, " \t\r\n")
		if end < 0 {
			end = len(line)
		}
		if comment := strings.Index(line[:end], "//"); comment > 0 {
			return append(words, line[:comment])
		}
		words, line = append(words, line[:end]), line[end:]
	}
}
