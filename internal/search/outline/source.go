// Package outline describes a source file by its path and content: its language, the module it
// belongs to, its role, and an outline of its declarations. It reads no files itself.
package outline

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// A Symbol is a declaration in a file.
type Symbol struct {
	// Kind is the kind of declaration in the terms of its language: function, method, class,
	// interface, struct, enum, type, trait, impl, object, module, namespace, macro, constant,
	// variable, heading, rule, table, view, ...
	Kind string
	// Name is the declared name. A member has the name of its type and a dot before it, in every
	// language.
	Name string
	// Line is the line of the name, End the last line of the declaration. Both count from 1.
	Line, End int
}

// maxOutlined is the maximum size of a file that has an outline: nobody writes a larger one by
// hand.
const maxOutlined = 16 << 20

// Outline returns the declarations of a file: functions, types and their equivalents, ordered by
// line. Constants and variables are included only if exported; declarations within functions are
// not included. An unknown language has no outline; for a file with errors Outline returns what it
// can recognise.
func Outline(language string, content []byte) []Symbol {
	if len(content) > maxOutlined {
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

// maxName is the maximum length of a name in bytes.
const maxName = 200

// cut shortens a name to maxName.
func cut(name string) string { return name[:min(len(name), maxName)] }

// outliners maps languages to their outline functions.
var outliners = map[string]func(content []byte) []Symbol{
	"go": outlineGo, "python": outlinePython, "ruby": outlineRuby, "shell": outlineShell, "markdown": outlineMarkdown, "sql": outlineSQL,
	"css": outlineCSS, "scss": outlineCSS, "less": outlineCSS, "c": outlineC, "cpp": outlineC,
	"javascript": outlineScript, "typescript": outlineScript,
	"vue": outlineComponent, "svelte": outlineComponent, "astro": outlineComponent,
	"java": outlineManaged("java"), "csharp": outlineManaged("csharp"), "dart": outlineManaged("dart"), "groovy": outlineManaged("groovy"),
	"rust": outlineKeywords("rust"), "kotlin": outlineKeywords("kotlin"), "swift": outlineKeywords("swift"), "scala": outlineKeywords("scala"),
	"php": outlineKeywords("php"), "protobuf": outlineKeywords("protobuf"), "graphql": outlineKeywords("graphql"),
}

// LineCount returns the number of lines that an editor shows: a newline ends a line, also the last
// one. An empty file has none.
func LineCount(content []byte) int {
	n := bytes.Count(content, []byte{'\n'})
	if len(content) > 0 && content[len(content)-1] != '\n' {
		n++
	}
	return n
}
