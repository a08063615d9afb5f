package books

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/flate"
)

// What an archive may take while it is written: so many pieces, each of them read and
// compressed, and as many compressors as there are cores to use them.
const (
	pieceSize   = 256 << 10
	filesAhead  = 8 // opened before it is their turn, for stores that are slow to begin
	piecesAhead = 4 // of the file whose turn it is
)

// level is where better compression begins to cost more time than it saves bytes.
const level = 5

// zipping writes objects into a zip. Many are read and compressed at a time; they are
// written in order.
type zipping struct {
	store       Store
	zip         *zip.Writer
	gone        func(key string) // is told of what is not there any more
	pieces      chan *piece
	compressors chan *flate.Writer // nil stands for one that is not made yet
	readers     sync.WaitGroup
}

// piece is a part of a file, in turn read, compressed and written. It is used again.
type piece struct {
	raw        []byte
	compressed bytes.Buffer
	stored     bool          // the raw bytes are written
	last       bool          // nothing comes after it
	ready      chan struct{} // closed when it can be
}

func newZipping(w io.Writer, store Store, gone func(key string)) *zipping {
	z := &zipping{
		store: store, zip: zip.NewWriter(w), gone: gone,
		pieces:      make(chan *piece, filesAhead+piecesAhead),
		compressors: make(chan *flate.Writer, min(runtime.GOMAXPROCS(0), filesAhead)),
	}
	for range cap(z.pieces) {
		z.pieces <- &piece{}
	}
	for range cap(z.compressors) {
		z.compressors <- nil
	}
	return z
}

