package imports

import (
	"path"
	"slices"
	"strings"

	"remit/internal/search/lexical"
)

// Kinds of imports in languages whose names are in packages or namespaces.
const (
	oneName kind = iota // one class, function or member; in C# a namespace
	allOf               // whatever is in a package or a class; in C# what is in a type
	ownName             // no import: the package or namespace that the file itself is in
)

// A header says how the head of a file names what the file is in and what it imports. Nothing after the head is looked at.
type header struct {
	language string
	own      string // the word before the package or namespace that the file is in
	imports  string // the word before what is imported
	// read reads what follows that word.
	read func(s scanner, specs []spec) []spec
}

var (
	extractJava   = header{"java", "package", "import", importedNames}.extract
	extractKotlin = header{"kotlin", "package", "import", importedNames}.extract
	extractScala  = header{"scala", "package", "import", importedNames}.extract
	extractCSharp = header{"csharp", "namespace", "using", using}.extract
)

// extract reads the head of a file.
func (h header) extract(content []byte) ([]spec, error) {
	s := scan(h.language, content)
	var specs []spec
	for full := ""; ; {
		line := s.Tok.Line
		switch {
		case s.Takes(";"), s.Takes("{"), s.Takes("global"):
		case s.Takes("@"):
			s.annotation()
		case s.Sees("["):
			s.Enclosed("[", "]")
		case s.Takes("extern"):
			s.Takes("alias")
			s.Next()
		case s.Takes(h.own) && !s.Sees("object"):
			full = strings.TrimPrefix(full+"."+s.Name("."), ".")
			specs = append(specs, spec{full, line, ownName})
		case s.Takes(h.imports):
			specs = h.read(s, specs)
		default:
			return specs, s.problem()
		}
		if len(full) > longestImport {
			return specs, s.problem()
		}
	}
}

// annotation moves past an annotation. That of a Kotlin file may say what it is for, and hold several: @file:[A B("x")].
func (s scanner) annotation() {
	for range 2 {
		s.Name(".")
		if s.Sees("(") {
			s.Enclosed("(", ")")
		}
		if !s.Takes(":") {
			return
		}
		if s.Sees("[") {
			s.Enclosed("[", "]")
			return
		}
	}
}

// A naming says how a language writes a list of names.
type naming struct {
	mark     string // between the parts of a name
	one, all kind
	words    map[string]kind // what may stand before a name, and the kind that it makes of it
}

// importedNames reads what follows import in Java, Kotlin and Scala.
func importedNames(s scanner, specs []spec) []spec {
	return s.names(specs, naming{mark: ".", one: oneName, all: allOf, words: map[string]kind{"static": oneName}}, "")
}

// names reads names with commas between them: a.b, a.b.*, a.b._, a.b as c, a.{b, c => d, *}.
func (s scanner) names(specs []spec, n naming, prefix string) []spec {
	for s.Tok.Kind == lexical.Word || s.Sees(n.mark, "*") {
		found := spec{line: s.Tok.Line, kind: n.one}
		if k, ok := n.words[strings.ToLower(s.Tok.Text)]; ok {
			found.kind = k
			s.Next()
		}
		s.Takes(n.mark)
		found.text = prefix + strings.TrimPrefix(s.Name(n.mark), "_root_.")
		rest, all := strings.CutSuffix(found.text, n.mark+"_")
		within := s.Takes(n.mark)
		switch {
		case all || s.Takes("*"):
			found.text, found.kind = strings.TrimSuffix(rest, n.mark), n.all
		case within && prefix == "" && s.Takes("{"):
			group := naming{n.mark, found.kind, n.all, n.words}
			specs = s.names(specs, group, found.text+n.mark)
			s.Takes("}")
			found.text = ""
		}
		s.otherName()
		ends := s.Tok.Fresh || s.Tok.Kind == lexical.End || s.Sees(",", ";", "}")
		if ends && found.text != "" && (prefix == "" || !strings.HasSuffix(found.text, ".given")) {
			specs = append(specs, found)
		}
		if !s.Takes(",") {
			break
		}
	}
	return specs
}

// otherName moves past the name that something gets here: as b, => b.
func (s scanner) otherName() {
	switch {
	case isKeyword(s.Tok, "as"):
		s.Next()
		s.Next()
	case s.Takes("="):
		s.Takes(">")
		s.Next()
	}
}

// isKeyword tells whether a token is one of these words, in small or capital letters.
func isKeyword(t lexical.Token, words ...string) bool {
	return t.Kind == lexical.Word && slices.Contains(words, strings.ToLower(t.Text))
}

