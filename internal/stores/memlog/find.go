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

var _ audit.Finder = (*Memory)(nil)

// Find implements audit.Finder. The changes are equal entries of one file. Each that was made
// accounts for one of the equal entries in the file, at its place or later.
func (m *Memory) Find(_ context.Context, changes []*audit.Announced, isOpen func(*audit.Announced) bool) error {
	from := slices.MinFunc(changes, func(a, b *audit.Announced) int { return cmp.Compare(a.At, b.At) }).At
	text, err := m.textFrom(changes[0].Path, from)
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

// textFrom returns what a file holds from a place on, when that is on disk. A file that does not
// exist is empty.
func (m *Memory) textFrom(file string, from int64) ([]byte, error) {
	if path.Base(file) != file {
		return nil, nil // no memory file has this name
	}
	f, err := m.Reader.OpenRead(path.Join(m.Folder, file), &contract.PathPolicy{})
	if errors.Is(err, fs.ErrNotExist) || err != nil && contract.AsError(err).Kind == contract.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() <= from {
		return nil, err
	}
	if err := f.Sync(); err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(f, from, info.Size()-from))
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
