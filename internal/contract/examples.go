package contract

import (
	"bytes"
	"encoding/json"
	"fmt"

	"remit/internal/contract/jsontree"
)

// Examples are the documented calls of a contract. Few who load a contract ask for
// them, so what comes out of a catalog stays JSON until somebody does.
type Examples struct {
	list []Example
	text []byte // JSON that is not read yet; nil if list is all there is
}

// ExamplesOf makes the examples of a contract that is written in Go.
func ExamplesOf(list ...Example) Examples { return Examples{list: list} }

// All reads the examples.
func (x Examples) All() ([]Example, error) {
	if x.text == nil {
		return x.list, nil
	}
	tree, err := jsontree.Parse(x.text)
	if err != nil {
		return nil, fmt.Errorf("read examples: %w", err)
	}
	var list []Example
	if err := tree.Decode(&list); err != nil {
		return nil, fmt.Errorf("read examples: %w", err)
	}
	return list, nil
}

// MarshalJSON writes them as a list.
func (x Examples) MarshalJSON() ([]byte, error) {
	if x.text != nil {
		return x.text, nil
	}
	return plainJSON(x.list)
}

// plainJSON leaves < and & as they are; whoever wants them escaped does so outside.
func plainJSON(v any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte{'\n'}), nil
}

// UnmarshalJSON keeps the bytes for All.
func (x *Examples) UnmarshalJSON(data []byte) error {
	*x = Examples{text: bytes.Clone(data)}
	return nil
}

// UnmarshalYAML reads them at once: who reads YAML is about to check it.
func (x *Examples) UnmarshalYAML(read func(any) error) error {
	*x = Examples{}
	return read(&x.list)
}