// using reads what follows the word in C#: a namespace, static and a type, or another name for something. What is no directive
// but a statement is none.
func using(s scanner, specs []spec) []spec {
	found := spec{line: s.Tok.Line, kind: oneName}
	if s.Takes("static") {
		found.kind = allOf
	}
	s.Takes("unsafe")
	found.text = s.csharpName()
	if s.Takes("=") {
		found.kind, found.text = allOf, s.csharpName()
	}
	if s.Sees("<") {
		s.Enclosed("<", ">")
	}
	if found.text != "" && s.Sees(";") {
		specs = append(specs, found)
	}
	return specs
}

// csharpName reads a name that may begin with global:: or another alias.
func (s scanner) csharpName() string {
	s.Takes("@")
	name := s.Name(".")
	for s.Takes(":") {
		if s.Tok.Kind == lexical.Word {
			name = s.Name(".")
		}
	}
	return name
}

// declaringWords are the words that declare a name, by language.
var declaringWords = map[string][]string{
	"kotlin": {"class", "interface", "object", "typealias", "fun", "val", "var"},
	"scala":  {"class", "trait", "object", "enum", "type", "def", "val", "given"},
	"csharp": {"class", "struct", "enum", "interface", "record"},
	"php":    {"class", "interface", "trait", "enum", "function", "const"},
}

// declares tells whether a file declares a name, by one of the words that do so in its language; in PHP, in a namespace.
func declares(language string, content []byte, namespace, name string) bool {
	if !strings.Contains(string(content), name) {
		return false
	}
	words, top := declaringWords[language], language == "kotlin" || language == "scala" // where only what is not indented counts
	s := scan(language, content)
	for counts := namespace == "" || language != "php"; s.Tok.Kind != lexical.End; {
		switch {
		case top && s.Tok.Fresh:
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

// declared reads a name that is declared: foo, <T> foo, List<T>.foo, A?.foo.
func (s scanner) declared() string {
	if s.Sees("<") {
		s.Enclosed("<", ">")
	}
	for {
		last := s.Tok
		if s.Next(); s.Sees("<") {
			s.Enclosed("<", ">")
		}
		s.Takes("?")
		if last.Kind != lexical.Word || !s.Takes(".") {
			return last.Text
		}
	}
}

// A sourceRoot is a folder under which packages are folders, without those of prefix: Kotlin lets a project leave out
// the part that all of its packages share.
type sourceRoot struct {
	folder string
	prefix string // with a dot at the end, unless empty
}

// rootOf gives the source root of a file by the package that it says it is in, with dots.
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

// place gives the folder or file without an ending that a name with dots has beneath a root.
func (r sourceRoot) place(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name+".", r.prefix)
	return path.Join(r.folder, strings.ReplaceAll(rest, ".", "/")), ok
}

// firstPlace finds the file that a name with dots has beneath the first of the roots that has one.
func firstPlace(files Files, roots []sourceRoot, name string, endings ...string) (string, bool) {
	return firstFound(roots, func(root sourceRoot) (string, bool) {
		return firstFound(endings, func(ending string) (string, bool) {
			place, ok := root.place(name)
			return place + ending, ok && files.Has(place+ending)
		})
	})
}

// namespaceFiles gives the files of a namespace in the first of the roots that has any that are wanted.
func namespaceFiles(files Files, roots []sourceRoot, name, ending string, wanted func(content []byte) bool) []string {
	for _, root := range roots {
		folder, ok := root.place(name)
		if !ok {
			continue
		}
		var found []string
		for _, file := range inFolder(files, folder, ending) {
			if content, err := files.Read(file); err == nil && len(found) < mostOfPackage && wanted(content) {
				found = append(found, file)
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// firstDeclaring finds the first of some files that declares a name with dots. Those of Java have the name of what they declare.
func firstDeclaring(files Files, among []string, name string) (string, bool) {
	namespace, simple := splitName(name)
	return firstFound(among, func(file string) (string, bool) {
		content, err := files.Read(file)
		language := declaringLanguages[path.Ext(file)]
		return file, err == nil && language != "" && declares(language, content, namespace, simple)
	})
}

// splitName cuts a name before its last dot.
func splitName(name string) (namespace, simple string) {
	dot := strings.LastIndexByte(name, '.')
	return name[:max(dot, 0)], name[dot+1:]
}

// declaringLanguages are those in which a file declares names that need not be its own, by extension.
var declaringLanguages = map[string]string{".kt": "kotlin", ".scala": "scala", ".cs": "csharp", ".php": "php"}

// resolveNames gives the files of names that are imported one by one, and of those that stand for all in them.
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
