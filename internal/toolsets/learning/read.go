package learning

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/search/outline"
	"remit/internal/search/textfile"
)

// ReadIn names a file. Encoding is empty if the edition has no such argument.
type ReadIn struct {
	Path     engine.Path `json:"path"`
	Encoding string      `json:"encoding"`
	Offset   int         `json:"offset"`
	Limit    int         `json:"limit"`
}

// ReadOut is the content of a file, or a part of it.
type ReadOut struct {
	Content   string    `json:"content"`
	Size      int       `json:"size"`
	Modified  time.Time `json:"modified"`
	Encoding  string    `json:"encoding,omitempty"`
	StartLine int       `json:"start_line,omitempty"`
	EndLine   int       `json:"end_line,omitempty"`
	More      bool      `json:"more,omitempty"`
}

// Read returns a file of the repository as text, or as base64 if the caller asks for it. UTF-8 is
// the only encoding of a whole file; a range of lines is converted from other encodings.
func (t *Tools) Read(ctx context.Context, in ReadIn) (ReadOut, error) {
	if in.Offset > 0 || in.Limit > 0 {
		return readRange(ctx, in)
	}
	data, info, err := in.Path.ReadAll()
	if err != nil {
		if failure := contract.AsError(err); failure.Kind == contract.TooLarge && in.Encoding != "base64" {
			return ReadOut{}, contract.Errorf(contract.TooLarge, "%s; read a part of it with offset and limit", failure.Message).Because(err)
		}
		return ReadOut{}, err
	}
	out := ReadOut{Size: len(data), Modified: info.ModTime()}
	switch {
	case in.Encoding == "base64":
		out.Content = base64.StdEncoding.EncodeToString(data)
	case utf8.Valid(data):
		out.Content = string(data)
	default:
		_, encoding, err := textfile.Decode(data)
		return out, notText(in, encoding, err)
	}
	return out, nil
}

// notText returns the error for a file that is not UTF-8. It says how the file can be read: by
// lines if its encoding is known, or as base64.
func notText(in ReadIn, encoding textfile.Encoding, err error) error {
	var how string
	if err == nil {
		how = fmt.Sprintf("; read it with offset=1, which converts it from %s", encoding)
	}
	if in.Encoding != "" {
		return contract.Errorf(contract.Invalid, "%s is not UTF-8 text; read it with encoding=base64%s", in.Path.Name(), how).Because(err)
	}
	if err != nil {
		how = "; read_repo_file of the toolset booster returns its bytes with encoding=base64"
	}
	return contract.Errorf(contract.Invalid, "%s is not UTF-8 text; only text files can be read%s", in.Path.Name(), how).Because(err)
}

// maxRange is the maximum size of a range of lines in the file.
const maxRange = 1 << 20

// readRange returns lines of a text of any size, and in any encoding that can be told.
func readRange(ctx context.Context, in ReadIn) (ReadOut, error) {
	if in.Encoding == "base64" {
		return ReadOut{}, contract.Errorf(contract.Invalid, "offset and limit count lines of text; leave them out, or read with encoding=utf-8")
	}
	source, info, err := in.Path.Open()
	if err != nil {
		return ReadOut{}, err
	}
	defer func() { _ = source.Close() }() // only read, so there is nothing to lose
	first, name := max(in.Offset, 1), in.Path.Name()
	part, err := textfile.Lines(ctx, source, first, first+in.Limit-1, maxRange)
	switch {
	case errors.Is(err, textfile.ErrBinary) || errors.Is(err, textfile.ErrMixed):
		return ReadOut{}, notText(in, "", err)
	case err != nil:
		return ReadOut{}, fmt.Errorf("read %s: %w", name, err)
	case first > max(part.Lines, 1) && !part.Partial:
		return ReadOut{}, contract.Errorf(contract.Invalid, "%s has %d lines, so there is no line %d", name, part.Lines, first)
	case len(part.Content) == 0 && part.Lines > 0:
		return ReadOut{}, contract.Errorf(contract.TooLarge, "Line %d of %s has more than %d bytes", first, name, maxRange)
	}
	out := ReadOut{Content: string(part.Content), Size: int(info.Size()), Modified: info.ModTime(), StartLine: first}
	out.EndLine = first + outline.LineCount(part.Content) - 1
	out.More = part.Partial || out.EndLine < part.Lines
	if part.Encoding != textfile.UTF8 {
		out.Encoding = string(part.Encoding)
	}
	return out, nil
}
