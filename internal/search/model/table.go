package model

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/bits"
)

// A table, which tools/trainembed writes, is little-endian and in this order:
//
//	magic    16 bytes
//	digest    8 bytes, the first of the SHA-256 of everything that follows
//	sizes    dim, rows, buckets, bytes of entries: 4 bytes each
//	vectors  rows x dim bytes, each with an offset of 128
//	weights  rows x 2 bytes
//	starts   (buckets + 1) x 4 bytes
//	entries  length, price, row (1, 1, 2 bytes), then the word; by bucket
const (
	magic      = "remit-static-1\n\x00"
	digestSize = 8
	sizesAt    = len(magic) + digestSize
	headerSize = sizesAt + 4*4

	maxDim     = 4096
	maxRows    = 1 << 16
	maxBuckets = 1 << 20
)

// Parse opens a table. The model refers to the string it is given. Parse returns an error if the
// table is invalid.
func Parse(table string) (*Model, error) {
	if len(table) < headerSize || table[:len(magic)] != magic {
		return nil, errors.New("parse table: wrong magic bytes")
	}
	dim, rows := int(uint32At(table, sizesAt)), int(uint32At(table, sizesAt+4))
	buckets, size := int(uint32At(table, sizesAt+8)), int(uint32At(table, sizesAt+12))
	if dim == 0 || dim > maxDim || dim%8 != 0 || rows > maxRows || buckets > maxBuckets || bits.OnesCount(uint(buckets)) != 1 {
		return nil, fmt.Errorf("parse table: %d rows of %d in %d buckets are out of bounds", rows, dim, buckets)
	}
	rest := table[headerSize:]
	if want := rows*(dim+2) + 4*(buckets+1) + size; len(rest) != want {
		return nil, fmt.Errorf("parse table: %d bytes after the header, want %d", len(rest), want)
	}
	m := &Model{id: "remit-static-1-" + hex.EncodeToString([]byte(table[len(magic):sizesAt])[:4]), dim: dim}
	m.vectors, rest = rest[:rows*dim], rest[rows*dim:]
	m.weights, rest = rest[:2*rows], rest[2*rows:]
	m.Lexicon = Lexicon{starts: rest[:4*(buckets+1)], entries: rest[4*(buckets+1):], mask: uint32(buckets - 1), rows: rows}
	return m, m.check()
}

// check ensures that no bucket or entry points beyond the table.
func (l *Lexicon) check() error {
	if uint32At(l.starts, 0) != 0 || int(uint32At(l.starts, len(l.starts)-4)) != len(l.entries) {
		return errors.New("parse table: the buckets do not cover the entries")
	}
	for at := 4; at < len(l.starts); at += 4 {
		start, end := uint32At(l.starts, at-4), uint32At(l.starts, at)
		if start > end || int(end) > len(l.entries) {
			return errors.New("parse table: a bucket ends before it begins")
		}
		if err := l.checkBucket(l.entries[start:end]); err != nil {
			return err
		}
	}
	return nil
}

func (l *Lexicon) checkBucket(bucket string) error {
	for bucket != "" {
		if len(bucket) < entryHeader || len(bucket) < entryHeader+int(bucket[0]) {
			return errors.New("parse table: an entry is longer than its bucket")
		}
		if row := int(bucket[2]) | int(bucket[3])<<8; row >= l.rows {
			return fmt.Errorf("parse table: an entry has row %d of %d", row, l.rows)
		}
		bucket = bucket[entryHeader+int(bucket[0]):]
	}
	return nil
}
