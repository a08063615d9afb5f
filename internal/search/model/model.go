// Package model computes embeddings of texts with a static model: the sum of the trained vectors of
// the words in a text. Texts of similar meaning have similar vectors. The package does not train
// the model; tools/trainembed does.
package model

import (
	_ "embed"
	"encoding/binary"
	"math"
	"sync"
)

//go:embed table.bin
var local string

var parsed = sync.OnceValues(func() (*Model, error) { return Parse(local) })

// Local returns the embedded model. It reads nothing before the first call, and copies nothing.
func Local() (*Model, error) { return parsed() }

// Model is a table of word vectors. It is safe for concurrent use.
type Model struct {
	Lexicon
	id      string
	dim     int
	vectors string // a row of dim bytes per vector, each with an offset of 128
	weights string // two bytes per vector: the factor of its bytes
}

// ID identifies the model and its table. Vectors of models with different IDs cannot be compared.
func (m *Model) ID() string { return m.id }

// Dim returns the length of the vectors.
func (m *Model) Dim() int { return m.dim }

// Embed returns the vector of a text, normalized to length 1. It returns all zeros if no word of
// the text is known, not even in part.
func (m *Model) Embed(text string) []float32 {
	s, _ := scratches.Get().(*scratch)
	defer scratches.Put(s)
	s.tokens = m.Tokens(s.tokens[:0], text, math.MaxInt)
	s.reset(m.dim)
	for _, t := range s.tokens {
		row := int(t.Row)
		weight := uint64(binary.LittleEndian.Uint16([]byte(m.weights[2*row:2*row+2]))) * uint64(t.Factor) / UnitFactor
		s.add(m.vectors[row*m.dim:][:m.dim], weight)
	}
	s.flush()
	return s.unit()
}

// scratch holds the buffers of Embed. The sums are integers, so that the result is the same on
// every machine.
type scratch struct {
	tokens    []Token
	lanes     []uint64 // sums of the weighted bytes, two per element
	remaining uint64   // weight that the lanes can still take without overflow
	taken     uint64   // weight that the lanes have taken
	sums      []int64
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// capacity is the total weight of bytes that a lane of 32 bits can hold.
const capacity = 1 << 24

func (s *scratch) reset(dim int) {
	if len(s.sums) != dim {
		s.sums, s.lanes = make([]int64, dim), make([]uint64, dim/2)
	}
	clear(s.sums)
	clear(s.lanes)
	s.remaining, s.taken = capacity, 0
}

// add adds a weighted row, two bytes per multiplication.
func (s *scratch) add(row string, weight uint64) {
	if weight > s.remaining {
		s.flush()
	}
	s.remaining -= weight
	s.taken += weight
	const mask = 0x000000ff000000ff
	lanes := s.lanes
	for len(row) >= 8 && len(lanes) >= 4 {
		x := uint64(row[0]) | uint64(row[1])<<8 | uint64(row[2])<<16 | uint64(row[3])<<24 |
			uint64(row[4])<<32 | uint64(row[5])<<40 | uint64(row[6])<<48 | uint64(row[7])<<56
		lanes[0] += (x & mask) * weight
		lanes[1] += (x >> 8 & mask) * weight
		lanes[2] += (x >> 16 & mask) * weight
		lanes[3] += (x >> 24 & mask) * weight
		row, lanes = row[8:], lanes[4:]
	}
}

// flush moves the contents of the lanes to the sums.
func (s *scratch) flush() {
	bias := int64(s.taken) * 128
	for i, lane := range s.lanes {
		at := i/4*8 + i%4
		s.sums[at] += int64(lane&math.MaxUint32) - bias
		s.sums[at+4] += int64(lane>>32) - bias
	}
	clear(s.lanes)
	s.remaining, s.taken = capacity, 0
}

// unit returns the sums as a vector of length 1.
func (s *scratch) unit() []float32 {
	vector := make([]float32, len(s.sums))
	var square float64
	for _, sum := range s.sums {
		square += float64(float64(sum) * float64(sum))
	}
	if square == 0 {
		return vector
	}
	length := math.Sqrt(square)
	for i, sum := range s.sums {
		vector[i] = float32(float64(sum) / length)
	}
	return vector
}
