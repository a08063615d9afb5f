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
	lines  map[string]*lineIndex // by file; made when the first entry of one line is looked for
}

// lineIndex holds the places of the lines of a file by their hash, from a place on. Recovery may
// look for thousands of entries, and must not read the file for each.
type lineIndex struct {
	from   int64
	places map[string][]int64
}

// Finder returns a finder for the entries that are in the files now. The records are read after
// that, so that they name every entry which it finds.
func (m *Memory) Finder(ctx context.Context, files []string) (audit.Finder, error) {
	f := finder{m, map[string]int64{}, map[string]*lineIndex{}}
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
	places, err := f.placesFrom(&changes[0].Change, from)
	if err != nil {
		return fmt.Errorf("read %s: %w", changes[0].Path, err)
	}
	// The entries that are known to be made come first, so that the others account for the rest.
	sorted := slices.Clone(changes)
	slices.SortStableFunc(sorted, func(a, b *audit.Announced) int { return cmp.Compare(b.At, a.At) })
	for _, open := range []bool{false, true} {
		for _, a := range sorted {
			if isOpen(a) != open || !open && a.State != audit.Made {
				continue
			}
			i := slices.IndexFunc(places, func(at int64) bool { return at >= a.At })
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

// placesFrom returns where entries like that of a change begin, from a place on.
func (f finder) placesFrom(c *audit.Change, from int64) (places []int64, err error) {
	if c.Lines != 1 {
		text, err := f.memory.textFrom(c.Path, from, f.sizes[c.Path])
		for _, at := range placesOf(c, text) {
			places = append(places, from+at)
		}
		return places, err
	}
	index := f.lines[c.Path]
	if index == nil || from < index.from {
		if index, err = f.indexLines(c.Path, from); err != nil {
			return nil, err
		}
		f.lines[c.Path] = index
	}
	all := index.places[c.New]
	first, _ := slices.BinarySearch(all, from)
	return slices.Clone(all[first:]), nil
}

// indexLines hashes the lines of a file from a place on.
func (f finder) indexLines(file string, from int64) (*lineIndex, error) {
	text, err := f.memory.textFrom(file, from, f.sizes[file])
	if err != nil {
		return nil, err
	}
	x := &lineIndex{from, map[string][]int64{}}
	at := from
	for line := range bytes.Lines(text) {
		sum := sha256.Sum256(bytes.TrimSuffix(line, []byte("\n")))
		hash := hex.EncodeToString(sum[:])
		x.places[hash] = append(x.places[hash], at)
		at += int64(len(line))
	}
	return x, nil
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
