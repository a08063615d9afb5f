package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

// The kinds of lines in compiled.txt. What belongs to a line stands behind tabs: the
// name, then JSON. A set comes before its tools.
const (
	noteLine = "#"
	setLine  = "set"
	toolLine = "tool"
)

// encodeLines writes sets as a compiled.txt.
func encodeLines(sets []*contract.Set) ([]byte, error) {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s\t%s\n", noteLine, note)
	for _, set := range sets {
		about, err := aboutSet(set)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "%s\t%s\t%s\n", setLine, set.Name, about)
		for _, c := range set.Contracts {
			text, err := c.Compact()
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&out, "%s\t%s\t%s\n", toolLine, c.Name, text)
		}
	}
	return out.Bytes(), nil
}

// aboutSet is what a set says itself, all but its name, as compact JSON.
func aboutSet(set *contract.Set) ([]byte, error) {
	data, err := json.Marshal(set)
	if err != nil {
		return nil, fmt.Errorf("write set %s: %w", set.Name, err)
	}
	tree, err := jsontree.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("read back set %s: %w", set.Name, err)
	}
	tree.Members = slices.DeleteFunc(tree.Members, func(m jsontree.Member) bool { return m.Key == "name" || m.Key == "contracts" })
	return tree.Append(nil), nil
}

// reader makes a contract of its name and what its line says.
type reader func(name string, text []byte) (*contract.Contract, error)

// readLines reads a compiled.txt.
func readLines(data []byte, read reader) ([]*contract.Set, error) {
	var sets []*contract.Set
	for len(data) > 0 {
		line, rest, _ := bytes.Cut(data, []byte{'\n'})
		data = rest
		kind, content, _ := bytes.Cut(line, []byte{'\t'})
		name, text, _ := bytes.Cut(content, []byte{'\t'})
		switch {
		case string(kind) == setLine:
			set, err := readSet(string(name), text)
			if err != nil {
				return nil, err
			}
			sets = append(sets, set)
		case string(kind) == toolLine && len(sets) > 0:
			c, err := read(string(name), text)
			if err != nil {
				return nil, fmt.Errorf("read catalog: %w", err)
			}
			set := sets[len(sets)-1]
			set.Contracts = append(set.Contracts, c)
		case string(kind) != noteLine:
			return nil, errors.New("read catalog: there is a line that is neither a set nor a tool of one")
		}
	}
	for _, set := range sets {
		set.Adopt()
	}
	return sets, nil
}

func readSet(name string, text []byte) (*contract.Set, error) {
	set := &contract.Set{Name: name}
	tree, err := jsontree.Parse(text)
	if err == nil {
		err = tree.Decode(set)
	}
	if err != nil {
		return nil, fmt.Errorf("read catalog: set %s: %w", name, err)
	}
	return set, nil
}
