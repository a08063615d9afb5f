// Package table writes the tables that package model reads. The source of that package describes
// the format.
package table

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"

	"remit/internal/search/model"
)

const (
	magic      = "remit-static-1\n\x00"
	digestSize = 8
	maxRows    = 1 << 16
)

// Genuine reports whether a table matches the digest in it. model.Parse does not check that.
func Genuine(table string) bool {
	if len(table) < len(magic)+digestSize {
		return false
	}
	digest, body := table[len(magic):][:digestSize], table[len(magic)+digestSize:]
	return digest == digestOf([]byte(body))
}

func digestOf(body []byte) string {
	sum := sha256.Sum256(body)
	return string(sum[:digestSize])
}

// Key is a word in a lexicon.
type Key struct {
	Word  string // at most 255 bytes
	Row   int
	Price uint8 // the cost of the word as a piece of an unknown word; 0 means that it cannot be one
}

// Lexicon holds the words of a table. They are known before their vectors are trained.
type Lexicon struct {
	*model.Lexicon
	starts  []byte // where each bucket of entries begins
	entries []byte
}

// NewLexicon returns a lexicon of keys, which must have different words.
func NewLexicon(keys []Key) (*Lexicon, error) {
	buckets := 1
	for buckets < len(keys)/2 {
		buckets *= 2
	}
	bucketOf := func(k Key) uint32 { return hash(k.Word) & uint32(buckets-1) }
	keys = slices.Clone(keys)
	slices.SortFunc(keys, func(a, b Key) int {
		return cmp.Or(cmp.Compare(bucketOf(a), bucketOf(b)), strings.Compare(a.Word, b.Word))
	})
	l, rows := new(Lexicon), 0
	for bucket := range uint32(buckets) {
		l.starts = binary.LittleEndian.AppendUint32(l.starts, uint32(len(l.entries)))
		for len(keys) > 0 && bucketOf(keys[0]) == bucket {
			k := keys[0]
			if len(k.Word) > math.MaxUint8 || k.Row < 0 || k.Row >= maxRows {
				return nil, fmt.Errorf("create lexicon: %q in row %d is out of bounds", k.Word, k.Row)
			}
			l.entries = append(l.entries, uint8(len(k.Word)), k.Price, uint8(k.Row), uint8(k.Row>>8))
			l.entries = append(l.entries, k.Word...)
			keys, rows = keys[1:], max(rows, k.Row+1)
		}
	}
	l.starts = binary.LittleEndian.AppendUint32(l.starts, uint32(len(l.entries)))
	return l, l.open(rows)
}

// open makes it possible to look up words, in a table whose vectors are all zero.
func (l *Lexicon) open(rows int) error {
	const dim = 8 // the minimum length of a table's vectors
	table, err := l.Encode(make([]float32, rows*dim), dim)
	if err != nil {
		return err
	}
	m, err := model.Parse(table)
	if err != nil {
		return err
	}
	l.Lexicon = &m.Lexicon
	return nil
}

// hash is the hash function of package model, FNV-1a.
func hash(word string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(word)) // never fails
	return h.Sum32()
}

// Encode returns a table with the words of the lexicon and the vectors of its rows, one after the
// other. The length of a vector is the weight of its words.
func (l *Lexicon) Encode(vectors []float32, dim int) (string, error) {
	rows := len(vectors) / max(dim, 1)
	if dim == 0 || rows*dim != len(vectors) || rows > maxRows {
		return "", fmt.Errorf("encode table: %d numbers are not rows of %d", len(vectors), dim)
	}
	body := make([]byte, 0, len(vectors)+2*rows+len(l.starts)+len(l.entries)+16)
	for _, size := range []int{dim, rows, len(l.starts)/4 - 1, len(l.entries)} {
		body = binary.LittleEndian.AppendUint32(body, uint32(size))
	}
	body = appendQuantised(body, vectors, dim)
	body = append(append(body, l.starts...), l.entries...)
	table := magic + digestOf(body) + string(body)
	_, err := model.Parse(table)
	return table, err
}

// appendQuantised appends rows as bytes, each with its own scale, and then the scales.
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
