package learning

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"remit/internal/contract"
	"remit/internal/engine"
)

// shelf offers the memory files to be read.
type shelf struct{ *edition }

const (
	memoryAddress  = "memory://"
	memoryTemplate = memoryAddress + "{file}"
)

// mostText is how much of a file one read gives; the rest of what a read may hold
// is for the note on what was left out.
const mostText = engine.MaxRead - 1<<10

func (shelf) Templates() []engine.Template {
	return []engine.Template{{
		URI: memoryTemplate, Name: "memory", Title: "Memory file",
		Description: "A memory file, oldest entry first. Of one over 4 MiB the last 4 MiB, from the start of a line, and a note that says so.",
	}}
}

// List gives the files that exist, in the order of the contract.
func (s shelf) List(ctx context.Context) ([]engine.Resource, error) {
	var list []engine.Resource
	for _, file := range s.files() {
		info, err := s.Memory.Stat(ctx, file, s.policy())
		if isOutOfReach(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", file, err)
		}
		list = append(list, engine.Resource{
			URI: memoryAddress + file, Name: file, Title: titleOf(file), MIME: mimeOf(file), Size: info.Size(),
			Description: descriptionOf(file),
		})
	}
	return list, nil
}

// isOutOfReach tells whether there is no file that may be read. Which of the many
// reasons it is, is for nobody to know.
func isOutOfReach(err error) bool {
	var refusal *contract.Error
	return errors.As(err, &refusal) && slices.Contains([]contract.Kind{contract.NotFound, contract.Denied, contract.Invalid}, refusal.Kind)
}

// titleOf makes a title of a name: progress_log.jsonl is the Progress log.
func titleOf(file string) string {
	words := strings.ReplaceAll(strings.TrimSuffix(strings.TrimSuffix(file, ".jsonl"), ".md"), "_", " ")
	return strings.ToUpper(words[:1]) + words[1:]
}

func descriptionOf(file string) string {
	if isLog(file) {
		return "Memory file: one JSON entry a line, oldest first."
	}
	return "Memory file: Markdown, oldest entry first."
}

// Read gives a file. A long one would be of no use if it were refused, so it gives
// its end, and then a note on what is missing: the lines themselves stay as they are.
func (s shelf) Read(ctx context.Context, uri string) ([]engine.Contents, error) {
	file, ok := s.fileAt(uri)
	if !ok {
		return nil, engine.NoResource(uri, nil)
	}
	tail, err := s.Memory.Tail(ctx, file, s.policy(), mostText)
	if isOutOfReach(err) {
		return nil, engine.NoResource(uri, err)
	}
	if err != nil {
		return nil, contract.Errorf(contract.Unavailable, "%s cannot be read right now", uri).With("uri", uri).Because(err)
	}
	contents := engine.ContentsOf(uri, mimeOf(file), tail.Text)
	if tail.Before == 0 {
		return []engine.Contents{contents}, nil
	}
	if len(tail.Text) == 0 {
		return nil, contract.Errorf(contract.TooLarge, "%s ends in a line of more than %d bytes, which cannot be read at once", uri, mostText).With("uri", uri)
	}
	note := fmt.Sprintf("%s is %d bytes. These are its last %d bytes, from the start of a line; the %d bytes before them are left out.",
		file, tail.Before+int64(len(tail.Text)), len(tail.Text), tail.Before)
	return []engine.Contents{contents, {URI: uri, MIME: "text/plain", Text: note}}, nil
}

// fileAt gives the file at an address. Only a name that the contract lists is one,
// spelled as it is there, so nothing in an address can lead anywhere else.
func (s shelf) fileAt(uri string) (string, bool) {
	file, ok := strings.CutPrefix(uri, memoryAddress)
	return file, ok && slices.Contains(s.files(), file)
}

// Stamp goes by size and time.
func (s shelf) Stamp(ctx context.Context, uri string) (string, error) {
	file, ok := s.fileAt(uri)
	if !ok {
		return "", nil
	}
	info, err := s.Memory.Stat(ctx, file, s.policy())
	switch {
	case isOutOfReach(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("look at %s: %w", file, err)
	}
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano()), nil
}

// Complete gives the names of the files that exist.
func (s shelf) Complete(ctx context.Context, _, _, _ string) ([]string, error) {
	list, err := s.List(ctx)
	var names []string
	for _, r := range list {
		names = append(names, r.Name)
	}
	return names, err
}
