package knowledge

import (
	"slices"
	"sync/atomic"

	"remit/internal/search/hybrid"
)

const blockSize = 4096

type block [blockSize]atomic.Pointer[entry]

// A table has the entries by the numbers of pieces. It is read without a lock while it grows; one writer at a time.
type table struct {
	blocks atomic.Pointer[[]*block]
}

// get returns nil for a number that no piece has.
func (t *table) get(id hybrid.ID) *entry {
	blocks := t.blocks.Load()
	if blocks == nil || int(id/blockSize) >= len(*blocks) {
		return nil
	}
	return (*blocks)[id/blockSize][id%blockSize].Load()
}

func (t *table) at(id hybrid.ID) *atomic.Pointer[entry] {
	return &(*t.blocks.Load())[id/blockSize][id%blockSize]
}

// grow makes room for numbers below size.
func (t *table) grow(size int) {
	var blocks []*block
	if old := t.blocks.Load(); old != nil {
		blocks = *old
	}
	if len(blocks)*blockSize >= size {
		return
	}
	grown := slices.Clone(blocks)
	for len(grown)*blockSize < size {
		grown = append(grown, new(block))
	}
	t.blocks.Store(&grown)
}

// each calls f with all entries that are there.
func (t *table) each(f func(hybrid.ID, *entry)) {
	blocks := t.blocks.Load()
	if blocks == nil {
		return
	}
	for b, block := range *blocks {
		for i := range block {
			if e := block[i].Load(); e != nil && e.there() {
				f(hybrid.ID(b*blockSize+i), e)
			}
		}
	}
}
