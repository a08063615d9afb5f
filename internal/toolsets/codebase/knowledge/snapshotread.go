package knowledge

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"time"
	"unique"

	"remit/internal/search/hybrid"
)

// errSnapshot means that a file is no snapshot, or is damaged.
var errSnapshot = errors.New("the snapshot is damaged or was made by another version")

// The minimum sizes of what is written for an origin and an entry.
const (
	originSize = 4 + 32 + 3*8 + 2*4
	entrySize  = 2*4 + 16 + 8 + 3*4
)

// parseSnapshot reads a snapshot. It checks everything but the index, which Restore checks. The
// snapshot uses data.
func parseSnapshot(data []byte) (*snapshot, error) {
	if len(data) < checksumSize {
		return nil, errSnapshot
	}
	body, sum := data[:len(data)-checksumSize], data[len(data)-checksumSize:]
	if binary.LittleEndian.Uint64(sum) != uint64(crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli))) {
		return nil, errSnapshot
	}
	return parseBody(body)
}

func parseBody(body []byte) (*snapshot, error) {
	r := &snapshotReader{rest: body}
	if string(r.raw(len(snapshotMagic))) != snapshotMagic || r.u64() != snapshotVersion {
		return nil, errSnapshot
	}
	s := &snapshot{generation: int64(r.u64()), made: time.UnixMicro(int64(r.u64())).UTC()}
	copy(s.id[:], r.raw(len(s.id)))
	s.cut, s.model = r.text(), r.text()
	names := r.names()
	origins, entries := r.count(originSize), r.count(entrySize)
	s.origins = r.origins(origins, entries)
	if r.bad {
		return nil, errSnapshot
	}
	s.entries = r.entries(entries, s.origins, names)
	r.raw((alignment - (len(body)-len(r.rest))%alignment) % alignment)
	if r.bad || s.generation <= 0 {
		return nil, errSnapshot
	}
	s.saved = r.rest
	return s, nil
}

// snapshotReader reads what snapshotWriter wrote. After the first mistake it is bad, and everything
// it returns is empty.
type snapshotReader struct {
	rest []byte
	bad  bool
}

// raw returns the next n bytes.
func (r *snapshotReader) raw(n int) []byte {
	if r.bad || n < 0 || n > len(r.rest) {
		r.bad = true
		return nil
	}
	data := r.rest[:n]
	r.rest = r.rest[n:]
	return data
}

func (r *snapshotReader) u32() uint32 {
	if data := r.raw(4); data != nil {
		return binary.LittleEndian.Uint32(data)
	}
	return 0
}

func (r *snapshotReader) u64() uint64 {
	if data := r.raw(8); data != nil {
		return binary.LittleEndian.Uint64(data)
	}
	return 0
}

func (r *snapshotReader) text() string { return string(r.raw(int(r.u32()))) }

// count returns a number of things of at least size bytes each, for which there must be room.
func (r *snapshotReader) count(size int) int {
	n := int(r.u32())
	if n > len(r.rest)/size {
		r.bad = true
		return 0
	}
	return n
}

func (r *snapshotReader) names() []unique.Handle[string] {
	names := make([]unique.Handle[string], r.count(4))
	for i := range names {
		names[i] = unique.Make(r.text())
	}
	return names
}

// origins reads origins with a number of chunks in all. Their ids are 0.
func (r *snapshotReader) origins(count, chunks int) []*origin {
	all := make([]origin, count)
	ids := make([]hybrid.ID, chunks)
	origins := make([]*origin, count)
	for i := range all {
		o := &all[i]
		origins[i] = o
		o.path = r.text()
		copy(o.hash[:], r.raw(len(o.hash)))
		o.size, o.modified, o.generation = int64(r.u64()), int64(r.u64()), int64(r.u64())
		o.gone = r.u32() != 0
		n := int(r.u32())
		if o.path == "" || len(o.path) > MaxPath || n > len(ids) || o.gone && n > 0 || o.generation <= 0 {
			r.bad = true
			return nil
		}
		o.ids, ids = ids[:n:n], ids[n:]
	}
	r.bad = r.bad || len(ids) > 0
	return origins
}

// entries reads entries, and completes the ids of their origins.
func (r *snapshotReader) entries(count int, origins []*origin, names []unique.Handle[string]) []*entry {
	entries := make([]*entry, count)
	var room []entry // in blocks, so that a few that stay do not keep all
	for i := range entries {
		data := r.raw(entrySize)
		if data == nil {
			return nil
		}
		at, number := binary.LittleEndian.Uint32(data), binary.LittleEndian.Uint32(data[4:])
		source, kind, module := binary.LittleEndian.Uint32(data[32:]), binary.LittleEndian.Uint32(data[36:]), binary.LittleEndian.Uint32(data[40:])
		if int64(at) >= int64(len(origins)) || int64(max(source, kind, module)) >= int64(len(names)) || int64(number) >= int64(len(origins[at].ids)) {
			r.bad = true
			return nil
		}
		if len(room) == 0 {
			room = make([]entry, min(blockSize, count-i))
		}
		e := &room[0]
		room = room[1:]
		e.origin, e.number, e.date = origins[at], int32(number), int64(binary.LittleEndian.Uint64(data[24:]))
		copy(e.key[:], data[8:])
		e.source, e.kind, e.module = names[source], names[kind], names[module]
		e.weight = weightOf(e.source.Value())
		e.origin.ids[number] = hybrid.ID(i)
		entries[i] = e
	}
	return entries
}

// restore fills an empty catalog from a snapshot that was read.
func (c *catalog) restore(s *snapshot) error {
	origins := make(map[string]*origin, len(s.origins))
	sources := 0
	for _, o := range s.origins {
		origins[o.path] = o
		if !o.gone && !isMark(o.path) {
			sources++
		}
		for i, id := range o.ids { // of two entries for one chunk one is missing here
			if e := s.entries[id]; e.origin != o || int(e.number) != i {
				return errSnapshot
			}
		}
	}
	if len(origins) != len(s.origins) {
		return errSnapshot
	}
	if err := c.local().Restore(s.saved); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.origins, c.sources, c.chunks, c.size = origins, sources, len(s.entries), hybrid.ID(len(s.entries))
	c.table.grow(len(s.entries))
	for i, e := range s.entries {
		c.table.at(hybrid.ID(i)).Store(e)
	}
	return nil
}

// empty reports whether nothing is known.
func (c *catalog) empty() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.origins) == 0 && c.size == 0
}
