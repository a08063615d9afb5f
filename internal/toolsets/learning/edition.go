package learning

import (
	"slices"
	"strings"

	"remit/internal/contract"
)

// The tools that shelf and prompts go by.
const (
	readTool   = "read_repo_file"
	memoryTool = "write_memory_entry"
)

// edition is the set that is served. Whatever it offers to be read is what
// read_repo_file may read, so that one rule of the operator goes for both.
type edition struct {
	*Tools
	write *contract.Contract // of write_memory_entry; may be closed
	read  *contract.Contract // of read_repo_file; may be closed; nil if the operator hides it
}

// edition finds out which of the sets is served; nil if none is.
func (t *Tools) edition(sets []string) *edition {
	i := slices.IndexFunc(t.Served, func(served *contract.Set) bool { return slices.Contains(sets, served.Name) })
	if i < 0 {
		return nil
	}
	served := t.Served[i]
	// Which files there are does not depend on whether they may be written.
	i = slices.IndexFunc(t.Known, func(known *contract.Set) bool { return known.Name == served.Name })
	e := &edition{Tools: t, write: t.Known[i].Find(memoryTool), read: served.Find(readTool)}
	if tightened := served.Find(memoryTool); tightened != nil {
		e.write = tightened
	}
	return e
}

// files are the memory files, as the contract lists them.
func (e *edition) files() []string { return filesOf(e.write) }

func filesOf(writing *contract.Contract) []string {
	var files []string
	for _, m := range writing.Input.At("properties", "file", "enum").Members {
		files = append(files, m.Value.Text)
	}
	return files
}

// MemoryFiles names the memory files of all editions.
func MemoryFiles(known []*contract.Set) []string {
	var files []string
	for _, set := range known {
		if c := set.Find(memoryTool); c != nil {
			files = append(files, filesOf(c)...)
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// policy says which paths may be read.
func (e *edition) policy() *contract.PathPolicy { return e.read.PathPolicy("path") }

// isLog tells whether a memory file holds one JSON value a line.
func isLog(file string) bool { return strings.HasSuffix(file, ".jsonl") }

func mimeOf(file string) string {
	if isLog(file) {
		return "application/x-ndjson"
	}
	return "text/markdown"
}
