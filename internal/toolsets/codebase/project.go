package codebase

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"remit/internal/contract"
	"remit/internal/search/imports"
)

// project is the view of the project for the import resolver, during one call.
type project struct {
	ctx    context.Context // of the call; a project does not outlive it
	tools  *Tools
	policy *contract.PathPolicy
	listed bool // whether the whole tree was listed
}

var _ imports.Files = (*project)(nil)

var errTimeUp = errors.New("time limit exceeded")

// Read implements imports.Files.
func (p *project) Read(name string) ([]byte, error) {
	if p.ctx.Err() != nil {
		return nil, errTimeUp
	}
	file, err := p.tools.Files.CheckPath(name, p.policy)
	if err != nil {
		return nil, err
	}
	data, _, err := file.ReadAll()
	return data, err
}

// Has implements imports.Files.
func (p *project) Has(name string) bool {
	_, found := slices.BinarySearch(p.List(path.Dir(name)), path.Base(name))
	return found
}

// List implements imports.Files.
func (p *project) List(folder string) []string {
	if p.ctx.Err() != nil {
		return nil
	}
	names, err := p.tools.Files.List(folder, "", p.policy)
	if err != nil {
		return nil // a folder that may not be read counts as missing
	}
	for i, name := range names {
		slash := ""
		if strings.HasSuffix(name, "/") {
			slash = "/"
		}
		names[i] = path.Base(name) + slash
	}
	slices.Sort(names)
	return names
}

// Named implements imports.Files.
func (p *project) Named(name string) []string {
	texts, err := p.tools.Corpus()
	if err != nil {
		return nil
	}
	if !p.listed {
		p.listed = true
		if _, _, err := texts.Files(p.ctx, nil); err != nil {
			return nil
		}
	}
	return texts.Named(name)
}
