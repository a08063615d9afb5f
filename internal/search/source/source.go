// Package source tells what a source file is by its path and content: its language, the module that it belongs to, the
// role that it plays, and an outline of what it declares.
package source

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// A Symbol is something that a file declares.
type Symbol struct {
	// Kind is what it is, in the words of its language: function, method, class, interface, struct, enum, type, trait,
	// impl, object, module, namespace, macro, constant, variable, heading, rule, table, view, ...
	Kind string
	// Name is as it is declared. What belongs to a type has the type's name and a dot before it, in every language.
	Name string
	// Line is where the name stands, End where the declaration ends. Both count from 1.
	Line, End int
}

// mostOutlined is the size of the largest file that has an outline: nobody writes a larger one by hand.
const mostOutlined = 16 << 20

// Outline gives what a file declares: functions, types and what corresponds to them, in order of their lines. Constants
// and variables are among it only where they are exported. What stands within a function is not. A language that is not
// known has no outline; a file with errors has what can be made out.
func Outline(language string, content []byte) []Symbol {
	if len(content) > mostOutlined {
		return nil
	}
	outline := outliner(language)
	if outline == nil {
		return nil
	}
	found := outline(content)
	for i, symbol := range found {
		found[i].Name = strings.ToValidUTF8(cut(symbol.Name), "\uFFFD")
	}
	slices.SortStableFunc(found, func(a, b Symbol) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(b.End, a.End))
	})
	return found
}

// longestName is how much of a name is kept, in bytes.
const longestName = 200

// cut shortens what is too long for a name.
func cut(name string) string { return name[:min(len(name), longestName)] }

// outliner finds who outlines a language; nil if nobody does.
func outliner(language string) func(content []byte) []Symbol {
	switch language {
	case "go":
		return outlineGo
	case "python":
		return outlinePython
	case "ruby":
		return outlineRuby
	case "shell":
		return outlineShell
	case "markdown":
		return outlineMarkdown
	case "css", "scss", "less":
		return outlineCSS
	case "sql":
		return outlineSQL
	case "javascript", "typescript":
		return outlineScript
	case "vue", "svelte", "astro":
		return outlineComponent
	case "java", "csharp", "dart", "groovy":
		return func(content []byte) []Symbol { return outlineManaged(language, content) }
	case "c", "cpp":
		return outlineC
	case "rust", "kotlin", "swift", "scala", "php", "protobuf", "graphql":
		return func(content []byte) []Symbol { return outlineKeywords(language, content) }
	}
	return nil
}

// LineCount is the number of lines that an editor shows: a newline ends a line, also the last one. An empty file has none.
func LineCount(content []byte) int {
	n := bytes.Count(content, []byte{'\n'})
	if len(content) > 0 && content[len(content)-1] != '\n' {
		n++
	}
	return n
}
