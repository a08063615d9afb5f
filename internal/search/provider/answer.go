package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// mostNumbers is how many numbers an embedding may have.
const mostNumbers = 8192

type answer struct {
	Data []item `json:"data"`
}

type item struct {
	Index     *int      `json:"index"`
	Embedding []float64 `json:"embedding"`
}

// parse reads the answer to count texts: as many embeddings, all of one dimension, in the order of the texts, of length 1.
func parse(data []byte, count int) ([][]float32, error) {
	var a answer
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, fmt.Errorf("read embeddings: %w", err)
	}
	if len(a.Data) != count {
		return nil, fmt.Errorf("%d embeddings for %d texts", len(a.Data), count)
	}
	vectors := make([][]float32, count)
	for i, one := range a.Data {
		at := i
		if one.Index != nil {
			at = *one.Index
		}
		if at < 0 || at >= count || vectors[at] != nil {
			return nil, fmt.Errorf("embedding %d has the index %d", i, at)
		}
		vector, err := unit(one.Embedding)
		if err != nil {
			return nil, fmt.Errorf("embedding %d: %w", i, err)
		}
		if len(vector) != len(a.Data[0].Embedding) {
			return nil, fmt.Errorf("embeddings of %d and of %d dimensions", len(a.Data[0].Embedding), len(vector))
		}
		vectors[at] = vector
	}
	return vectors, nil
}

// unit makes a vector of length 1. JSON has no numbers that are not finite, but a length may become so.
func unit(numbers []float64) ([]float32, error) {
	if len(numbers) == 0 || len(numbers) > mostNumbers {
		return nil, fmt.Errorf("%d dimensions", len(numbers))
	}
	var largest, square float64
	for _, n := range numbers {
		largest = max(largest, math.Abs(n))
	}
	if largest == 0 || largest > math.MaxFloat32 || largest < math.SmallestNonzeroFloat32 {
		return nil, errors.New("numbers out of range")
	}
	for _, n := range numbers {
		square += (n / largest) * (n / largest)
	}
	length := math.Sqrt(square) * largest
	vector := make([]float32, len(numbers))
	for i, n := range numbers {
		vector[i] = float32(n / length)
	}
	return vector, nil
}
