package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"remit/internal/contract"
)

// Built is what go generate makes of the contract files.
type Built struct {
	Sets  []*contract.Set
	Files map[string][]byte // by their names in this folder
	// Markdown is docs/tools.md.
	Markdown []byte
}

// Build compiles the contract files beneath a folder, and refuses those that
// are not fit to be published.
func Build(tree fs.FS) (*Built, error) {
	sets, err := contract.LoadAll(tree)
	if err != nil {
		return nil, err
	}
	if err := lint(sets); err != nil {
		return nil, err
	}
	told := visible(sets)
	hidden := slices.DeleteFunc(slices.Clone(sets), func(set *contract.Set) bool { return !set.Hidden })
	built := &Built{Sets: sets, Files: map[string][]byte{}, Markdown: Markdown(told)}
	for name, sets := range map[string][]*contract.Set{catalogFile: told, hiddenFile: hidden} {
		if built.Files[name], err = Encode(sets); err != nil {
			return nil, err
		}
	}
	return built, nil
}

func lint(sets []*contract.Set) error {
	var problems []error
	for _, set := range sets {
		for _, finding := range set.Lint() {
			problems = append(problems, fmt.Errorf("%s", finding))
		}
	}
	return errors.Join(problems...)
}
