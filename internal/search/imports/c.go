package imports

import (
	"path"
	"slices"
	"strings"

	"remit/internal/search/lexical"
)

// Kinds of imports in C and C++.
const (
	cQuoted  kind = iota // #include "x"
	cAngled              // #include <x>
	cNext                // #include_next
	cModule              // import x;
	cOwnName             // not an import: the module of the file itself
)

// extractC reads the includes anywhere in a C file. It omits names from macros and ignores
// conditions: an include that any build uses counts.
func extractC(content []byte) ([]spec, error) { return extractIncludes(content, false) }

// extractCPP reads the includes and the module imports of a C++ file.
func extractCPP(content []byte) ([]spec, error) { return extractIncludes(content, true) }

func extractIncludes(content []byte, modules bool) ([]spec, error) {
	var specs []spec
	s := scan("c", content)
	for s.Tok.Kind != lexical.End {
		switch {
		case !s.Tok.FirstOnLine:
			s.Next()
		case s.IsAt("#"):
			specs = s.directive(specs)
		case modules && s.IsAt("export", "import", "module"):
			specs = s.modular(specs)
		default:
			s.Next()
		}
	}
	return specs, s.problem()
}

// directive reads what follows # on its line, and adds it if it is an include.
func (s scanner) directive(specs []spec) []spec {
	line := s.Tok.Line
	next := s.Next()
	if next.FirstOnLine {
		return specs
	}
	switch next.Text {
	case "include", "import":
		specs = s.header(specs, line)
		s.Next()
	case "include_next":
		before := len(specs)
		if specs = s.header(specs, line); len(specs) > before {
			specs[before].kind = cNext
		}
		s.Next()
	}
	return specs
}

