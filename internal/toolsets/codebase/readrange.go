package codebase

import (
	"context"
	"errors"
	"fmt"

	"remit/internal/contract"
	"remit/internal/search/outline"
	"remit/internal/search/textfile"
)

// maxRange is the maximum size of a range of lines in an answer.
const maxRange = 1 << 20

// readRange returns the requested lines of a text that is too large to be read as a whole. It keeps
// only those lines in memory.
func (t *Tools) readRange(ctx context.Context, in ReadIn) (ReadOut, error) {
	source, info, err := in.Path.Open()
	if err != nil {
		return ReadOut{}, err
	}
	defer func() { _ = source.Close() }() // only read, so there is nothing to lose
	first, name := max(in.Offset, 1), in.Path.Name()
	part, err := textfile.Lines(ctx, source, first, first+in.Limit-1, maxRange)
	switch {
	case errors.Is(err, textfile.ErrBinary) || errors.Is(err, textfile.ErrMixed):
		return ReadOut{}, notText(name, err)
	case err != nil:
		return ReadOut{}, fmt.Errorf("read %s: %w", name, err)
	case first > part.Lines && !part.Partial:
		return ReadOut{}, beyondEnd(name, part.Lines, first)
	case len(part.Content) == 0:
		return ReadOut{}, contract.Errorf(contract.TooLarge, "Line %d of %s has more than %d bytes", first, name, maxRange).
			With("path", name).With("max", maxRange)
	}
	language := outline.Language(name, part.Head)
	file := File{
		Path: name, Content: string(part.Content), Size: int(info.Size()), Lines: part.Lines, Partial: part.Partial, Language: language,
		StartLine: first, EndLine: first + outline.LineCount(part.Content) - 1,
	}
	file.setEncoding(part.Encoding)
	t.Note(name)
	return ReadOut{
		File: file, Dependencies: []Dependency{},
		Metadata: Metadata{Module: outline.Module(name), Role: outline.Role(name, language, part.Head), LastModified: info.ModTime().UTC()},
	}, nil
}

// beyondEnd returns the error for a line that a file does not have.
func beyondEnd(name string, lines, first int) error {
	return contract.Errorf(contract.Invalid, "offset is beyond the end of the file").With("path", name).
		With("details", fmt.Sprintf("the file has %d lines, so there is no line %d", lines, first))
}
