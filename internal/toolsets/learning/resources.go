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

// resources offers the memory files as resources.
type resources struct{ *edition }

const (
	memoryScheme   = "memory://"
	memoryTemplate = memoryScheme + "{file}"
)

// maxText is how many bytes of a file one read returns. The rest of the limit is for the note
// about what was left out.
const maxText = engine.MaxRead - 1<<10

func (resources) Templates() []engine.Template {
	return []engine.Template{{
		URI: memoryTemplate, Name: "memory", Title: "Memory file",
		Description: "A memory file, oldest entry first. If it is over 4 MiB: " +
			"its last 4 MiB, from the start of a line, and a note that says so.",
	}}
}

// List returns the files that exist, in the order of the contract.
func (s resources) List(ctx context.Context) ([]engine.Resource, error) {
	var list []engine.Resource
	for _, file := range s.files() {
		info, err := s.Memory.Stat(ctx, file, s.policy())
		if isOutOfReach(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("stat %s: %w", file, err)
		}
		list = append(list, engine.Resource{
			URI: memoryScheme + file, Name: file, Title: titleOf(file), MIME: mimeOf(file), Size: info.Size(),
			Description: descriptionOf(file),
		})
	}
	return list, nil
}

// isOutOfReach reports whether there is no file that may be read. Callers must not learn the
// reason.
func isOutOfReach(err error) bool {
	var refusal *contract.Error
	return errors.As(err, &refusal) && slices.Contains([]contract.Kind{contract.NotFound, contract.Denied, contract.Invalid}, refusal.Kind)
}

// titleOf converts a file name to a title: progress_log.jsonl becomes "Progress log".
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

// Read returns a file. It does not reject a long file, but returns its end and a separate note
// about what is missing, so that the lines stay unchanged.
func (s resources) Read(ctx context.Context, uri string) ([]engine.Contents, error) {
	file, ok := s.fileAt(uri)
	if !ok {
		return nil, engine.ResourceNotFound(uri, nil)
	}
	tail, err := s.Memory.Tail(ctx, file, s.policy(), maxText)
	if isOutOfReach(err) {
		return nil, engine.ResourceNotFound(uri, err)
	}
	if own, ok := errors.AsType[*contract.Error](err); ok {
		return nil, own.With("uri", uri) // it says what to do
	}
	if err != nil {
		return nil, contract.Errorf(contract.Unavailable, "%s cannot be read right now; try again", uri).With("uri", uri).Because(err)
	}
	contents := engine.ContentsOf(uri, mimeOf(file), tail.Text)
	if tail.Before == 0 {
		return []engine.Contents{contents}, nil
	}
	if len(tail.Text) == 0 {
		return nil, contract.Errorf(contract.TooLarge,
			"%s ends in a line of more than %d bytes, which is too long to read", uri, maxText).With("uri", uri)
	}
	note := fmt.Sprintf("%s is %d bytes. These are its last %d bytes, from the start of a line; the %d bytes before them are left out.",
		file, tail.Before+int64(len(tail.Text)), len(tail.Text), tail.Before)
	return []engine.Contents{contents, {URI: uri, MIME: "text/plain", Text: note}}, nil
}

// fileAt returns the file that a URI names. It accepts only names that the contract lists, in
// exactly that spelling, so a URI can name no other file.
func (s resources) fileAt(uri string) (string, bool) {
	file, ok := strings.CutPrefix(uri, memoryScheme)
	return file, ok && slices.Contains(s.files(), file)
}

// Stamp returns the size and modification time of a file.
func (s resources) Stamp(ctx context.Context, uri string) (string, error) {
	file, ok := s.fileAt(uri)
	if !ok {
		return "", nil
	}
	info, err := s.Memory.Stat(ctx, file, s.policy())
	switch {
	case isOutOfReach(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("stat %s: %w", file, err)
	}
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano()), nil
}

// Complete returns the names of the files that exist.
func (s resources) Complete(ctx context.Context, _, _, _ string) ([]string, error) {
	list, err := s.List(ctx)
	var names []string
	for _, r := range list {
		names = append(names, r.Name)
	}
	return names, err
}