// write writes the zip of some objects. prefix is how much of their keys is left out.
func (z *zipping) write(ctx context.Context, objects []Object, prefix int, told func(files int, bytes int64)) error {
	ctx, cancel := context.WithCancel(ctx)
	turns := make(chan chan *member, filesAhead-1) // and one is written
	z.readers.Go(func() { z.openAll(ctx, objects, turns) })
	defer z.readers.Wait()
	defer func() { // whatever was opened in vain is closed
		cancel()
		for turn := range turns {
			(<-turn).close()
		}
	}()
	var files int
	var size int64
	for turn := range turns {
		m := <-turn
		if m.gone {
			z.gone(m.object.Key)
			continue
		}
		if err := z.add(ctx, m, m.object.Key[prefix:]); err != nil {
			return err
		}
		files, size = files+1, size+int64(m.header.UncompressedSize64)
		if told != nil {
			told(files, size)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return z.zip.Close()
}

// openAll opens objects in order, a few before it is their turn.
func (z *zipping) openAll(ctx context.Context, objects []Object, turns chan<- chan *member) {
	defer close(turns)
	for i := range objects {
		turn := make(chan *member, 1)
		select {
		case turns <- turn:
			z.readers.Go(func() { turn <- z.open(ctx, objects[i]) })
		case <-ctx.Done():
			return
		}
	}
}

// member is an object on its way into a zip.
type member struct {
	object Object
	gone   bool   // it is not there any more
	body   *Body  // nil if all of it was read
	first  *piece // the beginning
	stored bool   // it is not compressed
	crc    uint32 // of what was read
	read   int64
	err    error // why it cannot be read
	header *zip.FileHeader
}

// open opens an object and prepares the beginning of it, which tells whether it is
// worth compressing.
func (z *zipping) open(ctx context.Context, object Object) *member {
	m := &member{object: object}
	m.body, m.err = z.store.Open(ctx, object.Key)
	if errors.Is(m.err, ErrNotFound) {
		m.gone, m.err = true, nil
		return m
	}
	if m.err == nil {
		m.first, m.err = z.read(ctx, m)
	}
	if m.err != nil {
		return m
	}
	m.stored = isCompressed(object.Key)
	if !m.stored {
		z.compress(m.first)
		m.stored = m.first.compressed.Len() > len(m.first.raw)-len(m.first.raw)/32
	}
	m.first.stored = m.stored
	return m
}

// close lets go of what is open.
func (m *member) close() {
	if m.body != nil {
		_ = m.body.Close() // what was only read has nothing left to lose
		m.body = nil
	}
}

// read reads the next piece of an object.
func (z *zipping) read(ctx context.Context, m *member) (*piece, error) {
	var p *piece
	select {
	case p = <-z.pieces:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if p.raw == nil {
		p.raw = make([]byte, pieceSize)
	}
	n, err := io.ReadFull(m.body, p.raw[:pieceSize])
	p.raw, p.stored, p.last = p.raw[:n], m.stored, err != nil
	m.crc, m.read = crc32.Update(m.crc, crc32.IEEETable, p.raw), m.read+int64(n)
	switch {
	case err == nil:
	case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("read %s: %w", m.object.Key, err)
	case m.read != m.body.Size: // a connection that is lost may look like an end
		return nil, fmt.Errorf("read %s: it ended after %d of %d bytes", m.object.Key, m.read, m.body.Size)
	}
	return p, nil
}

// compress compresses a piece, so that the pieces of an object are one stream.
func (z *zipping) compress(p *piece) {
	c := <-z.compressors
	defer func() { z.compressors <- c }()
	p.compressed.Reset()
	if c == nil {
		c, _ = flate.NewWriter(nil, level) // only a level that does not exist is an error
	}
	c.Reset(&p.compressed)
	_, _ = c.Write(p.raw) // a buffer takes all
	if p.last {
		_ = c.Close()
	} else {
		_ = c.Flush()
	}
}

// content is what is written of a piece.
func (p *piece) content() []byte {
	if p.stored {
		return p.raw
	}
	return p.compressed.Bytes()
}

// add writes an object into the zip, under a name.
func (z *zipping) add(ctx context.Context, m *member, name string) error {
	defer m.close()
	if m.err != nil {
		return m.err
	}
	m.describe(name)
	first := m.first.content()
	if m.first.last {
		m.header.CRC32, m.header.UncompressedSize64, m.header.CompressedSize64 = m.crc, uint64(m.read), uint64(len(first))
	} else {
		m.header.Flags |= sizesFollow
	}
	out, err := z.zip.CreateRaw(m.header)
	if err == nil {
		_, err = out.Write(first)
	}
	written, last := len(first), m.first.last
	z.pieces <- m.first
	if err != nil || last {
		return err
	}
	return z.addRest(ctx, m, out, uint64(written))
}

// sizesFollow is the flag of files whose sizes come after them.
const sizesFollow = 0x8

// addRest writes what comes after the first piece of an object, of which so much was
// written.
func (z *zipping) addRest(ctx context.Context, m *member, out io.Writer, written uint64) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	queue := make(chan *piece, piecesAhead-2) // one more is read, and one is written
	z.readers.Go(func() {
		defer close(queue)
		m.err = z.readRest(ctx, m, queue)
	})
	for p := range queue {
		<-p.ready
		if err == nil {
			_, err = out.Write(p.content())
			written += uint64(len(p.content()))
		}
		if err != nil {
			cancel()
		}
		z.pieces <- p
	}
	if err == nil {
		err = m.err
	}
	h := m.header
	h.CRC32, h.UncompressedSize64, h.CompressedSize64 = m.crc, uint64(m.read), written
	//nolint:staticcheck // the writer makes these of the others, but not of what follows a file
	h.UncompressedSize, h.CompressedSize = uint32(m.read), uint32(written)
	return err
}

// readRest reads pieces in order, and lets many be compressed at a time.
func (z *zipping) readRest(ctx context.Context, m *member, queue chan<- *piece) error {
	for last := false; !last; {
		p, err := z.read(ctx, m)
		if err != nil {
			return err
		}
		last = p.last
		p.ready = make(chan struct{})
		z.readers.Go(func() {
			defer close(p.ready)
			if !p.stored {
				z.compress(p)
			}
		})
		queue <- p
	}
	return nil
}

// The version of the format that a reader has to know, and the mark of Unix in the
// version of whoever wrote it.
const zipVersion = 20

// describe makes the header of an object. Its time is that of the object, in UTC, so
// that the same object gives the same bytes wherever it is written.
func (m *member) describe(name string) {
	m.header = &zip.FileHeader{Name: name, Method: zip.Deflate, ReaderVersion: zipVersion}
	if m.stored {
		m.header.Method = zip.Store
	}
	m.header.SetMode(0o644)
	m.header.CreatorVersion |= zipVersion
	at := m.body.Modified.UTC()
	//nolint:staticcheck // raw files are written with the times that stand here
	m.header.ModifiedDate, m.header.ModifiedTime = dosTime(at)
	m.header.Extra = unixTime(at)
}

// dosTime is a time as zip files have always had it, to two seconds.
func dosTime(at time.Time) (date, clock uint16) {
	if at.Year() < 1980 {
		at = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return uint16(at.Day() + int(at.Month())<<5 + (at.Year()-1980)<<9), uint16(at.Second()/2 + at.Minute()<<5 + at.Hour()<<11)
}

// unixTime is a time as an extra field ("UT") that says that it is in UTC.
func unixTime(at time.Time) []byte {
	return binary.LittleEndian.AppendUint32([]byte{'U', 'T', 5, 0, 1}, uint32(at.Unix()))
}

// isCompressed tells by its name what would not become any smaller.
func isCompressed(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".heic",
		".mp3", ".m4a", ".aac", ".ogg", ".oga", ".opus", ".flac",
		".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi",
		".pdf", ".pptx", ".docx", ".xlsx", ".odp", ".odt", ".key", ".epub",
		".zip", ".gz", ".tgz", ".bz2", ".xz", ".zst", ".7z", ".br", ".woff", ".woff2":
		return true
	default:
		return false
	}
}
