package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
)

// Record is one call in full, as it is on record, and how it fits the chain.
type Record struct {
	Value  jsontree.Value
	Hash   string
	Prev   string // the hash of the record before it
	File   string
	Sealed bool // its content matches its hash
	Before Link // to the record before it
	After  Link // to the one after it
}

// Link says whether two records that follow each other fit.
type Link string

// The links.
const (
	Fits   Link = "fits"
	Broken Link = "broken" // a record is missing, out of order, altered or put in
	End    Link = "end"    // there is no further record
)

// Holds tells whether the record, and its place among its neighbours, are as they were
// when they were recorded.
func (r *Record) Holds() bool { return r.Sealed && r.Before != Broken && r.After != Broken }

// One reads a call in full. It need not be among those at hand. The error is
// contract.NotFound if there is none with this id.
func (l *Ledger) One(id string) (Record, error) {
	at, mark, err := parseID(id)
	if err != nil {
		return Record{}, err
	}
	missing := contract.Errorf(contract.NotFound, "There is no call %q on record", id)
	name := audit.FileOf(at.day)
	lines, file, err := linesOf(l.Files, name)
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, missing
	}
	if err != nil {
		return Record{}, err
	}
	defer closed(file)
	found, err := lines.From(at.place)
	if err != nil {
		return Record{}, err
	}
	if len(found) == 0 || found[0].Place != at.place {
		return Record{}, missing
	}
	r := Record{File: name}
	if r.Value, err = jsontree.Parse(found[0].Text); err != nil || !r.read(found[0].Text, mark) {
		return Record{}, missing
	}
	if err := l.link(&r, at, lines, found); err != nil {
		return Record{}, fmt.Errorf("look at the neighbours of a record: %w", err)
	}
	return r, nil
}

// read finds the hashes of a record, and tells whether it is the one with this mark.
func (r *Record) read(line []byte, mark uint32) bool {
	prev, hash := r.Value.Field("prev"), r.Value.Field("hash")
	r.Prev, r.Hash = prev.Text, hash.Text
	r.Sealed = sealed(line, r.Prev)
	return r.Value.Kind == jsontree.Object && markOf(r.Hash) == mark
}

// sealed tells whether a line is what sealing its content gives.
func sealed(line []byte, prev string) bool {
	end := bytes.LastIndex(line, []byte(`,"prev":"`))
	if end < 0 {
		return false
	}
	return bytes.Equal(audit.Seal(prev, append(bytes.Clone(line[:end]), '}')), line)
}

// link compares a record with its neighbours; found are the lines from its own on.
func (l *Ledger) link(r *Record, at spot, lines Lines, found []Line) error {
	before, err := lines.Before(at.place)
	if err != nil {
		return err
	}
	if len(before) > 0 {
		r.Before = fits(audit.HashOf(before[0].Text) == r.Prev)
	} else if r.Before, err = l.dayBefore(at.day, r.Prev); err != nil {
		return err
	}
	if len(found) == 1 {
		if found, err = lines.From(found[0].Next); err != nil {
			return err
		}
	} else {
		found = found[1:]
	}
	if len(found) > 0 {
		r.After = fits(prevOf(found[0].Text) == r.Hash)
		return nil
	}
	r.After, err = l.dayAfter(at.day, r.Hash)
	return err
}

func fits(is bool) Link {
	if is {
		return Fits
	}
	return Broken
}

func prevOf(line []byte) string {
	record, err := jsontree.Parse(line)
	if err != nil {
		return ""
	}
	prev := record.Field("prev")
	return prev.Text
}

// dayBefore tells whether the first record of a day follows one of the day before: the
// last, or one that only records of its last minute come after, because another process
// may still have written to the old day.
func (l *Ledger) dayBefore(day, prev string) (Link, error) {
	names, err := audit.Files(l.Files)
	if err != nil {
		return "", err
	}
	for _, name := range slices.Backward(names) {
		if name >= audit.FileOf(day) {
			continue
		}
		last, err := l.lastLines(name)
		if err != nil {
			return "", err
		}
		if len(last) > 0 {
			lastMinute := []byte(`{"time":"` + strings.TrimSuffix(name, audit.FileOf("")) + `T23:59:`)
			return fits(follows(prev, last, lastMinute)), nil
		}
	}
	if prev == audit.Genesis {
		return End, nil
	}
	return Broken, nil
}

func follows(prev string, last []Line, lastMinute []byte) bool {
	for _, line := range last {
		if audit.HashOf(line.Text) == prev {
			return true
		}
		if !bytes.HasPrefix(line.Text, lastMinute) {
			return false
		}
	}
	return false
}

// dayAfter tells whether the day after, if there is one, goes on where this one ends. It
// may go on at an earlier record of the last minute: then this one has no follower.
func (l *Ledger) dayAfter(day, hash string) (Link, error) {
	names, err := audit.Files(l.Files)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if name <= audit.FileOf(day) {
			continue
		}
		first, err := l.firstLines(name)
		if err != nil {
			return "", err
		}
		if len(first) == 0 {
			continue
		}
		prev := prevOf(first[0].Text)
		if prev == hash {
			return Fits, nil
		}
		return l.dayBefore(strings.TrimSuffix(name, audit.FileOf("")), prev)
	}
	return End, nil
}

func (l *Ledger) lastLines(name string) ([]Line, error) {
	lines, file, err := linesOf(l.Files, name)
	if err != nil {
		return nil, err
	}
	defer closed(file)
	return lines.Before(math.MaxInt64)
}

func (l *Ledger) firstLines(name string) ([]Line, error) {
	lines, file, err := linesOf(l.Files, name)
	if err != nil {
		return nil, err
	}
	defer closed(file)
	return lines.From(0)
}
