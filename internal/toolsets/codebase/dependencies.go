package codebase

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"remit/internal/contract"
	"remit/internal/search/imports"
	"remit/internal/search/outline"
	"remit/internal/search/textfile"
)

const (
	depsRoom     = 32 << 10  // maximum total size of imported files and outlines in an answer
	depsFullRoom = 256 << 10 // the same, if the caller asks for full contents
	depContent   = 8 << 10   // a larger file is represented by its outline, unless the caller asks
	maxSignature = 200
)

// dependencies returns the files that a file imports, with contents or outlines as far as there is
// room.
func (t *Tools) dependencies(ctx context.Context, in *ReadIn, language string, data []byte) ([]Dependency, error) {
	project, path := &project{ctx: ctx, tools: t, policy: Policy(t.Served)}, in.Path.Name()
	paths, err := imports.Of(project, path, language, data)
	if fault, ok := errors.AsType[*imports.SyntaxError](err); ok {
		return nil, contract.Errorf(contract.Invalid, "Failed to parse imports").With("path", path).With("details", fault.Error()).Because(err)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("find imports: %w", err)
	}
	room, maxContent := depsRoom, depContent
	if in.FullDeps {
		room, maxContent = depsFullRoom, depsFullRoom
	}
	list := make([]Dependency, 0, len(paths))
	for _, path := range paths {
		list = append(list, project.dependency(path, &room, maxContent))
	}
	return list, nil
}

// dependency returns an imported file, with its content if that has at most maxContent bytes,
// otherwise with its outline. It takes the size of either from room, and omits what does not fit.
func (p *project) dependency(name string, room *int, maxContent int) Dependency {
	d := Dependency{Path: name, Type: "import", Level: 1}
	raw, err := p.Read(name)
	if err != nil {
		d.Omitted = omittedBecause(err)
		return d
	}
	data, _, err := textfile.Decode(raw)
	if err != nil {
		d.Omitted = "it is not text"
		return d
	}
	if len(data) <= maxContent && len(data) <= *room {
		d.Content = string(data)
		*room -= len(data)
		return d
	}
	d.Omitted = "the answer would be too long; read it by itself"
	if maxContent < depsFullRoom {
		d.Omitted = "it is too long; read it by itself, or set fullDeps"
	}
	symbols, size := signatures(outline.Language(name, data), data)
	if len(symbols) > 0 && size <= *room {
		d.Outline = symbols
		*room -= size
	}
	return d
}

// signatures returns the declarations in a file, and about how many bytes they add to an answer.
func signatures(language string, data []byte) (all []Declaration, size int) {
	symbols, _ := outlineOf(language, data)
	lines := bytes.Split(data, []byte("\n"))
	for _, s := range symbols {
		text := strings.TrimSpace(string(lines[min(s.Line, len(lines))-1]))
		if len(text) > maxSignature {
			text = strings.ToValidUTF8(text[:maxSignature-len("…")], "") + "…"
		}
		all = append(all, Declaration{s.Kind, s.Name, s.Line, s.EndLine, text})
		size += len(s.Kind) + len(s.Name) + len(text) + 60 // 60: keys and numbers
	}
	return all, size
}

// omittedBecause returns why a file could not be read, in a form suitable for the caller.
func omittedBecause(err error) string {
	switch contract.AsError(err).Kind {
	case contract.TooLarge:
		return "it is too large"
	case contract.NotFound:
		return "it no longer exists"
	case contract.Denied:
		return "reading it is not allowed"
	default:
		return "it cannot be read right now"
	}
}
