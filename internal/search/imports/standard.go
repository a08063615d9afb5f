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

	// pythonStandard contains the modules of Python's standard library.
	pythonStandard = sync.OnceValue(func() map[string]bool { return wordSet(pythonModules) })
	// cStandard contains the headers of the C library and of POSIX: a workspace file with such a
	// name is most likely a different one. Headers without an extension are omitted, because they
	// are never searched by name.
	cStandard = sync.OnceValue(func() map[string]bool { return wordSet(cHeaders) })
)

// wordSet returns the words of a text as a set.
func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		set[word] = true
	}
	return set
}
