// Package catalog holds the compiled contracts of every toolset, and the
// documents that are made from them.
package catalog

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
)

//go:generate go run ./generate

//go:embed catalog.json
var compiled []byte

//go:embed hidden.json
var compiledHidden []byte

// The files that go generate makes from the contracts. The hidden sets have a file of
// their own, which is read only if one of them is named.
const (
	catalogFile = "catalog.json"
	hiddenFile  = "hidden.json"
)

// document is the form of catalog.json.
type document struct {
	Note string          `json:"note"`
	Sets []*contract.Set `json:"sets"`
}

const note = "Code generated from internal/toolsets/*/contracts by go generate; DO NOT EDIT."

// Load returns the sets that are compiled into the program: those that everybody
// is told of, and the hidden ones too if a name is given that is not among them.
func Load(names ...string) ([]*contract.Set, error) {
	sets, err := Decode(compiled)
	if err != nil {
		return nil, err
	}
	unknown := func(name string) bool { return !slices.Contains(namesOf(sets), name) }
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

// visible are the sets that everybody is told of.
func visible(sets []*contract.Set) []*contract.Set {
	return slices.DeleteFunc(slices.Clone(sets), func(set *contract.Set) bool { return set.Hidden })
}

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

// Select returns the sets with these names, in the order of the names. It finds
// hidden sets, but names none of them to somebody who did not.
func Select(sets []*contract.Set, names []string) ([]*contract.Set, error) {
	known, told := namesOf(sets), namesOf(visible(sets))
	var selected []*contract.Set
	for _, name := range names {
		i := slices.Index(known, name)
		if i < 0 {
			return nil, fmt.Errorf("there is no toolset %q%s", name, contract.Hint(name, told))
		}
		if !slices.Contains(selected, sets[i]) {
			selected = append(selected, sets[i])
		}
	}
	return selected, nil
}

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

// Published returns the sets that the version gate compares with: those of the
// compiled contracts in folder as they were last committed. What is not committed
// may still change freely. Without git it is the files as they lie there; an empty
// one has none.
func Published(ctx context.Context, folder string) ([]*contract.Set, error) {
	var sets []*contract.Set
	for _, name := range []string{catalogFile, hiddenFile} {
		data, err := committed(ctx, folder, name)
		if err != nil {
			return nil, fmt.Errorf("read the published catalog: %w", err)
		}
		if len(data) == 0 {
			continue
		}
		more, err := Decode(data)
		if err != nil {
			return nil, err
		}
		sets = append(sets, more...)
	}
	return sets, nil
}

// committed is a file as it was last committed: nothing, if it is new.
func committed(ctx context.Context, folder, name string) ([]byte, error) {
	git := func(args ...string) ([]byte, error) {
		command := exec.CommandContext(ctx, "git", args...)
		command.Dir = folder
		return command.Output()
	}
	if _, err := git("rev-parse", "--verify", "HEAD"); err != nil {
		return os.ReadFile(filepath.Join(folder, name))
	}
	data, err := git("show", "HEAD:./"+name)
	if err != nil {
		return nil, nil //nolint:nilerr // it is not in the commit
	}
	return data, nil
}
