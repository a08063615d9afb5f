package knowledge

import (
	"sync"
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
	grown := append([]*block(nil), blocks...)
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

// A label stands for a word that many entries have in common.
type label uint32

// labels are the words by label.
type labels struct {
	mu      sync.RWMutex
	names   []string
	numbers map[string]label
}

// of gives the label of a word, a new one if need be.
func (l *labels) of(name string) label {
	if n, found := l.find(name); found {
		return n
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	n, found := l.numbers[name]
	if !found {
		n = label(len(l.names))
		l.names = append(l.names, name)
		l.numbers[name] = n
	}
	return n
}

func (l *labels) find(name string) (label, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	n, found := l.numbers[name]
	return n, found
}

func (l *labels) name(n label) string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.names[n]
}
