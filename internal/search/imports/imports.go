// Package imports finds the files of a workspace that a source file depends on: it reads the file's
// imports and resolves them to files as the language's own tools do. It finds no dependencies
// outside of the workspace.
package imports

import (
	"fmt"
	"path"
	"slices"

	"remit/internal/search/lexical"
)

// Files is the workspace as a resolver sees it: readable regular files, by slash-separated path
// relative to the root.
type Files interface {
	// Read returns the content of a file. It returns an error if the file does not exist or may not
	// be read.
	Read(path string) ([]byte, error)
	// Has reports whether a file exists; a folder does not count.
	Has(path string) bool
	// List returns the names in a folder ("." is the root): files, and folders with a trailing
	// slash, in byte order. It returns nothing if there is no such folder.
	List(folder string) []string
	// Named returns the paths of all files whose last element is name, sorted.
	Named(name string) []string
}

// A SyntaxError says why the imports of a file cannot be read.
type SyntaxError struct {
	Line   int
	Reason string
}

// Error returns the line and the reason.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("Syntax error at line %d: %s", e.Line, e.Reason)
}

// A spec is one import as written in a file.
type spec struct {
	text string // what is imported, as written, without quotes
	line int
	kind kind
}

// kind distinguishes forms of imports that a language resolves differently. The zero kind is the
// ordinary one.
type kind uint8

// maxImports limits the imports of a file that are resolved, and maxImport the length of one. Only
// hostile files exceed them.
const (
	maxImports = 10_000
	maxImport  = 1_000
)

// A specList collects the imports of a file, within the limits.
type specList struct{ specs []spec }

func (l *specList) add(text string, line int, k kind) {
	if text != "" && len(text) <= maxImport && len(l.specs) < maxImports {
		l.specs = append(l.specs, spec{text, line, k})
	}
}

// resolveEach returns the files that find returns for specs, in order.
func resolveEach(specs []spec, find func(s spec) (file string, ok bool)) []string {
	var found []string
	for _, s := range specs {
		if file, ok := find(s); ok {
			found = append(found, file)
		}
	}
	return found
}

// Of returns the files that a file depends on directly, each once, in order of their first import,
// without the file itself. An unknown language has no imports. An error is a *SyntaxError.
func Of(files Files, path, languageName string, content []byte) ([]string, error) {
	l, ok := languages[languageName]
	if !ok {
		return nil, nil
	}
	specs, err := l.extract(content)
	if err != nil {
		return nil, err
	}
	specs = slices.DeleteFunc(specs[:min(len(specs), maxImports)], func(s spec) bool { return len(s.text) > maxImport })
	return once(l.resolve(newListedFiles(files), path, specs), path), nil
}

// A language defines how files of one language import others.
type language struct {
	// extract reads the imports of a file, in order. An error is a *SyntaxError.
	extract func(content []byte) ([]spec, error)
	// resolve returns the files to which the specs of one file refer. from is that file's path.
	// Imports from outside of the workspace yield nothing.
	resolve func(files Files, from string, specs []spec) []string
}

// languages maps the names used by package outline to their definitions.
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

// listedFiles caches folder listings while the imports of one file are resolved. It lists a folder
// once, and not at all if its parent does not contain it: a resolver tries many places, and nearly
// all of them do not exist.
type listedFiles struct {
	Files
	folders map[string][]string
}

func newListedFiles(files Files) *listedFiles {
	return &listedFiles{Files: files, folders: map[string][]string{}}
}

// Has implements Files.
func (l *listedFiles) Has(file string) bool {
	return lists(l.List(path.Dir(file)), path.Base(file))
}

// List implements Files.
func (l *listedFiles) List(folder string) []string {
	names, known := l.folders[folder]
	if known || outside(folder) {
		return names
	}
	if folder == "." || lists(l.List(path.Dir(folder)), path.Base(folder)+"/") {
		names = l.Files.List(folder)
	}
	l.folders[folder] = names
	return names
}

// lists reports whether a name is in the listing of a folder.
func lists(names []string, name string) bool {
	_, found := slices.BinarySearch(names, name)
	return found
}

// A scanner walks over the tokens of a file for an extractor.
type scanner struct{ *lexical.Scanner }

// scan returns a scanner at the first token of a text.
func scan(language string, content []byte) scanner {
	s := scanner{lexical.New(language, content)}
	s.Next()
	return s
}

// problem returns the scanner's error so far as a *SyntaxError.
func (s scanner) problem() error { return syntaxError(s.Err) }

// malformed begins the reason of every error about an import statement, as opposed to the rest of a
// file.
const malformed = "malformed "

// malformed records that an import statement is not valid.
func (s scanner) malformed(line int, statement string) { s.Fail(line, malformed+statement) }

func syntaxError(err *lexical.Error) error {
	if err == nil {
		return nil
	}
	return &SyntaxError{Line: err.Line, Reason: err.Reason}
}

// isText reports whether a token is a string literal whose text can be used as it is: without
// interpolation and without escapes that matter.
func isText(t lexical.Token) bool { return t.Kind == lexical.Text && t.Quote != 0 }
