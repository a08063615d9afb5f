// Package filetypes names sets of file names, such as "go" or "markdown". The names and globs are
// those of ripgrep 15 (rg --type-list).
package filetypes

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed types.txt
var list string

// List returns all types, one per line: the name, a colon, and its globs, separated by commas.
func List() string { return list }

var types = sync.OnceValue(func() map[string][]string {
	all := map[string][]string{}
	for line := range strings.Lines(list) {
		name, globs, _ := strings.Cut(strings.TrimSpace(line), ": ")
		all[name] = strings.Split(globs, ", ")
		all["all"] = append(all["all"], all[name]...)
	}
	return all
})

// Globs returns the globs for the file names of a type, or nil if the type is unknown. The type
// "all" has the globs of all types.
func Globs(name string) []string { return types()[name] }
