package imports

import (
	"path"
	"slices"
	"strings"

	"remit/internal/search/lexical"
)

// Kinds of imports in languages with packages or namespaces.
const (
	oneName kind = iota // one class, function or member; in C# a namespace
	allOf               // everything in a package or a class; in C# in a type
	ownName             // not an import: the package or namespace of the file itself
)

// A header defines how the head of a file names its own package and its imports. The rest of the
// file is not read.
type header struct {
	language string
	own      string // the keyword before the package or namespace of the file
	imports  string // the keyword before an import
	// read reads what follows that keyword.
	read func(s scanner, specs []spec) []spec
	ends bool // an import ends with a semicolon
}

var (
	extractJava   = header{"java", "package", "import", importedNames, true}.extract
	extractKotlin = header{"kotlin", "package", "import", importedNames, false}.extract
	extractScala  = header{"scala", "package", "import", importedNames, false}.extract
	extractCSharp = header{"csharp", "namespace", "using", using, false}.extract
)

// extract reads the head of a file.
func (h header) extract(content []byte) ([]spec, error) {
	s := scan(h.language, content)
	var specs []spec
	for full := ""; ; {
		line := s.Tok.Line
		switch {
		case s.Accept(";"), s.Accept("{"), s.Accept("global"):
		case s.Accept("@"):
			s.annotation()
		case s.IsAt("["):
			s.SkipEnclosed("[", "]")
		case s.Accept("extern"):
			s.Accept("alias")
			s.Next()
		case s.Accept(h.own) && !s.IsAt("object"):
			name := s.Name(".")
			if name == "" && h.language != "csharp" && !s.IsAt("`") {
				s.malformed(line, "package declaration")
			}
			full = strings.TrimPrefix(full+"."+name, ".")
			specs = append(specs, spec{full, line, ownName})
		case s.Accept(h.imports):
			if specs = h.read(s, specs); h.ends && !s.IsAt(";") {
				s.malformed(line, "import declaration")
			}
		default:
			return specs, s.problem()
		}
		if len(full) > maxImport {
			return specs, s.problem()
		}
	}
}

// annotation skips an annotation. A Kotlin file annotation may have a target and contain several:
// @file:[A B("x")].
func (s scanner) annotation() {
	for range 2 {
		s.Name(".")
		if s.IsAt("(") {
			s.SkipEnclosed("(", ")")
		}
		if !s.Accept(":") {
			return
		}
		if s.IsAt("[") {
			s.SkipEnclosed("[", "]")
			return
		}
	}
}

// A naming defines how a language writes a list of names.
type naming struct {
	mark     string // between the parts of a name
	one, all kind
	words    map[string]kind // modifiers before a name, with the kind of import that they cause
}

// importedNames reads what follows import in Java, Kotlin and Scala.
func importedNames(s scanner, specs []spec) []spec {
	return s.names(specs, naming{mark: ".", one: oneName, all: allOf, words: map[string]kind{"static": oneName}}, "")
}

