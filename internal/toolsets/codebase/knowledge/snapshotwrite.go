package knowledge

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"remit/internal/search/hybrid"
)

// A snapshot is the content of a catalog, to be written to a file or just read from one.
//
// The file has, in this order: the header (the magic number, the version of the format, the
// generation, the time and the id), the versions that must be equal, the names that entries refer
// to, the origins, the entries in the order of their numbers, the index of package hybrid at a
// multiple of 8 bytes, and the checksum of all that. Integers are little-endian; texts follow their
// lengths.
type snapshot struct {
	id         SnapshotID
	generation int64 // the catalog has all changes up to this one
	made       time.Time
	cut, model string // the versions of the chunks and of the vectors

	origins []*origin // copies; those that were read belong to the catalog
	entries []*entry  // by their numbers in the snapshot
	// The hybrid index: to be written, with the numbers in the catalog plus 1 ...
	index   *hybrid.Snapshot
	numbers []uint32 // 0 for numbers that no chunk has
	places  map[*origin]uint32
	// ... or what was read.
	saved []byte
}

const (
	snapshotMagic   = "remitidx"
	snapshotVersion = 1
	checksumSize    = 8
	alignment       = 8
)

// capture returns the content of the catalog, which has all changes up to a generation.
func (c *catalog) capture(generation int64) *snapshot {
	s := &snapshot{generation: generation}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.places = make(map[*origin]uint32, len(c.origins))
	known := make([]*entry, c.size)
	for _, o := range c.origins {
		s.places[o] = uint32(len(s.origins))
		s.origins = append(s.origins, &origin{
			path: o.path, hash: o.hash, size: o.size, modified: o.modified, generation: o.generation, gone: o.gone, ids: o.ids,
		})
		for _, id := range o.ids {
			known[id] = c.table.get(id)
		}
	}
	s.numbers = make([]uint32, c.size)
	for id, e := range known {
		if e != nil {
			s.entries = append(s.entries, e)
			s.numbers[id] = uint32(len(s.entries))
		}
	}
	// Entries are in the index before they are in the catalog, and leave it afterwards.
	s.index = c.local().Snapshot()
	return s
}

// renumber returns the number in the snapshot of a chunk of the index.
func (s *snapshot) renumber(id hybrid.ID) (hybrid.ID, bool) {
	if int(id) >= len(s.numbers) || s.numbers[id] == 0 {
		return 0, false
	}
	return hybrid.ID(s.numbers[id] - 1), true
}

// write writes the snapshot.
func (s *snapshot) write(to io.Writer) error {
	w := &snapshotWriter{sum: crc32.New(crc32.MakeTable(crc32.Castagnoli))}
	w.to = bufio.NewWriterSize(io.MultiWriter(to, w.sum), 1<<20)
	w.raw([]byte(snapshotMagic))
	w.u64(snapshotVersion)
	w.u64(uint64(s.generation))
	w.u64(uint64(s.made.UnixMicro()))
	w.raw(s.id[:])
	w.text(s.cut)
	w.text(s.model)
	names := s.writeNames(w)
	s.writeOrigins(w)
	for _, e := range s.entries {
		w.u32(s.places[e.origin])
		w.u32(uint32(e.number))
		w.raw(e.key[:])
		w.u64(uint64(e.date))
		w.u32(names[e.source.Value()])
		w.u32(names[e.kind.Value()])
		w.u32(names[e.module.Value()])
	}
	w.raw(make([]byte, (alignment-w.size%alignment)%alignment))
	if err := s.index.Save(w, s.renumber); err != nil {
		return fmt.Errorf("write index: %w", err)
	}
	if err := w.to.Flush(); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	_, err := to.Write(binary.LittleEndian.AppendUint64(nil, uint64(w.sum.Sum32())))
	return err
}

// writeNames writes the distinct names of the entries, and returns their places.
func (s *snapshot) writeNames(w *snapshotWriter) map[string]uint32 {
	places := map[string]uint32{}
	var names []string
	for _, e := range s.entries {
		for _, name := range [...]string{e.source.Value(), e.kind.Value(), e.module.Value()} {
			if _, known := places[name]; !known {
				places[name] = uint32(len(names))
				names = append(names, name)
			}
		}
	}
	w.u32(uint32(len(names)))
	for _, name := range names {
		w.text(name)
	}
	return places
}

func (s *snapshot) writeOrigins(w *snapshotWriter) {
	w.u32(uint32(len(s.origins)))
	w.u32(uint32(len(s.entries)))
	for _, o := range s.origins {
		w.text(o.path)
		w.raw(o.hash[:])
		w.u64(uint64(o.size))
		w.u64(uint64(o.modified))
		w.u64(uint64(o.generation))
		gone := uint32(0)
		if o.gone {
			gone = 1
		}
		w.u32(gone)
		w.u32(uint32(len(o.ids)))
	}
}

// snapshotWriter writes to a buffer, whose errors show when it is flushed.
type snapshotWriter struct {
	to  *bufio.Writer
	sum interface {
		Sum32() uint32
		io.Writer
	}
	size int
}

// Write implements io.Writer.
func (w *snapshotWriter) Write(data []byte) (int, error) {
	w.size += len(data)
	return w.to.Write(data)
}

func (w *snapshotWriter) raw(data []byte) { _, _ = w.Write(data) }

func (w *snapshotWriter) u32(n uint32) {
	var data [4]byte
	binary.LittleEndian.PutUint32(data[:], n)
	w.raw(data[:])
}

func (w *snapshotWriter) u64(n uint64) {
	var data [8]byte
	binary.LittleEndian.PutUint64(data[:], n)
	w.raw(data[:])
}

func (w *snapshotWriter) text(text string) {
	w.u32(uint32(len(text)))
	w.size += len(text)
	_, _ = w.to.WriteString(text)
}
