package eval

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

//go:embed sets/*.jsonl
var files embed.FS

var builtin = sync.OnceValues(readBuiltin)

// Builtin returns the sets that are part of the program, by name. They are read when they are first asked for, and belong to
// all callers.
func Builtin() ([]*Set, error) {
	sets, err := builtin()
	return slices.Clone(sets), err
}

func readBuiltin() ([]*Set, error) {
	names, err := fs.Glob(files, "sets/*.jsonl")
	if err != nil {
		return nil, fmt.Errorf("list sets: %w", err)
	}
	var sets []*Set
	for _, name := range names {
		content, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read set: %w", err)
		}
		set, err := Read(strings.TrimSuffix(path.Base(name), ".jsonl"), strings.NewReader(string(content)))
		if err != nil {
			return nil, err
		}
		sets = append(sets, set)
	}
	return sets, nil
}
