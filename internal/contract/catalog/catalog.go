// Package catalog holds the compiled contracts of every toolset and writes the reference
// documentation of them.
package catalog

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

//go:generate go -C ../../../tools/generate run . contracts

//go:embed catalog.json
var compiled []byte

// The hidden sets have their own file, which is decoded only if one of them is named.
//
//go:embed hidden.json
var compiledHidden []byte

// document is the structure of catalog.json.
type document struct {
	Sets []*contract.Set `json:"sets"`
}

// Load returns the sets that are compiled into the program: the visible ones, and also the hidden
// ones if a name is given that is not among the visible.
func Load(names ...string) ([]*contract.Set, error) {
	sets, err := Decode(compiled)
	if err != nil {
		return nil, err
	}
	unknown := func(name string) bool { return find(sets, name) < 0 }
	if !slices.ContainsFunc(names, unknown) {
		return sets, nil
	}
	hidden, err := Decode(compiledHidden)
	return append(sets, hidden...), err
}

func namesOf(sets []*contract.Set) []string {
	names := make([]string, len(sets))
	for i, set := range sets {
		names[i] = set.Name
	}
	return names
}

// find returns the index of the set with this name or namespace, or -1.
func find(sets []*contract.Set, name string) int {
	return slices.IndexFunc(sets, func(set *contract.Set) bool { return set.IsNamed(name) })
}

// visible returns the sets that are not hidden.
func visible(sets []*contract.Set) []*contract.Set {
	return slices.DeleteFunc(slices.Clone(sets), func(set *contract.Set) bool { return set.Hidden })
}

// Decode reads a catalog.json.
func Decode(data []byte) ([]*contract.Set, error) {
	tree, err := jsontree.ParseTrusted(data)
	if err != nil {
		return nil, fmt.Errorf("read catalog: %w", err)
	}
	var doc document
	if err := tree.Decode(&doc); err != nil {
		return nil, fmt.Errorf("read catalog: %w", err)
	}
	for _, set := range doc.Sets {
		if set == nil || slices.Contains(set.Contracts, nil) {
			return nil, errors.New("read catalog: null is neither a set nor a contract")
		}
		set.Adopt()
	}
	return doc.Sets, nil
}

// Select returns the sets with these names or namespaces, in the order of the names. It finds
// hidden sets, but its errors never mention them.
func Select(sets []*contract.Set, names []string) ([]*contract.Set, error) {
	shown := namesOf(visible(sets))
	var selected []*contract.Set
	for _, name := range names {
		i := find(sets, name)
		if i < 0 {
			return nil, fmt.Errorf("there is no toolset %q%s", name, contract.Hint(name, shown))
		}
		if !slices.Contains(selected, sets[i]) {
			selected = append(selected, sets[i])
		}
	}
	return selected, nil
}
