package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"remit/internal/contract"
)

// contractShelf lets clients read the contracts of the tools that they may see.
type contractShelf struct{ engine *Engine }

const (
	contractAddress  = "remit://contracts/"
	contractTemplate = contractAddress + "{tool}"
	contractMIME     = "application/json"
)

func (contractShelf) Templates() []Template {
	return []Template{{
		URI: contractTemplate, Name: "contract", Title: "Contract of a tool",
		Description: "All that a tool promises: schemas, limits, paths, approval, errors and examples, with the digest of the text.",
		MIME:        contractMIME,
	}}
}

func (s contractShelf) List(context.Context) ([]Resource, error) {
	var list []Resource
	for _, t := range s.engine.Tools() {
		list = append(list, Resource{
			URI: contractAddress + t.Name, Name: "contracts/" + t.Name, Title: "Contract: " + t.Title,
			Description: fmt.Sprintf("What %s %s promises.", t.ID, t.Version), MIME: contractMIME,
		})
	}
	return list, nil
}

func (s contractShelf) Read(_ context.Context, uri string) ([]Contents, error) {
	tool := s.at(uri)
	if tool == nil {
		return nil, contract.Errorf(contract.NotFound, "There is no resource %s", uri).With("uri", uri)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // as in the catalog
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(tool.Contract); err != nil {
		return nil, fmt.Errorf("write the contract of %s: %w", tool.ID, err)
	}
	return []Contents{{URI: uri, MIME: contractMIME, Text: text.String()}}, nil
}

func (s contractShelf) Stamp(_ context.Context, uri string) (string, error) {
	if tool := s.at(uri); tool != nil {
		return tool.Digest, nil
	}
	return "", nil
}

func (s contractShelf) Complete(context.Context, string, string, string) ([]string, error) {
	var names []string
	for _, t := range s.engine.Tools() {
		names = append(names, t.Name)
	}
	return names, nil
}

func (s contractShelf) at(uri string) *Tool {
	name, ok := strings.CutPrefix(uri, contractAddress)
	if !ok {
		return nil
	}
	return s.engine.visible(name)
}
