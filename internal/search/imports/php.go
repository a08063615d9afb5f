package imports

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"remit/internal/search/lexical"
)

// Kinds of imports in PHP.
const (
	// A file relative to the including file's folder, or to the include path.
	phpFile     kind = iota
	phpBeside        // a file relative to the folder of the including file: __DIR__ . '/x'
	phpClass         // use A\B
	phpFunction      // use function A\f, use const A\C
	phpOwn           // not an import: the namespace of the file itself
)

// extractPHP reads the use and include statements anywhere in a PHP file.
func extractPHP(content []byte) ([]spec, error) {
	s := scan("php", content)
	uses := naming{mark: `\`, one: phpClass, all: phpClass, words: map[string]kind{"function": phpFunction, "const": phpFunction}}
	var specs []spec
	depth, top := 0, 0 // top is the depth at which use imports; in a class it is about traits
	for before := (lexical.Token{}); s.Tok.Kind != lexical.End; {
		at := s.Tok
		s.Next()
		switch {
		case at.Kind == lexical.Mark:
			switch at.Text {
			case "{":
				depth++
			case "}":
				depth--
			}
		case isMember(s, before, at):
		case isKeyword(at, "namespace"):
			specs = append(specs, spec{s.Name(`\`), at.Line, phpOwn})
			if top = 0; s.IsAt("{") {
				top = 1
			}
		case isKeyword(at, "use") && depth == top:
			if s.IsAt("(") { // of a closure
				break
			}
			if specs = s.names(specs, uses, ""); !s.IsAt(";") {
				s.malformed(at.Line, "use declaration")
			}
		case isKeyword(at, "require", "require_once", "include", "include_once"):
			specs = s.includes(specs, at.Line)
		}
		before = at
	}
	return specs, s.problem()
}

// isMember reports whether a word is the name of a member, function or constant here.
func isMember(s scanner, before, at lexical.Token) bool {
	text := strings.TrimRight(s.Src[:at.Start], " ")
	return strings.HasSuffix(text, "->") || strings.HasSuffix(text, "::") || isKeyword(before, "function", "const")
}

// includes adds the file that the expression after require or include names, if it is constant.
func (s scanner) includes(specs []spec, line int) []spec {
	if s.IsAt(";", "}", ")") || s.Tok.Kind == lexical.End {
		s.malformed(line, "include")
	}
	for s.Accept("(") {
	}
	up, beside := s.phpFolder()
	if beside && (up < 0 || !s.Accept(".")) || !isText(s.Tok) {
		return specs
	}
	text := s.Tok.Text
	if s.Next(); s.IsAt(".") || text == "" {
		return specs
	}
	if beside {
		return append(specs, spec{strings.Repeat("../", up) + strings.TrimPrefix(text, "/"), line, phpBeside})
	}
	return append(specs, spec{text, line, phpFile})
}

// phpFolder reads an expression for the file's own folder or one above it, and returns how far
// above: __DIR__, dirname(__FILE__), dirname(__DIR__, 2).
func (s scanner) phpFolder() (up int, ok bool) {
	open := 0
	for s.phpCall("dirname") {
		open++
	}
	switch {
	case s.Accept("__DIR__"):
	case s.Accept("__FILE__"):
		up = -1
	default:
		return 0, false
	}
	for ; open > 0; open-- {
		up++
		if s.Accept(",") {
			levels, err := strconv.Atoi(s.Tok.Text)
			if err != nil || levels < 1 || levels > 50 {
				return -1, true
			}
			up += levels - 1
			s.Next()
		}
		if !s.Accept(")") || up > 50 {
			return -1, true
		}
	}
	return up, true
}

// phpCall skips the name of a function and the bracket after it.
func (s scanner) phpCall(name string) bool {
	s.Accept(`\`)
	return s.Accept(name) && s.Accept("(")
}

// maxComposers limits the packages of a workspace that are searched for a class.
const maxComposers = 200

// A php resolves the uses and includes of one PHP file.
type php struct {
	files    Files
	from     string
	own      []sourceRoot      // by the file's own namespace
	composer []composerPackage // read when first needed
	read     bool              // whether composer is set
}

// A composerPackage is a folder with a composer.json, and the locations of its classes. Names have
// dots between their parts.
type composerPackage struct {
	folder          string
	psr4, psr0      []sourceRoot // longest prefix first
	classmap, files []string     // folders with classes, and files that are always loaded
}

// resolvePHP resolves included files by their path and used classes as Composer's autoloader does.
// If no composer.json locates a class, it uses the folders of the file's own namespace.
func resolvePHP(files Files, from string, specs []spec) []string {
	r := &php{files: files, from: from}
	return resolveEach(specs, func(s spec) (string, bool) {
		name := strings.ReplaceAll(s.text, `\`, ".")
		switch s.kind {
		case phpOwn:
			r.own = []sourceRoot{rootOf(from, name)}
			return "", false
		case phpBeside:
			return fileIn(files, path.Dir(from), strings.ReplaceAll(s.text, `\`, "/"))
		case phpFile:
			return r.included(strings.ReplaceAll(s.text, `\`, "/"))
		case phpClass:
			return r.class(name)
		}
		return r.function(name)
	})
}

// included finds a file that is included by a relative name: in the file's folder, or from the
// workspace's root.
func (r *php) included(name string) (string, bool) {
	if file, ok := fileIn(r.files, path.Dir(r.from), name); ok || strings.HasPrefix(name, ".") {
		return file, ok
	}
	return fileIn(r.files, ".", name)
}

// class finds the file of a class, interface, trait or enum.
func (r *php) class(name string) (string, bool) {
	for _, p := range r.packages() {
		if file, ok := firstPlace(r.files, p.psr4, name, ".php"); ok {
			return file, true
		}
		for _, root := range p.psr0 {
			if file, ok := fileIn(r.files, root.folder, psr0Path(name)); ok && strings.HasPrefix(name, root.prefix) {
				return file, true
			}
		}
		if file, ok := p.mapped(r.files, name); ok {
			return file, true
		}
	}
	return firstPlace(r.files, r.own, name, ".php")
}

// psr0Path returns the path of a class by PSR-0, where an underscore in the class name is a folder
// too.
func psr0Path(name string) string {
	namespace, simple := splitName(name)
	return path.Join(strings.ReplaceAll(namespace, ".", "/"), strings.ReplaceAll(simple, "_", "/")+".php")
}

// mapped finds a class in the folders of the class map, by a file that has its name and declares
// it.
func (p composerPackage) mapped(files Files, name string) (string, bool) {
	if len(p.classmap) == 0 {
		return "", false
	}
	_, simple := splitName(name)
	among := slices.DeleteFunc(slices.Clone(files.Named(simple+".php")), func(file string) bool {
		return !slices.ContainsFunc(p.classmap, func(root string) bool {
			folder, ok := within(p.folder, root)
			_, holds := beneath(file, folder)
			return ok && holds
		})
	})
	return firstDeclaring(files, among, name)
}

// function finds the file of a function or constant: among those that Composer always loads, or in
// the namespace's folder.
func (r *php) function(name string) (string, bool) {
	namespace, _ := splitName(name)
	if namespace == "" {
		return "", false
	}
	for _, p := range r.packages() {
		var among []string
		for _, file := range p.files {
			if file, ok := fileIn(r.files, p.folder, file); ok {
				among = append(among, file)
			}
		}
		for _, root := range p.psr4 {
			if folder, ok := root.place(namespace); ok {
				among = append(among, inFolder(r.files, folder, ".php")...)
			}
		}
		if file, ok := firstDeclaring(r.files, among[:min(len(among), maxOfPackage)], name); ok {
			return file, true
		}
	}
	return "", false
}

// packages returns the workspace's Composer packages, the nearest first.
func (r *php) packages() []composerPackage {
	if r.read {
		return r.composer
	}
	r.read = true
	files := r.files.Named("composer.json")
	slices.SortStableFunc(files, func(a, b string) int {
		return cmp.Compare(r.distance(a), r.distance(b))
	})
	for _, file := range files[:min(len(files), maxComposers)] {
		if content, err := r.files.Read(file); err == nil {
			r.composer = append(r.composer, readComposer(path.Dir(file), content))
		}
	}
	return r.composer
}

// distance orders composer files: those above the file by distance, then the others by their common
// folders with it.
func (r *php) distance(composer string) int {
	folder := path.Dir(composer)
	if folder == "." || strings.HasPrefix(r.from, folder+"/") {
		return -strings.Count(composer, "/") - 1
	}
	return 1000 - shared(r.from, composer)
}

// readComposer parses a composer.json. It ignores parts of the wrong type, such as an empty list in
// place of a map.
func readComposer(folder string, content []byte) composerPackage {
	object, _ := parseJSON(content)
	p := composerPackage{folder: folder}
	for _, section := range []string{"autoload", "autoload-dev"} {
		load := object.object(section)
		p.psr4 = append(p.psr4, composerRoots(folder, load.object("psr-4"))...)
		p.psr0 = append(p.psr0, composerRoots(folder, load.object("psr-0"))...)
		p.classmap = append(p.classmap, load.texts("classmap")...)
		p.files = append(p.files, load.texts("files")...)
	}
	for _, roots := range [][]sourceRoot{p.psr4, p.psr0} {
		slices.SortStableFunc(roots, func(a, b sourceRoot) int { return len(b.prefix) - len(a.prefix) })
	}
	return p
}

// composerRoots returns the folders of a section, with the prefixes of their class names.
func composerRoots(folder string, section jsonObject) []sourceRoot {
	var roots []sourceRoot
	for _, member := range section {
		for _, text := range textsOf(member.value) {
			if place, ok := within(folder, text); ok {
				roots = append(roots, sourceRoot{place, strings.ReplaceAll(member.name, `\`, ".")})
			}
		}
	}
	return roots
}
