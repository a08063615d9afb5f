// Package pairs collects the pairs of all packages in one file: without duplicates, without overlap
// with the evaluation sets, and always in the same order.
package pairs

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
)

// A Pair is one line of the file: a question-like text A and an answer-like text B that belong
// together.
type Pair struct {
	// Kind is the kind of the extract.Pair, or Own.
	Kind string `json:"k"`
	// Source is the package, by its ID in the list of packages.
	Source string `json:"s"`
	A      string `json:"a"`
	B      string `json:"b"`
}

// Read yields the pairs of a file that Build wrote, in order. It also reads an unpacked file, whose
// name does not end in .gz.
func Read(path string) iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		err := read(path, func(pair Pair) bool { return yield(pair, nil) })
		if err != nil {
			yield(Pair{}, err)
		}
	}
}

func read(path string, take func(Pair) bool) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open pairs: %w", err)
	}
	defer file.Close()
	var plain io.Reader = bufio.NewReaderSize(file, 1<<20)
	if strings.HasSuffix(path, ".gz") {
		if plain, err = gzip.NewReader(plain); err != nil {
			return fmt.Errorf("unpack pairs: %w", err)
		}
	}
	lines := json.NewDecoder(plain)
	for {
		var pair Pair
		if err := lines.Decode(&pair); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read pairs: %w", err)
		}
		if !take(pair) {
			return nil
		}
	}
}

// A file writes pairs under a temporary name, and renames it when all are written.
type file struct {
	path   string
	disk   *os.File
	packed *gzip.Writer
	lines  *json.Encoder
}

func create(path string) (*file, error) {
	if !strings.HasSuffix(path, ".gz") {
		return nil, fmt.Errorf("the pairs are compressed: name the file %s.gz", filepath.Base(path))
	}
	disk, err := os.Create(path + ".part")
	if err != nil {
		return nil, fmt.Errorf("create pairs: %w", err)
	}
	packed, err := gzip.NewWriterLevel(disk, gzip.BestSpeed)
	if err != nil {
		return nil, fmt.Errorf("pack pairs: %w", err)
	}
	lines := json.NewEncoder(packed)
	lines.SetEscapeHTML(false)
	return &file{path: path, disk: disk, packed: packed, lines: lines}, nil
}

func (f *file) write(pair Pair) error {
	if err := f.lines.Encode(pair); err != nil {
		return fmt.Errorf("write pair: %w", err)
	}
	return nil
}

// close renames the file. After a failure it removes it instead.
func (f *file) close(failed error) error {
	err := errors.Join(failed, f.packed.Close(), f.disk.Close())
	if err != nil {
		return errors.Join(err, os.Remove(f.disk.Name()))
	}
	if err := os.Rename(f.disk.Name(), f.path); err != nil {
		return fmt.Errorf("name pairs: %w", err)
	}
	return nil
}
