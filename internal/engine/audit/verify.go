package audit

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// BrokenError names the first record that does not fit the chain.
type BrokenError struct {
	File   string
	Line   int
	Reason string
}

func (b *BrokenError) Error() string { return fmt.Sprintf("%s line %d: %s", b.File, b.Line, b.Reason) }

const fileEnding = ".jsonl"

// Files lists the day files of an audit folder, oldest first.
func Files(dir fs.FS) ([]string, error) {
	names, err := fs.Glob(dir, "*"+fileEnding)
	if err != nil {
		return nil, fmt.Errorf("list audit files: %w", err)
	}
	slices.Sort(names)
	return names, nil
}

// FileOf names the file of a day.
func FileOf(day string) string { return day + fileEnding }

// Verify follows the chain through all day files and returns how many records
// it holds. The error is a *BrokenError if a record does not fit.
func Verify(dir fs.FS) (int, error) {
	names, err := Files(dir)
	if err != nil {
		return 0, err
	}
	total := 0
	before := map[string]bool{Genesis: true}
	for _, name := range names {
		hashes, err := verifyFile(dir, name, before)
		total += len(hashes)
		if err != nil {
			return total, err
		}
		if len(hashes) > 0 {
			before = hashes
		}
	}
	return total, nil
}

// verifyFile checks one day. Its first record follows one of the day before: not
// always the last, because at midnight another process may still write there.
func verifyFile(dir fs.FS, name string, before map[string]bool) (map[string]bool, error) {
	file, err := dir.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open audit file: %w", err)
	}
	defer file.Close()
	hashes := map[string]bool{}
	last := ""
	err = eachLine(file, func(number int, line []byte) error {
		hashed, prev, hash, ok := split(line)
		sum := sha256.Sum256(hashed)
		switch {
		case !ok:
			return &BrokenError{name, number, "it is not a sealed record"}
		case hex.EncodeToString(sum[:]) != hash:
			return &BrokenError{name, number, "it was altered: its content does not match its hash"}
		case number == 1 && !before[prev]:
			return &BrokenError{name, number, "it does not follow the day before: records are missing between them"}
		case number > 1 && prev != last:
			return &BrokenError{name, number, "it does not follow the record before it: records are missing or out of order"}
		}
		hashes[hash], last = true, hash
		return nil
	})
	return hashes, err
}

func eachLine(r io.Reader, visit func(number int, line []byte) error) error {
	reader := bufio.NewReaderSize(r, 1<<16)
	for number := 1; ; number++ {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 {
			if visitErr := visit(number, bytes.TrimSuffix(line, []byte{'\n'})); visitErr != nil {
				return visitErr
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read audit file: %w", err)
		}
	}
}

// LastHash finds the hash that the first record of day has to follow: that of
// the last record before that day.
func LastHash(dir fs.FS, day string) (string, error) {
	names, err := Files(dir)
	if err != nil {
		return "", err
	}
	last := Genesis
	for _, name := range slices.Backward(names) {
		if strings.TrimSuffix(name, fileEnding) >= day {
			continue
		}
		file, err := dir.Open(name)
		if err != nil {
			return "", fmt.Errorf("open audit file: %w", err)
		}
		found := false
		err = eachLine(file, func(_ int, line []byte) error {
			last, found = HashOf(line), true
			return nil
		})
		_ = file.Close() // it was only read
		if err != nil || found {
			return last, err
		}
	}
	return last, nil
}
