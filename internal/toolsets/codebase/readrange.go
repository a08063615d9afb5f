package codebase

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"remit/internal/contract"
	"remit/internal/search/outline"
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
	first := max(in.Offset, 1)
	r := lineRange{first: first, last: first + in.Limit - 1}
	if err := r.scan(ctx, source); err != nil {
		return ReadOut{}, fmt.Errorf("read %s: %w", in.Path.Name(), err)
	}
	name := in.Path.Name()
	invalid := func(format string, args ...any) error {
		return contract.Errorf(contract.Invalid, format, args...).With("path", name)
	}
	switch {
	case !isText(r.content.Bytes()) || bytes.IndexByte(r.head, 0) >= 0:
		return ReadOut{}, invalid("%s is not UTF-8 text", name)
	case first > r.lines:
		e := contract.AsError(invalid("offset is beyond the end of the file"))
		return ReadOut{}, e.With("details", fmt.Sprintf("the file has %d lines, so there is no line %d", r.lines, first))
	case r.content.Len() == 0:
		return ReadOut{}, contract.Errorf(contract.TooLarge, "Line %d of %s has more than %d bytes", first, name, maxRange).
			With("path", name).With("max", maxRange)
	}
	language := outline.Language(name, r.head)
	file := File{Path: name, Content: r.content.String(), Size: int(info.Size()), Lines: r.lines, Language: language, StartLine: first, EndLine: first + outline.LineCount(r.content.Bytes()) - 1}
	t.Note(name)
	return ReadOut{
		File: file, Dependencies: []Dependency{},
		Metadata: Metadata{Module: outline.Module(name), Role: outline.Role(name, language, r.head), LastModified: info.ModTime().UTC()},
	}, nil
}

// lineRange collects the lines first to last of a text while it is read. If last is less than
// first, it collects all lines from first on, as far as they fit in maxRange.
type lineRange struct {
	first, last int

	head    []byte // the beginning of the text
	content bytes.Buffer
	lines   int // how many lines the text has
}

// scan reads the text to its end. It drops a line that does not fit, and all after it.
func (r *lineRange) scan(ctx context.Context, source io.Reader) error {
	buffered := bufio.NewReaderSize(source, 64<<10)
	r.head, _ = buffered.Peek(8 << 10)
	r.head = bytes.Clone(r.head)
	full, open := false, false // open: the last part of the text does not end its line
	size := 0                  // of the content before the current line
	for {
		part, err := buffered.ReadSlice('\n')
		if number := r.lines + 1; len(part) > 0 && number >= r.first && (r.last < r.first || number <= r.last) && !full {
			if full = r.content.Len()+len(part) > maxRange; full {
				r.content.Truncate(size)
			} else {
				r.content.Write(part)
			}
		}
		open = len(part) > 0 && part[len(part)-1] != '\n' || open && len(part) == 0
		if len(part) > 0 && !open {
			r.lines++
			size = r.content.Len()
		}
		switch {
		case errors.Is(err, io.EOF):
			if open {
				r.lines++
			}
			return nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
}