// header adds the header in quotes or angle brackets after s.At on the line, and advances past it.
func (s scanner) header(specs []spec, line int) []spec {
	s.blankInLine()
	end, k := "\"", cQuoted
	if s.HasPrefix("<") {
		end, k = ">", cAngled
	} else if !s.HasPrefix("\"") {
		if !s.macroFollows() {
			s.malformed(line, "#include")
		}
		return specs
	}
	rest := s.Src[s.At+1:]
	n := strings.IndexAny(rest, end+"\n")
	if n <= 0 || rest[n] == '\n' {
		s.malformed(line, "#include")
		return specs
	}
	s.At += n + 2
	return append(specs, spec{strings.ReplaceAll(rest[:n], `\`, "/"), line, k})
}

// macroFollows reports whether a macro stands for the header: a name, perhaps with arguments.
func (s scanner) macroFollows() bool {
	rest, _, _ := strings.Cut(s.Src[s.At:], "\n")
	n := 0
	for n < len(rest) && lexical.IsWordByte(rest[n]) {
		n++
	}
	after := strings.TrimSpace(rest[n:])
	return n > 0 && (after == "" || strings.HasPrefix(after, "(") || strings.HasPrefix(after, "/"))
}

// blankInLine skips white space and comments within a line, which a backslash may continue.
func (s scanner) blankInLine() {
	for s.At < len(s.Src) {
		switch {
		case s.Src[s.At] == ' ' || s.Src[s.At] == '\t':
			s.At++
		case s.HasPrefix("\\\n") || s.HasPrefix("\\\r\n"):
			s.Skip(strings.IndexByte(s.Src[s.At:], '\n') + 1)
		case s.HasPrefix("/*"):
			end := strings.Index(s.Src[s.At+2:], "*/")
			if end < 0 {
				return
			}
			s.Skip(end + 4)
		default:
			return
		}
	}
}

// modular reads a line such as "export import a.b;", "import :part;" or "module a.b:part;".
func (s scanner) modular(specs []spec) []spec {
	line := s.Tok.Line
	s.Accept("export")
	switch {
	case s.IsAt("import"):
		if before := len(specs); s.headerFollows() {
			specs = s.header(specs, line)
			if s.Next(); !s.IsAt(";") {
				specs = specs[:before]
			}
			return specs
		}
		s.Next()
		if name := s.moduleName(); name != "" && s.IsAt(";") {
			specs = append(specs, spec{name, line, cModule})
		}
	case s.Accept("module"):
		if name := s.moduleName(); name != "" && s.IsAt(";") {
			specs = append(specs, spec{name, line, cOwnName})
		}
	default:
		s.Next()
	}
	return specs
}

// headerFollows reports whether a header in quotes or angle brackets comes next.
func (s scanner) headerFollows() bool {
	s.blankInLine()
	return s.HasPrefix("<") || s.HasPrefix("\"")
}

// moduleName reads the name of a module, with that of its partition after a colon.
func (s scanner) moduleName() string {
	name := s.Name(".")
	if s.Accept(":") {
		name += ":" + s.Name(".")
	}
	return name
}

// A cSearch resolves the includes of one file of C or C++.
type cSearch struct {
	files Files
	from  string
	given []string // the include folders of the project's build, if known
	own   string   // the module that the file belongs to
	above []string // the folders above the file, and their include, src and inc
}

// resolveC resolves includes as a compiler does: in the file's folder, in those of
// compile_commands.json, in the folders above and their include, src and inc; then by the end of
// the path, if that is unambiguous.
func resolveC(files Files, from string, specs []spec) []string {
	if len(specs) == 0 {
		return nil
	}
	r := &cSearch{files: files, from: from, given: compileFolders(files, from)}
	for folder := range upwards(path.Dir(from)) {
		r.above = append(r.above, path.Join(folder, "include"), folder, path.Join(folder, "src"), path.Join(folder, "inc"))
	}
	return resolveEach(specs, r.file)
}

// file finds the file that a spec refers to.
func (r *cSearch) file(s spec) (string, bool) {
	switch s.kind {
	case cOwnName:
		r.own, _, _ = strings.Cut(s.text, ":")
		return "", false
	case cModule:
		return r.module(s.text)
	case cNext:
		return r.next(s.text)
	case cAngled:
		return r.angled(s.text)
	default:
		return r.quoted(s.text)
	}
}

func (r *cSearch) quoted(name string) (string, bool) {
	if file, ok := fileIn(r.files, path.Dir(r.from), name); ok {
		return file, true
	}
	if file, ok := r.first(r.given, name); ok || leadsUp(name) {
		return file, ok
	}
	if file, ok := r.first(r.above, name); ok {
		return file, true
	}
	return r.byEnding(name, true)
}

func (r *cSearch) angled(name string) (string, bool) {
	if file, ok := r.first(r.given, name); ok || leadsUp(name) {
		return file, ok
	}
	if strings.HasPrefix(name, "sys/") || cStandard()[name] {
		return r.first(r.includeFolders(), name)
	}
	if file, ok := r.first(r.above, name); ok {
		return file, true
	}
	return r.byEnding(name, false)
}

// leadsUp reports whether a name leads out of a folder, so that the folder cannot be guessed.
func leadsUp(name string) bool {
	return strings.Contains("/"+name+"/", "/../") || strings.HasPrefix(name, "/")
}

// next finds the header that comes after the file itself, which often has the same name.
func (r *cSearch) next(name string) (string, bool) {
	roots := slices.Concat(r.given, r.includeFolders())
	for i, root := range roots {
		if file, ok := within(root, name); ok && file == r.from {
			roots = roots[i+1:]
			break
		}
	}
	return r.first(roots, name)
}

// includeFolders returns the folders above that certainly contain includes.
func (r *cSearch) includeFolders() []string {
	return slices.DeleteFunc(slices.Clone(r.above), func(folder string) bool { return path.Base(folder) != "include" })
}

// first finds the first of the folders that contains a header.
func (r *cSearch) first(roots []string, name string) (string, bool) {
	return firstFound(roots, func(root string) (string, bool) {
		file, ok := fileIn(r.files, root, name)
		return file, ok && file != r.from
	})
}

// byEnding finds the only file whose path ends in name. If nearest is set and there are several, it
// returns the nearest one, if that is unambiguous.
func (r *cSearch) byEnding(name string, nearest bool) (string, bool) {
	if path.Ext(name) == "" {
		return "", false
	}
	found := endingIn(r.files, path.Clean(name))
	if len(found) > 1 && nearest {
		found = r.nearest(found)
	}
	if len(found) != 1 {
		return "", false
	}
	return found[0], true
}

// nearest returns the files that share the most folders with the including file.
func (r *cSearch) nearest(found []string) []string {
	maxShared := 0
	for _, file := range found {
		maxShared = max(maxShared, shared(r.from, file))
	}
	return slices.DeleteFunc(found, func(file string) bool { return shared(r.from, file) < maxShared })
}

// module finds the file that declares a C++ module or a partition of the file's own module.
func (r *cSearch) module(name string) (string, bool) {
	if strings.HasPrefix(name, ":") {
		name = r.own + name
	}
	whole, part, _ := strings.Cut(name, ":")
	stems := []string{whole}
	if part != "" {
		stems = []string{whole + "-" + part, whole + "." + part, whole + "_" + part, part}
	}
	var found []string
	for _, stem := range stems {
		for _, ending := range []string{".cppm", ".ixx", ".mpp", ".ccm", ".cxxm", ".c++m"} {
			found = append(found, endingIn(r.files, stem+ending)...)
		}
	}
	found = slices.DeleteFunc(found, func(file string) bool { return !declaresModule(r.files, file, name) })
	if found = r.nearest(found); len(found) != 1 {
		return "", false
	}
	return found[0], true
}

// declaresModule reports whether a file is the interface of a module.
func declaresModule(files Files, file, name string) bool {
	content, err := files.Read(file)
	if err != nil {
		return false
	}
	specs, _ := extractCPP(content)
	return slices.ContainsFunc(specs, func(s spec) bool { return s.kind == cOwnName && s.text == name })
}
