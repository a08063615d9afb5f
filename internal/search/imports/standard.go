package imports

import (
	_ "embed"
	"strings"
	"sync"
)

var (
	//go:embed pythonstandard.txt
	pythonModules string
	//go:embed cstandard.txt
	cHeaders string

	// pythonStandard has the modules of Python's standard library.
	pythonStandard = sync.OnceValue(func() map[string]bool { return wordSet(pythonModules) })
	// cStandard has the headers of the C library and of POSIX: a file of the workspace that has the name of one is most
	// likely another. Headers without an ending are not among them, as they are never searched by name.
	cStandard = sync.OnceValue(func() map[string]bool { return wordSet(cHeaders) })
)

// wordSet gives the words of a text as a set.
func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		set[word] = true
	}
	return set
}
