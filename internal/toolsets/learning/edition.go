package learning

import (
	"slices"
	"strings"

	"remit/internal/contract"
)

// The tools whose contracts apply to the resources and prompts.
const (
	readTool   = "read_repo_file"
	memoryTool = "write_memory_entry"
)

// edition is the served set. It offers as resources only what read_repo_file may read, so that the
// operator's rules for the tool apply to both.
type edition struct {
	*Tools
	write *contract.Contract // write_memory_entry; also set if the tool is not served
	read  *contract.Contract // read_repo_file; nil if the operator hides it
}

// edition returns the served set, or nil if none is served.
func (t *Tools) edition(sets []string) *edition {
	i := slices.IndexFunc(t.Served, func(served *contract.Set) bool { return slices.Contains(sets, served.Name) })
	if i < 0 {
		return nil
	}
	served := t.Served[i]
	// The contract of the tool lists the memory files, so it is needed even if the tool is not
	// served.
	i = slices.IndexFunc(t.AllSets, func(known *contract.Set) bool { return known.Name == served.Name })
	e := &edition{Tools: t, write: t.AllSets[i].Find(memoryTool), read: served.Find(readTool)}
	if tightened := served.Find(memoryTool); tightened != nil {
		e.write = tightened
	}
	return e
}

// files returns the memory files that the contract lists.
func (e *edition) files() []string { return filesOf(e.write) }

func filesOf(writing *contract.Contract) []string {
	var files []string
	for _, m := range writing.Input.At("properties", "file", "enum").Members {
		files = append(files, m.Value.Text)
	}
	return files
}

// MemoryFiles returns the names of the memory files of all editions.
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

// policy returns the policy for paths that may be read.
func (e *edition) policy() *contract.PathPolicy { return e.read.PathPolicy("path") }

// isLog reports whether a memory file holds one JSON value per line.
func isLog(file string) bool { return strings.HasSuffix(file, ".jsonl") }

func mimeOf(file string) string {
	if isLog(file) {
		return "application/x-ndjson"
	}
	return "text/markdown"
}
