package learning

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"remit/internal/contract"
	"remit/internal/search/entries"
)

// body returns an entry as it is written to the file, and the entry that it supersedes.
func (t *Tools) body(ctx context.Context, in WriteIn) (body []byte, superseded entries.Entry, err error) {
	if in.Supersedes == "" {
		return in.stored(), superseded, nil
	}
	tail, err := t.tail(ctx, in.File, maxExtent)
	if err != nil {
		return nil, superseded, err
	}
	superseded, err = findSuperseded(in, tail)
	if err != nil {
		return nil, superseded, err
	}
	text, ok := entries.Mark(in.File, string(in.stored()), superseded.ID)
	if !ok {
		return nil, superseded, refuseSupersedes("supersedes needs an entry that is a JSON object without another value under that key")
	}
	if !takesEffect(in.File, tail.Text, text, superseded.ID) {
		return nil, superseded, refuseSupersedes("%s ends within a block of code or a comment, so nothing after it can supersede an entry; "+
			"close the block first", in.File)
	}
	return []byte(text), superseded, nil
}

func refuseSupersedes(format string, args ...any) error {
	return contract.Errorf(contract.Invalid, format, args...).With("field", "supersedes")
}

// findSuperseded returns the entry that a new one names.
func findSuperseded(in WriteIn, tail Tail) (entries.Entry, error) {
	file, line, isPlace := strings.Cut(in.Supersedes, ":")
	if !isPlace {
		file, line = in.File, in.Supersedes
	}
	number, err := strconv.Atoi(line)
	byID := entries.IsID(in.Supersedes)
	switch {
	case !byID && file != in.File:
		return entries.Entry{}, refuseSupersedes("supersedes names an entry of %s, but an entry supersedes only one of its own file, %s", file, in.File)
	case !byID && err != nil:
		return entries.Entry{}, refuseSupersedes("supersedes must be the ID of an entry, or its line in %s", in.File)
	case !byID && tail.Before > 0:
		return entries.Entry{}, refuseSupersedes("%s is too long to count its lines; name the entry by its ID", in.File)
	}
	var found entries.Entry
	for _, e := range entries.Parse(in.File, tail.Text) {
		if byID && e.ID == in.Supersedes || !byID && e.Line <= number && number <= e.End {
			found = e
		}
	}
	switch {
	case found.ID == "" && tail.Before > 0:
		return found, refuseSupersedes("supersedes: the newest %d MiB of %s have no entry %s", maxExtent>>20, in.File, in.Supersedes)
	case found.ID == "":
		return found, refuseSupersedes("supersedes: %s has no entry %s", in.File, in.Supersedes)
	case found.State == entries.Superseded:
		return found, refuseSupersedes("supersedes: the entry %s is superseded by the entry %s already; name that one", found.ID, found.By)
	case found.State == entries.Undone:
		return found, refuseSupersedes("supersedes: the entry %s was taken back already, by the entry %s", found.ID, found.By)
	}
	return found, nil
}

// takesEffect reports whether an entry that is appended to a text supersedes another.
func takesEffect(file string, before []byte, text, id string) (superseded bool) {
	after := append(append(before[:len(before):len(before)], '\n'), text...)
	for _, e := range entries.Parse(file, after) {
		if e.ID == id && e.State == entries.Live {
			return false
		}
		superseded = superseded || e.ID == id
	}
	return superseded
}

// instead says in the title of a preview what an entry supersedes.
func instead(superseded entries.Entry) string {
	if superseded.ID == "" {
		return ""
	}
	sketch := entries.SketchOf("", &superseded)
	return fmt.Sprintf(", in place of the entry %s in line %d: %s", superseded.ID, superseded.Line, sketch.Excerpt())
}