// names reads names separated by commas: a.b, a.b.*, a.b._, a.b as c, a.{b, c => d, *}.
func (s scanner) names(specs []spec, n naming, prefix string) []spec {
	if s.Tok.Kind != lexical.Word && !s.IsAt(n.mark, "*", "`", "}") {
		s.malformed(s.Tok.Line, "import declaration")
	}
	for s.Tok.Kind == lexical.Word || s.IsAt(n.mark, "*") {
		found := spec{line: s.Tok.Line, kind: n.one}
		if k, ok := n.words[strings.ToLower(s.Tok.Text)]; ok {
			found.kind = k
			s.Next()
		}
		s.Accept(n.mark)
		found.text = prefix + strings.TrimPrefix(s.Name(n.mark), "_root_.")
		rest, all := strings.CutSuffix(found.text, n.mark+"_")
		within := s.Accept(n.mark)
		valid := found.text != prefix && !within
		switch {
		case all || s.Accept("*"):
			found.text, found.kind, valid = strings.TrimSuffix(rest, n.mark), n.all, true
		case s.Tok.Kind == lexical.Word && !s.Tok.FirstOnLine && (found.text == "module" || strings.HasSuffix(found.text, ".given")):
			s.Name(n.mark) // import module java.base; import a.given B
			found.text = ""
		case within && prefix == "" && s.Accept("{"):
			group := naming{n.mark, found.kind, n.all, n.words}
			specs = s.names(specs, group, found.text+n.mark)
			if !s.Accept("}") && !s.IsAt("`") {
				s.malformed(found.line, "import declaration")
			}
			found.text, valid = "", true
		}
		s.otherName(n.mark)
		ends := s.Tok.FirstOnLine || s.Tok.Kind == lexical.End || s.IsAt(",", ";", "}")
		if (!ends || !valid) && !s.IsAt("`") {
			s.malformed(found.line, "import declaration")
		}
		if ends && found.text != "" && (prefix == "" || !strings.HasSuffix(found.text, ".given")) {
			specs = append(specs, found)
		}
		if !s.Accept(",") {
			break
		}
	}
	return specs
}

// otherName skips an alias: as b, => b. Where names have dots, it is on the same line.
func (s scanner) otherName(mark string) {
	switch {
	case isKeyword(s.Tok, "as"):
		line := s.Tok.Line
		s.Next()
		if s.Tok.Kind != lexical.Word && !s.IsAt("`") || s.Tok.FirstOnLine && mark == "." {
			s.malformed(line, "import declaration")
			return
		}
		s.Next()
	case s.Accept("="):
		s.Accept(">")
		s.Next()
	}
}

// isKeyword reports whether a token is one of these words, ignoring case.
func isKeyword(t lexical.Token, words ...string) bool {
	return t.Kind == lexical.Word && slices.Contains(words, strings.ToLower(t.Text))
}

// using reads what follows the keyword in C#: a namespace, static and a type, or an alias. It
// ignores using statements, which are not directives.
func using(s scanner, specs []spec) []spec {
	found := spec{line: s.Tok.Line, kind: oneName}
	if s.Accept("static") {
		found.kind = allOf
	}
	s.Accept("unsafe")
	found.text = s.csharpName()
	if s.Accept("=") {
		found.kind, found.text = allOf, s.csharpName()
	}
	if s.IsAt("<") {
		s.SkipEnclosed("<", ">")
	}
	switch {
	case found.text != "" && s.IsAt(";"):
		specs = append(specs, found)
	case found.text == "" && !s.IsAt("(") || s.Tok.FirstOnLine || s.Tok.Kind == lexical.End:
		s.malformed(found.line, "using directive")
	}
	return specs
}

// csharpName reads a name that may begin with global:: or another alias.
func (s scanner) csharpName() string {
	s.Accept("@")
	name := s.Name(".")
	for s.Accept(":") {
		if s.Tok.Kind == lexical.Word {
			name = s.Name(".")
		}
	}
	return name
}

// declaringWords are the keywords that declare a name, by language.
var declaringWords = map[string][]string{
	"kotlin": {"class", "interface", "object", "typealias", "fun", "val", "var"},
	"scala":  {"class", "trait", "object", "enum", "type", "def", "val", "given"},
	"csharp": {"class", "struct", "enum", "interface", "record"},
	"php":    {"class", "interface", "trait", "enum", "function", "const"},
}

