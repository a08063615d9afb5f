package memlog

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"

	"remit/internal/contract"
	"remit/internal/engine/audit"
)

// finder finds entries that were in the files at one moment.
type finder struct {
	memory *Memory
	sizes  map[string]int64
}

// Finder returns a finder for the entries that are in the files now. The records are read after
// that, so that they name every entry which it finds.
func (m *Memory) Finder(ctx context.Context, files []string) (audit.Finder, error) {
	f := finder{m, map[string]int64{}}
	for _, file := range files {
		info, err := m.Stat(ctx, file, &contract.PathPolicy{})
		switch {
		case err == nil:
			f.sizes[file] = info.Size()
		case !isMissing(err):
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
	}
	return f, nil
}

func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || contract.AsError(err).Kind == contract.NotFound
}

// Find implements audit.Finder. The changes are equal entries of one file. Each that was made
// accounts for one of the equal entries in the file, at its place or later. The entries were
// counted before the records were read.
func (f finder) Find(
	_ context.Context, changes []*audit.Announced, isOpen func(*audit.Announced) bool, _ func(context.Context) error,
) error {
	from := slices.MinFunc(changes, func(a, b *audit.Announced) int { return cmp.Compare(a.At, b.At) }).At
	text, err := f.memory.textFrom(changes[0].Path, from, f.sizes[changes[0].Path])
	if err != nil {
		return fmt.Errorf("read %s: %w", changes[0].Path, err)
	}
	places := placesOf(&changes[0].Change, text)
	// The entries that are known to be made come first, so that the others account for the rest.
	sorted := slices.Clone(changes)
	slices.SortStableFunc(sorted, func(a, b *audit.Announced) int { return cmp.Compare(b.At, a.At) })
	for _, open := range []bool{false, true} {
		for _, a := range sorted {
			if isOpen(a) != open || !open && a.State != audit.Made {
				continue
			}
			i := slices.IndexFunc(places, func(at int64) bool { return from+at >= a.At })
			if i >= 0 {
				places = slices.Delete(places, i, i+1)
			}
			if open && i >= 0 {
				a.State = audit.Made
			} else if open {
				a.State = audit.NotMade
			}
		}
	}
	return nil
}

// textFrom returns what a file holds between two places, when that is on disk. A file that does not
// exist is empty.
func (m *Memory) textFrom(file string, from, to int64) ([]byte, error) {
	if path.Base(file) != file {
		return nil, nil // no memory file has this name
	}
	f, err := m.open(file, &contract.PathPolicy{})
	if err != nil && isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || min(info.Size(), to) <= from {
		return nil, err
	}
	if err := f.Sync(); err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(f, from, min(info.Size(), to)-from))
}

// placesOf returns where entries like that of a change begin.
func placesOf(c *audit.Change, text []byte) (places []int64) {
	for at, size := 0, int(c.Size); at+size <= len(text); {
		next := at + size
		if next == len(text) || text[next] == '\n' {
			if sum := sha256.Sum256(text[at:next]); hex.EncodeToString(sum[:]) == c.New {
				places = append(places, int64(at))
				at = next + 1
				continue
			}
		}
		end := bytes.IndexByte(text[at:], '\n')
		if end < 0 {
			break
		}
		at += end + 1
	}
	return places
}
