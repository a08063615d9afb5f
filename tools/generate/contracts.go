package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"remit/internal/contract"
	"remit/internal/contract/catalog"
)

// The files that are generated from the contracts. The hidden sets have their own file, which the
// program reads only if one of them is named.
const (
	sourceFolder  = "internal/toolsets"
	catalogFolder = "internal/contract/catalog"
	catalogFile   = catalogFolder + "/catalog.json"
	hiddenFile    = catalogFolder + "/hidden.json"
	markdownFile  = "docs/tools.md"
)

const note = "Code generated from internal/toolsets/*/contracts by go generate; DO NOT EDIT."

// contractFiles compiles the contracts of all toolsets. It returns an error if the version of a
// contract was raised too little for its changes.
func contractFiles(ctx context.Context) (map[string][]byte, error) {
	sets, files, err := build(os.DirFS(filepath.Join(repository, sourceFolder)))
	if err != nil {
		return nil, err
	}
	old, err := published(ctx, repository)
	if err != nil {
		return nil, err
	}
	return files, gate(old, sets)
}

// build compiles the contract files in a tree. It returns an error if lint finds a problem in one.
func build(tree fs.FS) ([]*contract.Set, map[string][]byte, error) {
	sets, err := contract.LoadAll(tree)
	if err != nil {
		return nil, nil, err
	}
	if err := lint(sets); err != nil {
		return nil, nil, err
	}
	isHidden := func(set *contract.Set) bool { return set.Hidden }
	visible := slices.DeleteFunc(slices.Clone(sets), isHidden)
	hidden := slices.DeleteFunc(slices.Clone(sets), func(set *contract.Set) bool { return !isHidden(set) })
	files := map[string][]byte{markdownFile: append([]byte("<!-- "+note+" -->\n"), catalog.Markdown(visible)...)}
	for name, sets := range map[string][]*contract.Set{catalogFile: visible, hiddenFile: hidden} {
		if files[name], err = encode(sets); err != nil {
			return nil, nil, err
		}
	}
	return sets, files, nil
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

// encode writes sets in the form that catalog.Decode reads.
func encode(sets []*contract.Set) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	document := struct {
		Note string          `json:"note"`
		Sets []*contract.Set `json:"sets"`
	}{note, sets}
	if err := encoder.Encode(document); err != nil {
		return nil, fmt.Errorf("write catalog: %w", err)
	}
	return out.Bytes(), nil
}

// published returns the sets that the version gate compares with: the compiled contracts of a
// repository at the last commit. Changes that are not committed can still change freely. Without
// git it reads the files themselves; an empty file has no sets.
func published(ctx context.Context, root string) ([]*contract.Set, error) {
	var sets []*contract.Set
	for _, name := range []string{catalogFile, hiddenFile} {
		data, err := committed(ctx, root, name)
		if err != nil {
			return nil, fmt.Errorf("read the published catalog: %w", err)
		}
		if len(data) == 0 {
			continue
		}
		more, err := catalog.Decode(data)
		if err != nil {
			return nil, err
		}
		sets = append(sets, more...)
	}
	return sets, nil
}

// committed returns a file as of the last commit, or nil if it is new.
func committed(ctx context.Context, root, name string) ([]byte, error) {
	git := func(args ...string) ([]byte, error) {
		command := exec.CommandContext(ctx, "git", args...)
		command.Dir = root
		return command.Output()
	}
	if _, err := git("rev-parse", "--verify", "HEAD"); err != nil {
		return os.ReadFile(filepath.Join(root, name))
	}
	data, err := git("show", "HEAD:./"+name)
	if err != nil {
		return nil, nil //nolint:nilerr // the commit does not have the file
	}
	return data, nil
}

// gate returns an error if the version of a contract was raised too little for its changes. Each
// line of the error names the rule.
func gate(old, updated []*contract.Set) error {
	var problems []error
	for _, r := range contract.Review(old, updated) {
		if !r.Enough {
			problems = append(problems, errors.New(sentence(r)))
		}
	}
	return errors.Join(problems...)
}

// sentence says why a version was not raised enough.
func sentence(r contract.ToolReview) string {
	c := r.Changes[0]
	if c.Where == "tool" { // the tool was removed, so there is no version to raise
		return fmt.Sprintf("%s: %s: %s. No version bump covers that: keep the tool, or move its callers to another tool first", r.Tool, c.Where, c.What)
	}
	return fmt.Sprintf("%s: %s: %s. That takes a %s bump: raise the version from %s to at least %s",
		r.Tool, c.Where, c.What, r.Needed, r.Old, next(r.Old, r.Needed))
}

func next(v contract.Version, b contract.Bump) contract.Version {
	switch b {
	case contract.Major:
		return contract.Version{Major: v.Major + 1}
	case contract.Minor:
		return contract.Version{Major: v.Major, Minor: v.Minor + 1}
	default:
		return contract.Version{Major: v.Major, Minor: v.Minor, Patch: v.Patch + 1}
	}
}
