// Package imports finds the files of a workspace that a source file depends on: it reads what the file imports, and
// resolves that to files as the language's own tools would.
package imports

import (
	"fmt"
	"path"
	"slices"

	"remit/internal/search/lexical"
)

// Files is the workspace as a resolver sees it: regular files that may be read, by slash-separated path beneath the root.
type Files interface {
	// Read returns the content of a file. It fails if there is none, or if it may not be read.
	Read(path string) ([]byte, error)
	// Has tells whether there is such a file; a folder is none.
	Has(path string) bool
	// In names what is directly in a folder, "." being the root: files, and folders with a slash at the end, in order of
	// their bytes. It gives nothing if there is no such folder.
	In(folder string) []string
	// Named gives the paths of all files whose last element is name, in order.
	Named(name string) []string
}

// A SyntaxError says why the imports of a file cannot be read.
type SyntaxError struct {
	Line int
	Why  string
}

// Error tells line and reason.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("Syntax error at line %d: %s", e.Line, e.Why)
}

// A spec is one import as it stands in a file.
type spec struct {
	text string // what is imported, as written, without quotes
	line int
	kind kind
}

// kind tells ways to import apart where a language resolves them differently. The zero kind is the ordinary one.
type kind uint8

// mostImports is how many imports of a file are looked at, and longestImport how long one may be: nobody writes more,
// but somebody could.
const (
	mostImports   = 10_000
	longestImport = 1_000
)

// A specList gathers the imports of a file, within the limits.
type specList struct{ specs []spec }

func (l *specList) add(text string, line int, k kind) {
	if text != "" && len(text) <= longestImport && len(l.specs) < mostImports {
		l.specs = append(l.specs, spec{text, line, k})
	}
}

// resolveEach gives the files that find knows for specs, in order.
func resolveEach(specs []spec, find func(s spec) (file string, ok bool)) []string {
	var found []string
	for _, s := range specs {
		if file, ok := find(s); ok {
			found = append(found, file)
		}
	}
	return found
}

// Of returns the files that a file depends on directly, each once, in order of their first import. The file itself is
// not among them. A language that is not known has no imports. An error is a *SyntaxError.
func Of(files Files, path, languageName string, content []byte) ([]string, error) {
	l, ok := languages[languageName]
	if !ok {
		return nil, nil
	}
	specs, err := l.extract(content)
	if err != nil {
		return nil, err
	}
	specs = slices.DeleteFunc(specs[:min(len(specs), mostImports)], func(s spec) bool { return len(s.text) > longestImport })
	return once(l.resolve(newListedFiles(files), path, specs), path), nil
}

// A language knows how files of one language import others.
type language struct {
	// extract reads the imports of a file, in order. An error is a *SyntaxError.
	extract func(content []byte) ([]spec, error)
	// resolve gives the files that the specs of one file mean. from is that file's path. What is not in the workspace
	// gives nothing.
	resolve func(files Files, from string, specs []spec) []string
}

// languages are known by the names that package source gives them.
var languages = map[string]language{
	"go":         {extractGo, resolveGo},
	"python":     {extractPython, resolvePython},
	"rust":       {extractRust, resolveRust},
	"c":          {extractC, resolveC},
	"cpp":        {extractCPP, resolveC},
	"csharp":     {extractCSharp, resolveCSharp},
	"java":       {extractJava, resolveJVM},
	"kotlin":     {extractKotlin, resolveJVM},
	"scala":      {extractScala, resolveJVM},
	"php":        {extractPHP, resolvePHP},
	"ruby":       {extractRuby, resolveRuby},
	"markdown":   {extractMarkdown, resolveMarkdown},
	"typescript": {extractJS, resolveWeb},
	"javascript": {extractJS, resolveWeb},
	"vue":        {extractComponent, resolveWeb},
	"svelte":     {extractComponent, resolveWeb},
	"astro":      {extractAstro, resolveWeb},
	"html":       {extractHTML, resolveWeb},
	"css":        {extractCSS, resolveWeb},
	"scss":       {extractCSS, resolveWeb},
	"less":       {extractCSS, resolveWeb},
}

// listedFiles are the files of a workspace, as long as the imports of one file are resolved. A folder is listed once, and
// not at all if the one above does not have it: a resolver looks in many places, and nearly all of them are not there.
type listedFiles struct {
	Files
	folders map[string][]string
}

func newListedFiles(files Files) *listedFiles {
	return &listedFiles{Files: files, folders: map[string][]string{}}
}

// Has keeps the promise of Files.
func (l *listedFiles) Has(file string) bool {
	return lists(l.In(path.Dir(file)), path.Base(file))
}

// In keeps the promise of Files.
func (l *listedFiles) In(folder string) []string {
	names, known := l.folders[folder]
	if known || outside(folder) {
		return names
	}
	if folder == "." || lists(l.In(path.Dir(folder)), path.Base(folder)+"/") {
		names = l.Files.In(folder)
	}
	l.folders[folder] = names
	return names
}

// lists tells whether a name is among those of a folder.
func lists(names []string, name string) bool {
	_, found := slices.BinarySearch(names, name)
	return found
}

// A scanner walks over the tokens of a file for an extractor.
type scanner struct{ *lexical.Scanner }

// scan begins at the first token of a text.
func scan(language string, content []byte) scanner {
	s := scanner{lexical.New(language, content)}
	s.Next()
	return s
}

// problem gives what the scanner found wrong so far, as an extractor returns it.
func (s scanner) problem() error { return syntaxError(s.Err) }

func syntaxError(err *lexical.Error) error {
	if err == nil {
		return nil
	}
	return &SyntaxError{Line: err.Line, Why: err.Why}
}

// isText tells whether a token is a literal whose text is what it means.
func isText(t lexical.Token) bool { return t.Kind == lexical.Text && t.Quote != 0 }
