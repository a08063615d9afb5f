package model

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// A table is, in this order and little-endian:
//
//	magic    16 bytes
//	digest    8 bytes, the first of the SHA-256 of all that follows
//	sizes    dim, rows, buckets, bytes of entries: 4 bytes each
//	vectors  rows x dim bytes, each 128 more than it means
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

// Parse opens a table. What it gives refers to the text that it was given.
func Parse(table string) (*Model, error) {
	if len(table) < headerSize || table[:len(magic)] != magic {
		return nil, errors.New("parse table: it does not begin like one")
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

// check makes sure that nothing in the buckets points beyond the table.
func (l *Lexicon) check() error {
	if uint32At(l.starts, 0) != 0 || int(uint32At(l.starts, len(l.starts)-4)) != len(l.entries) {
		return errors.New("parse table: the buckets are not all of the entries")
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
		if len(bucket) < head || len(bucket) < head+int(bucket[0]) {
			return errors.New("parse table: an entry is longer than its bucket")
		}
		if row := int(bucket[2]) | int(bucket[3])<<8; row >= l.rows {
			return fmt.Errorf("parse table: an entry has row %d of %d", row, l.rows)
		}
		bucket = bucket[head+int(bucket[0]):]
	}
	return nil
}

// Genuine says whether a table is what its digest says: Parse takes the digest's word for it.
func Genuine(table string) bool {
	if len(table) < headerSize {
		return false
	}
	sum := sha256.Sum256([]byte(table[sizesAt:]))
	return table[len(magic):sizesAt] == string(sum[:digestSize])
}

// Key is a word that a lexicon knows.
type Key struct {
	Word  string // at most 255 bytes
	Row   int
	Price uint8 // what it costs as a piece of an unknown word; 0 if it may not be one
}

// NewLexicon makes a lexicon of keys, no two of them with the same word.
func NewLexicon(keys []Key) (*Lexicon, error) {
	buckets := 1
	for buckets < len(keys)/2 {
		buckets *= 2
	}
	l := &Lexicon{mask: uint32(buckets - 1), rows: maxRows}
	keys = slices.Clone(keys)
	slices.SortFunc(keys, func(a, b Key) int {
		ha, hb := hash([]byte(a.Word))&l.mask, hash([]byte(b.Word))&l.mask
		return cmp.Or(cmp.Compare(ha, hb), strings.Compare(a.Word, b.Word))
	})
	var entries []byte
	starts := make([]byte, 0, 4*(buckets+1))
	for bucket := range uint32(buckets) {
		starts = binary.LittleEndian.AppendUint32(starts, uint32(len(entries)))
		for len(keys) > 0 && hash([]byte(keys[0].Word))&l.mask == bucket {
			k := keys[0]
			if len(k.Word) > math.MaxUint8 || k.Row < 0 || k.Row >= maxRows {
				return nil, fmt.Errorf("make lexicon: %q in row %d is out of bounds", k.Word, k.Row)
			}
			entries = append(entries, uint8(len(k.Word)), k.Price, uint8(k.Row), uint8(k.Row>>8))
			entries = append(entries, k.Word...)
			keys = keys[1:]
		}
	}
	l.starts = string(binary.LittleEndian.AppendUint32(starts, uint32(len(entries))))
	l.entries = string(entries)
	return l, nil
}

// Encode makes a table of a lexicon and the vectors of its rows, one after the other. How
// long a vector is says how much its words weigh.
func Encode(l *Lexicon, vectors []float32, dim int) (string, error) {
	rows := len(vectors) / max(dim, 1)
	if dim == 0 || rows*dim != len(vectors) || rows > maxRows {
		return "", fmt.Errorf("encode table: %d numbers are not rows of %d", len(vectors), dim)
	}
	body := make([]byte, 0, len(vectors)+2*rows+len(l.starts)+len(l.entries)+16)
	for _, size := range []int{dim, rows, int(l.mask) + 1, len(l.entries)} {
		body = binary.LittleEndian.AppendUint32(body, uint32(size))
	}
	body = appendQuantised(body, vectors, dim)
	body = append(append(body, l.starts...), l.entries...)
	sum := sha256.Sum256(body)
	table := magic + string(sum[:digestSize]) + string(body)
	_, err := Parse(table)
	return table, err
}

// appendQuantised appends rows as bytes, each row on a scale of its own, then the scales.
func appendQuantised(body []byte, vectors []float32, dim int) []byte {
	peaks := make([]float32, 0, len(vectors)/dim)
	for row := range slices.Chunk(vectors, dim) {
		peaks = append(peaks, peak(row))
	}
	for i, row := range slices.Collect(slices.Chunk(vectors, dim)) {
		for _, x := range row {
			q := math.Round(float64(x) / max(float64(peaks[i]), math.SmallestNonzeroFloat32) * 127)
			body = append(body, uint8(128+int(q)))
		}
	}
	highest := max(float64(peak(peaks)), math.SmallestNonzeroFloat32)
	for _, p := range peaks {
		body = binary.LittleEndian.AppendUint16(body, uint16(math.Round(float64(p)/highest*math.MaxUint16)))
	}
	return body
}

func peak(row []float32) float32 {
	var highest float32
	for _, x := range row {
		highest = max(highest, x, -x)
	}
	return highest
}
