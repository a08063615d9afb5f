package catalog

import (
	"errors"
	"fmt"
	"io/fs"

	"remit/internal/contract"
)

// Built is what go generate makes of the contract files.
type Built struct {
	Sets     []*contract.Set
	JSON     []byte // catalog.json
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
	data, err := Encode(sets)
	if err != nil {
		return nil, err
	}
	return &Built{Sets: sets, JSON: data, Markdown: Markdown(sets)}, nil
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
