package source

import (
	_ "embed"
	"strings"
	"sync"
)

// Each table has a line for each language: its name, then words in lower case that tell it.
var (
	//go:embed extensions.txt
	byExtension string // of its files
	//go:embed filenames.txt
	byName string // whole names of files
	//go:embed othernames.txt
	byOtherName string // what shebang lines and modelines call it, where that is neither its name nor an extension
)

var (
	extensions = sync.OnceValue(func() map[string]string { return readTable(byExtension) })
	fileNames  = sync.OnceValue(func() map[string]string { return readTable(byName) })
	otherNames = sync.OnceValue(func() map[string]string { return readTable(byOtherName) })
	// allLanguages are the names themselves.
	allLanguages = sync.OnceValue(func() map[string]bool {
		all := map[string]bool{}
		for _, table := range []string{byExtension, byName, byOtherName} {
			for line := range strings.Lines(table) {
				all[strings.Fields(line)[0]] = true
			}
		}
		return all
	})
)

// readTable turns lines of a value and its keys into a map.
func readTable(table string) map[string]string {
	byKey := map[string]string{}
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		for _, key := range words[1:] {
			byKey[key] = words[0]
		}
	}
	return byKey
}