// declares reports whether a file declares a name with one of its language's keywords; in PHP, in a
// namespace.
func declares(language string, content []byte, namespace, name string) bool {
	if !strings.Contains(string(content), name) {
		return false
	}
	// Where only unindented declarations count.
	words, top := declaringWords[language], language == "kotlin" || language == "scala"
	s := scan(language, content)
	for counts := namespace == "" || language != "php"; s.Tok.Kind != lexical.End; {
		switch {
		case top && s.Tok.FirstOnLine:
			counts = s.Tok.Start == 0 || s.Src[s.Tok.Start-1] == '\n'
		case language == "php" && isKeyword(s.Tok, "namespace"):
			s.Next()
			counts = strings.EqualFold(strings.ReplaceAll(s.Name(`\`), `\`, "."), namespace)
		}
		declaring := counts && isKeyword(s.Tok, words...)
		s.Next()
		if !declaring || isKeyword(s.Tok, words...) {
			continue
		}
		if s.declared() == name {
			return true
		}
		counts = !top
	}
	return false
}

// declared reads a declared name: foo, <T> foo, List<T>.foo, A?.foo.
func (s scanner) declared() string {
	if s.IsAt("<") {
		s.SkipEnclosed("<", ">")
	}
	for {
		last := s.Tok
		if s.Next(); s.IsAt("<") {
			s.SkipEnclosed("<", ">")
		}
		s.Accept("?")
		if last.Kind != lexical.Word || !s.Accept(".") {
			return last.Text
		}
	}
}

// A sourceRoot is a folder below which packages are folders, without those in prefix: a Kotlin
// project may omit the folders of the prefix that all of its packages share.
type sourceRoot struct {
	folder string
	prefix string // with a trailing dot, unless empty
}

// rootOf returns the source root of a file, derived from the name of its package, with dots.
func rootOf(from, packageName string) sourceRoot {
	root := sourceRoot{folder: path.Dir(from)}
	rest := strings.Split(packageName, ".")
	for len(rest) > 0 && path.Base(root.folder) == rest[len(rest)-1] {
		root.folder = path.Dir(root.folder)
		rest = rest[:len(rest)-1]
	}
	if len(rest) > 0 {
		root.prefix = strings.Join(rest, ".") + "."
	}
	return root
}

// place returns the path, without an extension, of a dotted name below a root.
func (r sourceRoot) place(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name+".", r.prefix)
	return path.Join(r.folder, strings.ReplaceAll(rest, ".", "/")), ok
}

// firstPlace finds the file of a dotted name below the first of the roots that has one.
func firstPlace(files Files, roots []sourceRoot, name string, endings ...string) (string, bool) {
	return firstFound(roots, func(root sourceRoot) (string, bool) {
		return firstFound(endings, func(ending string) (string, bool) {
			place, ok := root.place(name)
			return place + ending, ok && files.Has(place+ending)
		})
	})
}

// namespaceFiles returns the files of a namespace in the first of the roots that has any wanted
// ones.
func namespaceFiles(files Files, roots []sourceRoot, name, ending string, wanted func(content []byte) bool) []string {
	for _, root := range roots {
		folder, ok := root.place(name)
		if !ok {
			continue
		}
		var found []string
		for _, file := range inFolder(files, folder, ending) {
			if content, err := files.Read(file); err == nil && len(found) < maxOfPackage && wanted(content) {
				found = append(found, file)
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// firstDeclaring finds the first of some files that declares a dotted name. Java files are named
// after what they declare.
func firstDeclaring(files Files, among []string, name string) (string, bool) {
	namespace, simple := splitName(name)
	return firstFound(among, func(file string) (string, bool) {
		content, err := files.Read(file)
		language := declaringLanguages[path.Ext(file)]
		return file, err == nil && language != "" && declares(language, content, namespace, simple)
	})
}

// splitName splits a name before its last dot.
func splitName(name string) (namespace, simple string) {
	dot := strings.LastIndexByte(name, '.')
	return name[:max(dot, 0)], name[dot+1:]
}

// declaringLanguages maps file extensions to the languages in which a file may declare names that
// differ from the name of the file.
var declaringLanguages = map[string]string{".kt": "kotlin", ".scala": "scala", ".cs": "csharp", ".php": "php"}

// resolveNames returns the files of names that are imported individually, and of those imported as
// a whole.
func resolveNames(specs []spec, one, all func(name string) []string) []string {
	var found []string
	for _, s := range specs {
		switch s.kind {
		case oneName:
			found = append(found, one(s.text)...)
		case allOf:
			found = append(found, all(s.text)...)
		}
	}
	return found
}
