// Package outline tells what a source file is by its path and content: its language, the module that it belongs to, the
// role that it plays, and an outline of what it declares.
package outline

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
	outline := outliners[language]
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

// outliners outline the languages that have an outline.
var outliners = map[string]func(content []byte) []Symbol{
	"go": outlineGo, "python": outlinePython, "ruby": outlineRuby, "shell": outlineShell, "markdown": outlineMarkdown, "sql": outlineSQL,
	"css": outlineCSS, "scss": outlineCSS, "less": outlineCSS, "c": outlineC, "cpp": outlineC,
	"javascript": outlineScript, "typescript": outlineScript,
	"vue": outlineComponent, "svelte": outlineComponent, "astro": outlineComponent,
	"java": outlineManaged("java"), "csharp": outlineManaged("csharp"), "dart": outlineManaged("dart"), "groovy": outlineManaged("groovy"),
	"rust": outlineKeywords("rust"), "kotlin": outlineKeywords("kotlin"), "swift": outlineKeywords("swift"), "scala": outlineKeywords("scala"),
	"php": outlineKeywords("php"), "protobuf": outlineKeywords("protobuf"), "graphql": outlineKeywords("graphql"),
}

// LineCount is the number of lines that an editor shows: a newline ends a line, also the last one. An empty file has none.
func LineCount(content []byte) int {
	n := bytes.Count(content, []byte{'\n'})
	if len(content) > 0 && content[len(content)-1] != '\n' {
		n++
	}
	return n
}
