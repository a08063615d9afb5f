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
	Sets     []*contract.Set
	JSON     []byte // catalog.json
	Hidden   []byte // hidden.json
	Markdown []byte // docs/tools.md
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
	data, err := Encode(told)
	if err != nil {
		return nil, err
	}
	hidden, err := Encode(slices.DeleteFunc(slices.Clone(sets), func(set *contract.Set) bool { return !set.Hidden }))
	if err != nil {
		return nil, err
	}
	return &Built{Sets: sets, JSON: data, Hidden: hidden, Markdown: Markdown(told)}, nil
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
