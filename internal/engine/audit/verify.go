package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"math"
	"slices"
)

// BrokenError describes the first record that does not fit the chain.
type BrokenError struct {
	File   string
	Line   int
	Reason string
}

func (b *BrokenError) Error() string { return fmt.Sprintf("%s line %d: %s", b.File, b.Line, b.Reason) }

const fileEnding = ".jsonl"

// FileOf returns the file name of a day.
func FileOf(day string) string { return day + fileEnding }

// Verify checks the chain through all days and returns the number of records. The error is a
// *BrokenError if a record does not fit. Verify cannot detect records that were cut off at the very
// end. Each record that fits is passed to the checks, in order, and their errors are reasons too.
func Verify(ctx context.Context, records Reader, checks ...func(record []byte) error) (int, error) {
	days, err := records.Days(ctx)
	if err != nil {
		return 0, err
	}
	total, before := 0, ""
	for _, day := range days {
		n, err := verifyDay(ctx, records, day.Name, before, checks)
		total += n
		if err != nil {
			return total, err
		}
		if n > 0 {
			before = day.Name
		}
	}
	return total, nil
}

// verifyDay returns how many records of a day fit the chain. before is the last earlier day that
// has records, "" if there is none.
func verifyDay(ctx context.Context, records Reader, day, before string, checks []func([]byte) error) (n int, err error) {
	last := ""
	for place := int64(0); ; {
		lines, err := records.From(ctx, day, place, 1000)
		if err != nil || len(lines) == 0 {
			return n, err
		}
		for _, line := range lines {
			_, prev, hash, ok := split(line.Text)
			follows := string(prev) == last
			if ok && n == 0 {
				if follows, err = ContinuesChain(ctx, records, before, string(prev)); err != nil {
					return n, err
				}
			}
			reason := ""
			switch {
			case !ok:
				reason = "it is not a valid audit record"
			case !IsSealed(line.Text):
				reason = "it was altered: its content does not match its hash"
			case !follows && n == 0:
				reason = "it does not follow the last record of the day before: records are missing or were added between them"
			case !follows:
				reason = "it does not follow the record before it: records are missing or out of order"
			}
			for _, check := range checks {
				if err := check(line.Text); reason == "" && err != nil {
					reason = err.Error()
				}
			}
			if reason != "" {
				return n, &BrokenError{FileOf(day), n + 1, reason}
			}
			n, last = n+1, string(hash)
		}
		place = lines[len(lines)-1].Next
	}
}

// IsSealed reports whether the hash of a line matches its content.
func IsSealed(line []byte) bool {
	hashed, _, hash, ok := split(line)
	sum := sha256.Sum256(hashed)
	return ok && hex.EncodeToString(sum[:]) == string(hash)
}

// ContinuesChain reports whether the first record of a day, which refers to prev, follows the
// records of the day before; before is "" if there is none. It may refer to the last record there,
// or to one that only records of the last minute come after, because at midnight another process
// may still write to the old day.
func ContinuesChain(ctx context.Context, records Reader, before, prev string) (bool, error) {
	if before == "" {
		start, err := startOf(ctx, records)
		return prev == start, err
	}
	lastMinute := []byte(`{"time":"` + before + `T23:59:`)
	for place := int64(math.MaxInt64); ; {
		lines, err := records.Before(ctx, before, place, 1000)
		if err != nil || len(lines) == 0 {
			return false, err
		}
		for _, line := range lines {
			if HashOf(line.Text) == prev {
				return true, nil
			}
			if !bytes.HasPrefix(line.Text, lastMinute) {
				return false, nil
			}
			place = line.Offset
		}
	}
}

// LastBefore returns the last record before a day, and its own day: "" if there is none.
func LastBefore(ctx context.Context, records Reader, day string) (before string, last Line, err error) {
	days, err := records.Days(ctx)
	for _, d := range slices.Backward(days) {
		if d.Name >= day {
			continue
		}
		lines, err := records.Before(ctx, d.Name, math.MaxInt64, 1)
		if err != nil {
			return "", Line{}, err
		}
		if len(lines) > 0 {
			return d.Name, lines[0], nil
		}
	}
	return "", Line{}, err
}

// LastHash returns the hash that the first record of day must refer to: that of the last record
// before that day.
func LastHash(dir fs.FS, day string) (string, error) {
	before, last, err := LastBefore(context.Background(), Folder{dir}, day)
	if err != nil || before == "" {
		return InitialHash, err
	}
	return HashOf(last.Text), nil
}
