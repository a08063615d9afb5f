// Package catalog holds the compiled contracts of every toolset, and the
// documents that are made from them.
package catalog

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

//go:generate go run ./generate

//go:embed catalog.json
var compiled []byte

// document is the form of catalog.json.
type document struct {
	Note string          `json:"note"`
	Sets []*contract.Set `json:"sets"`
}

const note = "Code generated from internal/toolsets/*/contracts by go generate; DO NOT EDIT."

// Load returns every set that is compiled into the program.
func Load() ([]*contract.Set, error) { return Decode(compiled) }

// Decode reads a catalog.json.
func Decode(data []byte) ([]*contract.Set, error) {
	tree, err := jsontree.Parse(data)
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

// Encode writes sets as a catalog.json.
func Encode(sets []*contract.Set) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(document{Note: note, Sets: sets}); err != nil {
		return nil, fmt.Errorf("write catalog: %w", err)
	}
	return out.Bytes(), nil
}

// Select returns the sets with these names, in the order of the names.
func Select(sets []*contract.Set, names []string) ([]*contract.Set, error) {
	var known []string
	for _, set := range sets {
		known = append(known, set.Name)
	}
	var selected []*contract.Set
	for _, name := range names {
		i := slices.Index(known, name)
		switch {
		case i < 0 && contract.Nearest(name, known) != "":
			return nil, fmt.Errorf("there is no toolset %q; did you mean %q?", name, contract.Nearest(name, known))
		case i < 0:
			return nil, fmt.Errorf("there is no toolset %q; there are %s", name, strings.Join(known, ", "))
		case !slices.Contains(selected, sets[i]):
			selected = append(selected, sets[i])
		}
	}
	return selected, nil
}
