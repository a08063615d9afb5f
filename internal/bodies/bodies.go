// Package bodies reads the bodies of requests within one memory budget that all front ends share.
package bodies

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	freeBytes = 16 << 10 // bodies up to this size do not count
	// The memory of a JSON value: its tree, and copies of it until it is recorded.
	valueBytes = 512
	copies     = 3           // how often the bytes of a body count: parts of it are copied
	growth     = 4           // the factor by which a buffer grows; a larger one leaves less garbage
	maxWait    = time.Second // how long a body waits for memory
)

// ErrBusy means that too much memory is in use by the bodies of other requests.
var ErrBusy = errors.New("too many large requests are in progress")

// Budget bounds the memory of all bodies that are read and not yet released. A nil budget has no
// bound.
type Budget struct {
	memory    *semaphore.Weighted
	inUse     atomic.Int64
	maxValues int64
}

// NewBudget returns a budget of this many bytes, for bodies of JSON that hold at most maxValues
// values.
func NewBudget(size, maxValues int64) *Budget {
	return &Budget{memory: semaphore.NewWeighted(size), maxValues: maxValues}
}

// InUse returns how many bytes of the budget are in use.
func (b *Budget) InUse() int64 { return b.inUse.Load() }

// Memory is the part of a budget that one body uses.
type Memory struct {
	budget *Budget
	size   int64
}

// Release returns the memory to the budget. Further calls have no effect.
func (m *Memory) Release() {
	if m.size > 0 {
		m.budget.inUse.Add(-m.size)
		m.budget.memory.Release(m.size)
		m.size = 0
	}
}

// Read reads the body of a request. The error is an *http.MaxBytesError if the body is larger than
// limit, ErrBusy if the budget has been exhausted for a second, or an error of the connection. The
// caller must release the memory in any case.
func (b *Budget) Read(r *http.Request, limit int64) (data []byte, m Memory, err error) {
	m.budget = b
	if r.ContentLength > limit {
		return nil, m, &http.MaxBytesError{Limit: limit}
	}
	if 0 <= r.ContentLength && r.ContentLength <= freeBytes {
		data = make([]byte, r.ContentLength)
		_, err = io.ReadFull(r.Body, data)
		return data, m, err
	}
	data, err = m.read(r, limit)
	if err == nil && b != nil && len(data) > freeBytes {
		err = m.take(r.Context(), valueBytes*min(countValues(data), b.maxValues))
	}
	return data, m, err
}

// read reads a body that may be large. The buffer grows with the bytes that arrive, not with the
// announced length, so a slow client holds only the memory of what it has sent.
func (m *Memory) read(r *http.Request, limit int64) ([]byte, error) {
	size := r.ContentLength
	if size < 0 {
		size = limit
	}
	from := http.MaxBytesReader(nil, r.Body, limit)
	data := make([]byte, 0, freeBytes)
	for {
		n, err := from.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case errors.Is(err, io.EOF) && int64(len(data)) < r.ContentLength:
			return nil, io.ErrUnexpectedEOF
		case errors.Is(err, io.EOF):
			return data, nil
		case err != nil:
			return nil, err
		case len(data) < cap(data):
			continue
		}
		// The buffer has one byte more than size, so that the next Read can return io.EOF.
		more := min((growth-1)*int64(cap(data)), size+1-int64(cap(data)))
		if err := m.take(r.Context(), copies*more); err != nil {
			return nil, err
		}
		grown := make([]byte, len(data), int64(cap(data))+more)
		copy(grown, data)
		data = grown
	}
}

// take takes more memory from the budget. It waits for a while if there is not enough.
func (m *Memory) take(ctx context.Context, size int64) error {
	if m.budget == nil {
		return nil
	}
	if !m.budget.memory.TryAcquire(size) {
		ctx, cancel := context.WithTimeout(ctx, maxWait)
		defer cancel()
		if m.budget.memory.Acquire(ctx, size) != nil {
			return ErrBusy
		}
	}
	m.size += size
	m.budget.inUse.Add(size)
	return nil
}

// countValues returns an upper bound of the number of values in JSON: each follows a comma or the
// start of an array or object. Commas in strings count too.
func countValues(data []byte) int64 {
	n := 1
	for _, c := range []byte(",[{") {
		n += bytes.Count(data, []byte{c})
	}
	return int64(n)
}
