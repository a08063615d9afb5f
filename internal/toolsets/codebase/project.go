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

// project is the project as the resolver of imports sees it, during one call.
type project struct {
	ctx    context.Context // of the call, which is all that a project lives for
	tools  *Tools
	policy *contract.PathPolicy
	listed bool // the whole tree is known
}

var _ imports.Files = (*project)(nil)

var errTimeUp = errors.New("the time is up")

// Read keeps the promise of imports.Files.
func (p *project) Read(name string) ([]byte, error) {
	if p.ctx.Err() != nil {
		return nil, errTimeUp
	}
	file, err := p.tools.Files.Judge(name, p.policy)
	if err != nil {
		return nil, err
	}
	data, _, err := file.ReadAll()
	return data, err
}

// Has keeps the promise of imports.Files.
func (p *project) Has(name string) bool {
	_, found := slices.BinarySearch(p.In(path.Dir(name)), path.Base(name))
	return found
}

// In keeps the promise of imports.Files.
func (p *project) In(folder string) []string {
	if p.ctx.Err() != nil {
		return nil
	}
	names, err := p.tools.Files.List(folder, "", p.policy)
	if err != nil {
		return nil // what may not be looked into is not there
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

// Named keeps the promise of imports.Files.
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

// dependency gives a file that is imported, with its content if that takes no more than room.
func (p *project) dependency(name string, room int) Dependency {
	d := Dependency{Path: name, Type: "import", Level: 1}
	data, err := p.Read(name)
	switch {
	case err != nil:
		d.Omitted = omittedBecause(err)
	case !isText(data):
		d.Omitted = "it is not text"
	case len(data) > room:
		d.Omitted = "the answer would be too long; read it by itself"
	default:
		d.Content = string(data)
	}
	return d
}

// omittedBecause says why a file could not be read, in words for the caller.
func omittedBecause(err error) string {
	switch contract.AsError(err).Kind {
	case contract.TooLarge:
		return "it is too large"
	case contract.NotFound:
		return "it is gone"
	case contract.Denied:
		return "it may not be read"
	default:
		return "it cannot be read right now"
	}
}
