package auditindex

import (
	"context"
	"fmt"

	"remit/internal/contract"
	"remit/internal/contract/jsontree"
	"remit/internal/engine/audit"
)

// Record is the complete record of one call, and whether it fits the chain.
type Record struct {
	Value  jsontree.Value
	Hash   string
	Prev   string // the hash of the record before it
	File   string
	Sealed bool // its content matches its hash
	Before Link // to the record before it
	After  Link // to the one after it
}

// Link says whether two successive records fit together.
type Link string

// The links.
const (
	Linked Link = "fits"
	Broken Link = "broken" // a record is missing, out of order, altered or inserted
	End    Link = "end"    // there is no further record
)

// Intact reports whether the record and its neighbors are unchanged since they were recorded.
func (r *Record) Intact() bool { return r.Sealed && r.Before != Broken && r.After != Broken }

// Record returns the complete record of a call, without the index. The error is contract.NotFound
// if there is no call with this id.
func (x *Index) Record(ctx context.Context, id string) (Record, error) {
	at, mark, err := parseID(id)
	if err != nil {
		return Record{}, err
	}
	found, err := x.Records.From(ctx, at.Day, at.Offset, 2)
	if err != nil {
		return Record{}, err
	}
	r := Record{File: audit.FileOf(at.Day)}
	if len(found) == 0 || found[0].Offset != at.Offset || !r.read(found[0].Text, mark) {
		return Record{}, contract.Errorf(contract.NotFound, "The audit log has no call %q", id)
	}
	if r.Before, err = x.linkBefore(ctx, at, r.Prev); err == nil {
		r.After, err = x.linkAfter(ctx, at.Day, r.Hash, found[1:])
	}
	if err != nil {
		return Record{}, fmt.Errorf("read neighbors of record: %w", err)
	}
	return r, nil
}

// read parses a record and reports whether its hash begins with mark, the part of the hash that a
// call id contains.
func (r *Record) read(line []byte, mark uint32) bool {
	value, err := jsontree.ParseTrusted(line)
	if err != nil || value.Kind != jsontree.Object {
		return false
	}
	prev, hash := value.Field("prev"), value.Field("hash")
	r.Value, r.Prev, r.Hash = value, prev.Text, hash.Text
	r.Sealed = audit.IsSealed(line)
	return markOf(r.Hash) == mark
}

func fits(is bool) Link {
	if is {
		return Linked
	}
	return Broken
}

// linkBefore compares a record with the one before it.
func (x *Index) linkBefore(ctx context.Context, at Position, prev string) (Link, error) {
	before, err := x.Records.Before(ctx, at.Day, at.Offset, 1)
	if err != nil {
		return "", err
	}
	if len(before) > 0 {
		return fits(audit.HashOf(before[0].Text) == prev), nil
	}
	return x.dayBefore(ctx, at.Day, prev)
}

func prevOf(line []byte) string {
	record, err := jsontree.ParseTrusted(line)
	if err != nil {
		return ""
	}
	prev := record.Field("prev")
	return prev.Text
}

// dayBefore reports whether the first record of a day follows the day before.
func (x *Index) dayBefore(ctx context.Context, day, prev string) (Link, error) {
	before, _, err := audit.LastBefore(ctx, x.Records, day)
	if err != nil {
		return "", err
	}
	if before == "" && prev == audit.InitialHash {
		return End, nil
	}
	follows, err := audit.ContinuesChain(ctx, x.Records, before, prev)
	return fits(follows), err
}

// linkAfter compares a record with the one after it; next is that one if it is on the same day. The
// next day may continue from an earlier record of the last minute: then this record has no
// successor.
func (x *Index) linkAfter(ctx context.Context, day, hash string, next []audit.Line) (Link, error) {
	if len(next) > 0 {
		return fits(prevOf(next[0].Text) == hash), nil
	}
	days, err := x.Records.Days(ctx)
	if err != nil {
		return "", err
	}
	for _, d := range days {
		if d.Name <= day {
			continue
		}
		first, err := x.Records.From(ctx, d.Name, 0, 1)
		if err != nil {
			return "", err
		}
		if len(first) == 0 {
			continue
		}
		prev := prevOf(first[0].Text)
		if prev == hash {
			return Linked, nil
		}
		return x.dayBefore(ctx, d.Name, prev)
	}
	return End, nil
}
