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
	"time"
)

// BrokenError names the first record that does not fit the chain.
type BrokenError struct {
	File   string
	Line   int
	Reason string
}

func (b *BrokenError) Error() string { return fmt.Sprintf("%s line %d: %s", b.File, b.Line, b.Reason) }

const fileEnding = ".jsonl"

// Files lists the day files of an audit folder, oldest first. Anything else that
// lies there is passed over.
func Files(dir fs.FS) ([]string, error) {
	entries, err := fs.ReadDir(dir, ".")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list audit files: %w", err)
	}
	var names []string
	for _, entry := range entries {
		day, isLog := strings.CutSuffix(entry.Name(), fileEnding)
		if _, err := time.Parse(time.DateOnly, day); err == nil && isLog && entry.Type().IsRegular() {
			names = append(names, entry.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// FileOf names the file of a day.
func FileOf(day string) string { return day + fileEnding }

// link is one verified record: what the next one has to refer to, and whether a
// later day may have begun before it.
type link struct {
	hash string
	late bool // written in the last minute of its day
}

// Verify follows the chain through all day files and returns how many records
// it holds. The error is a *BrokenError if a record does not fit. What was cut off
// the very end cannot be seen from the files alone.
func Verify(dir fs.FS) (int, error) {
	names, err := Files(dir)
	if err != nil {
		return 0, err
	}
	total := 0
	before := []link{{hash: Genesis}}
	for _, name := range names {
		links, err := verifyFile(dir, name, before)
		total += len(links)
		if err != nil {
			return total, err
		}
		if len(links) > 0 {
			before = links
		}
	}
	return total, nil
}

func verifyFile(dir fs.FS, name string, before []link) ([]link, error) {
	file, err := dir.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open audit file: %w", err)
	}
	defer file.Close()
	lastMinute := []byte(`{"time":"` + strings.TrimSuffix(name, fileEnding) + `T23:59:`)
	var links []link
	err = eachLine(file, func(number int, line []byte) error {
		hashed, prev, hash, ok := split(line)
		sum := sha256.Sum256(hashed)
		switch {
		case !ok:
			return &BrokenError{name, number, "it is not a sealed record"}
		case hex.EncodeToString(sum[:]) != hash:
			return &BrokenError{name, number, "it was altered: its content does not match its hash"}
		case number == 1 && !follows(prev, before):
			return &BrokenError{name, number, "it does not follow the day before: records are missing between them, or were put in there"}
		case number > 1 && prev != links[number-2].hash:
			return &BrokenError{name, number, "it does not follow the record before it: records are missing or out of order"}
		}
		links = append(links, link{hash, bytes.HasPrefix(line, lastMinute)})
		return nil
	})
	return links, err
}

// follows tells whether the first record of a day fits the day before. It refers
// to the last record there, or to one that only records of the last minute come
// after: at midnight another process may still write to the old day.
func follows(prev string, before []link) bool {
	for _, l := range slices.Backward(before) {
		if l.hash == prev {
			return true
		}
		if !l.late {
			return false
		}
	}
	return false
}

// eachLine visits the lines of a file. What a crash left of a last line, without
// its end and without a seal, is no record and is passed over.
func eachLine(r io.Reader, visit func(number int, line []byte) error) error {
	reader := bufio.NewReaderSize(r, 1<<16)
	for number := 1; ; number++ {
		line, err := reader.ReadBytes('\n')
		whole := err == nil
		line = bytes.TrimSuffix(line, []byte{'\n'})
		if _, _, _, sealed := split(line); whole || sealed {
			if visitErr := visit(number, line); visitErr != nil {
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
