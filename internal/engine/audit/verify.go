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

// BrokenError names the first record that does not fit the chain.
type BrokenError struct {
	File   string
	Line   int
	Reason string
}

func (b *BrokenError) Error() string { return fmt.Sprintf("%s line %d: %s", b.File, b.Line, b.Reason) }

const fileEnding = ".jsonl"

// FileOf names the file of a day.
func FileOf(day string) string { return day + fileEnding }

// link is one verified record: what the next one has to refer to, and whether a
// later day may have begun before it.
type link struct {
	hash string
	late bool // written in the last minute of its day
}

// Verify follows the chain through all days and returns how many records it holds.
// The error is a *BrokenError if a record does not fit. What was cut off the very
// end cannot be seen from the records alone.
func Verify(ctx context.Context, records Reader) (int, error) {
	days, err := records.Days(ctx)
	if err != nil {
		return 0, err
	}
	total := 0
	before := []link{{hash: Genesis}}
	for _, day := range days {
		links, err := verifyDay(ctx, records, day.Name, before)
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

func verifyDay(ctx context.Context, records Reader, day string, before []link) (links []link, err error) {
	lastMinute := LastMinute(day)
	for place := int64(0); ; {
		lines, err := records.From(ctx, day, place, 1000)
		if err != nil || len(lines) == 0 {
			return links, err
		}
		for _, line := range lines {
			hashed, prev, hash, ok := split(line.Text)
			sum := sha256.Sum256(hashed)
			reason := ""
			switch {
			case !ok:
				reason = "it is not a sealed record"
			case hex.EncodeToString(sum[:]) != hash:
				reason = "it was altered: its content does not match its hash"
			case len(links) == 0 && !follows(prev, before):
				reason = "it does not follow the day before: records are missing between them, or were put in there"
			case len(links) > 0 && prev != links[len(links)-1].hash:
				reason = "it does not follow the record before it: records are missing or out of order"
			}
			if reason != "" {
				return links, &BrokenError{FileOf(day), len(links) + 1, reason}
			}
			links = append(links, link{hash, bytes.HasPrefix(line.Text, lastMinute)})
		}
		place = lines[len(lines)-1].Next
	}
}

// LastMinute is how the records of the last minute of a day begin.
func LastMinute(day string) []byte { return []byte(`{"time":"` + day + `T23:59:`) }

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

// LastHash finds the hash that the first record of day has to follow: that of
// the last record before that day.
func LastHash(dir fs.FS, day string) (string, error) {
	ctx, folder := context.Background(), Folder{dir}
	days, err := folder.Days(ctx)
	if err != nil {
		return "", err
	}
	for _, d := range slices.Backward(days) {
		if d.Name >= day {
			continue
		}
		last, err := folder.Before(ctx, d.Name, math.MaxInt64, 1)
		if err != nil {
			return "", err
		}
		if len(last) > 0 {
			return HashOf(last[0].Text), nil
		}
	}
	return Genesis, nil
}
