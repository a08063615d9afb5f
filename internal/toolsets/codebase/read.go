package codebase

import (
	"bytes"
	"context"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
	"remit/internal/search/outline"
	"remit/internal/search/textfile"
)

// ReadIn is the input of read_file.
type ReadIn struct {
	Path        engine.Path `json:"path"`
	IncludeDeps bool        `json:"includeDeps"`
	MaxDepth    int         `json:"maxDepth"`
	Offset      int         `json:"offset"`
	Limit       int         `json:"limit"`
	Outline     bool        `json:"outline"`
	FullDeps    bool        `json:"fullDeps"`
}

// ReadOut is the output of read_file.
type ReadOut struct {
	File         File         `json:"file"`
	Dependencies []Dependency `json:"dependencies"`
	Metadata     Metadata     `json:"metadata"`
}

// File is the content of a file, or a part of it.
type File struct {
	Path      string   `json:"path"`
	Content   string   `json:"content"`
	Size      int      `json:"size"`
	Lines     int      `json:"lines"`
	Language  string   `json:"language"`
	Encoding  string   `json:"encoding,omitempty"`
	Partial   bool     `json:"linesIncomplete,omitempty"`
	StartLine int      `json:"startLine,omitempty"`
	EndLine   int      `json:"endLine,omitempty"`
	Outline   []Symbol `json:"outline,omitempty"`
	Unlisted  int      `json:"outlineOmitted,omitempty"`
}

// Symbol is a named declaration in a file.
type Symbol struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Line    int    `json:"line"`
	EndLine int    `json:"endLine"`
}

// Declaration is a symbol with the line that declares it.
type Declaration struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Line      int    `json:"line"`
	EndLine   int    `json:"endLine"`
	Signature string `json:"signature,omitempty"`
}

// Dependency is a file that another file imports.
type Dependency struct {
	Path    string        `json:"path"`
	Type    string        `json:"type"`
	Level   int           `json:"level"`
	Content string        `json:"content,omitempty"`
	Outline []Declaration `json:"outline,omitempty"`
	Omitted string        `json:"omitted,omitempty"`
}

// Metadata describes the role of a file in its project.
type Metadata struct {
	Module       string    `json:"module"`
	Role         string    `json:"role"`
	LastModified time.Time `json:"lastModified"`
}

// Read returns a file and, if asked, its dependencies.
func (t *Tools) Read(ctx context.Context, in ReadIn) (ReadOut, error) {
	raw, info, err := in.Path.ReadAll()
	if err != nil {
		if failure := contract.AsError(err); failure.Kind == contract.TooLarge {
			if (in.Offset > 0 || in.Limit > 0) && !in.Outline && !in.IncludeDeps {
				return t.readRange(ctx, in)
			}
			return ReadOut{}, failure.With("details", "read a part of it with offset and limit, without outline and includeDeps")
		}
		return ReadOut{}, err
	}
	name := in.Path.Name()
	data, encoding, err := textfile.Decode(raw)
	if err != nil {
		return ReadOut{}, notText(name, err)
	}
	language := outline.Language(name, data)
	file := File{Path: name, Size: len(raw), Lines: outline.LineCount(data), Language: language}
	file.setEncoding(encoding)
	if err := file.take(data, &in); err != nil {
		return ReadOut{}, err
	}
	if in.Outline {
		file.Outline, file.Unlisted = outlineOf(language, data)
	}
	out := ReadOut{File: file, Dependencies: []Dependency{}}
	out.Metadata = Metadata{Module: outline.Module(name), Role: outline.Role(name, language, data), LastModified: info.ModTime().UTC()}
	if in.IncludeDeps && in.MaxDepth > 0 {
		if out.Dependencies, err = t.dependencies(ctx, &in, language, data); err != nil {
			return ReadOut{}, err
		}
	}
	t.Note(name)
	return out, nil
}

// setEncoding records an encoding other than UTF-8.
func (f *File) setEncoding(e textfile.Encoding) {
	if e != textfile.UTF8 {
		f.Encoding = string(e)
	}
}

// notText returns the error for a file that is not text. It names the tool that reads such a file.
func notText(name string, err error) error {
	const instead = "; read_repo_file of the toolset booster returns its bytes with encoding=base64"
	return contract.Errorf(contract.Invalid, "%s is not UTF-8 text", name).With("path", name).With("details", err.Error()+instead).Because(err)
}

// take copies the requested lines into the answer.
func (f *File) take(data []byte, in *ReadIn) error {
	if in.Offset == 0 && in.Limit == 0 {
		f.Content = string(data)
		return nil
	}
	first := max(in.Offset, 1)
	if first > max(f.Lines, 1) {
		return beyondEnd(f.Path, f.Lines, first)
	}
	last := f.Lines
	if in.Limit > 0 && in.Limit < last-first+1 {
		last = first + in.Limit - 1
	}
	f.Content = string(lines(data, first, last))
	f.StartLine, f.EndLine = first, last
	return nil
}

// lines returns the lines first to last of a text, counted from 1, with their line ends.
func lines(data []byte, first, last int) []byte {
	start := afterLines(data, first-1)
	return data[start : start+afterLines(data[start:], last-first+1)]
}

// afterLines returns the offset after the first n lines of a text.
func afterLines(data []byte, n int) int {
	at := 0
	for range n {
		end := bytes.IndexByte(data[at:], '\n')
		if end < 0 {
			return len(data)
		}
		at += end + 1
	}
	return at
}

// maxSymbols limits the symbols in an outline. A file with more is most likely generated.
const maxSymbols = 2000

func outlineOf(language string, data []byte) (symbols []Symbol, omitted int) {
	all := outline.Outline(language, data)
	listed := all[:min(len(all), maxSymbols)]
	symbols = make([]Symbol, len(listed))
	for i, s := range listed {
		symbols[i] = Symbol{Kind: s.Kind, Name: s.Name, Line: s.Line, EndLine: s.End}
	}
	return symbols, len(all) - len(listed)
}
