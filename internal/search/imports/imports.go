// Package imports finds the files of a workspace that a source file depends on: it reads what the file imports, and
// resolves that to files as the language's own tools would.
package imports

import (
	"fmt"
	"slices"
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
	l, ok := languageNamed(languageName)
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
