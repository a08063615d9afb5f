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

// What an archive may hold in memory while it is written.
const (
	filesAhead = 8         // files that are opened before it is their turn, for stores that are slow to begin
	maxHeld    = 2 << 20   // of each that is compressed before it is its turn; a larger one is streamed
	sampleSize = 256 << 10 // of a larger one, to tell whether it is worth compressing
)

// level is where better compression begins to cost more time than it saves bytes.
const level = 5

// zipping writes objects into a zip. Many are read and compressed at a time, each by a goroutine
// of its own; they are written in order.
type zipping struct {
	store       Store
	zip         *zip.Writer
	gone        func(key string)   // is told of what is not there any more
	compressors chan *flate.Writer // as many as there are cores; nil stands for one that is not made yet
	free        chan *buffers      // to be used again
	buffer      []byte             // for what is streamed
	readers     sync.WaitGroup
}

func newZipping(w io.Writer, store Store, gone func(key string)) *zipping {
	z := &zipping{
		store: store, zip: zip.NewWriter(w), gone: gone,
		free: make(chan *buffers, filesAhead), buffer: make([]byte, sampleSize),
		compressors: make(chan *flate.Writer, min(runtime.GOMAXPROCS(0), filesAhead)),
	}
	for range cap(z.compressors) {
		z.compressors <- nil
	}
	z.zip.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, level) })
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
		if errors.Is(m.err, ErrNotFound) {
			z.gone(m.key)
			continue
		}
		if err := z.add(ctx, m, m.key[prefix:]); err != nil {
			return err
		}
		files, size = files+1, size+m.body.Size
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
			z.readers.Go(func() { turn <- z.open(ctx, objects[i].Key) })
		case <-ctx.Done():
			return
		}
	}
}

// member is an object on its way into a zip.
type member struct {
	key     string
	body    *Body
	streams bool  // most of the body is not read yet
	stored  bool  // it is not compressed
	err     error // why it cannot be read
	*buffers
}

// buffers hold what is read, and the same compressed.
type buffers struct{ raw, packed bytes.Buffer }

// close lets go of what is open.
func (m *member) close() {
	if m.streams {
		_ = m.body.Close() // what was only read has nothing left to lose
	}
}

// open opens an object, reads and compresses it.
func (z *zipping) open(ctx context.Context, key string) *member {
	m := &member{key: key}
	select {
	case m.buffers = <-z.free:
		m.raw.Reset()
		m.packed.Reset()
	default:
		m.buffers = &buffers{}
	}
	if m.body, m.err = z.store.Open(ctx, key); m.err == nil {
		m.err = z.read(m)
	}
	return m
}

// read reads and compresses an object. Of one that is large, or is not compressed anyway, that is
// the beginning, which tells whether the rest is worth compressing.
func (z *zipping) read(m *member) error {
	m.stored = isCompressed(m.key)
	m.streams = m.body.Size > maxHeld || m.body.Size > sampleSize && m.stored
	first := int64(sampleSize)
	if !m.streams {
		first = m.body.Size + 1
		defer func() { _ = m.body.Close() }() // it was only read
	}
	m.raw.Grow(int(first) + bytes.MinRead) // so that it never has to be copied
	n, err := m.raw.ReadFrom(io.LimitReader(m.body, first))
	switch {
	case err != nil:
		return fmt.Errorf("read %s: %w", m.key, err)
	case !m.streams && n != m.body.Size:
		return m.short(n)
	case m.stored:
		return nil
	}
	c := <-z.compressors
	if c == nil {
		c, _ = flate.NewWriter(nil, level) // only a level that does not exist is an error
	}
	c.Reset(&m.packed)
	_, _ = c.Write(m.raw.Bytes()) // a buffer takes all
	_ = c.Close()
	z.compressors <- c
	m.stored = m.packed.Len() > m.raw.Len()-m.raw.Len()/32
	return nil
}

// short says that an object is not as long as it should be: a connection that is lost may look
// like an end.
func (m *member) short(n int64) error {
	return fmt.Errorf("read %s: it ended after %d of %d bytes", m.key, n, m.body.Size)
}

// add writes an object into the zip, under a name.
func (z *zipping) add(ctx context.Context, m *member, name string) error {
	defer func() {
		m.close()
		z.free <- m.buffers
	}()
	switch {
	case m.err != nil:
		return m.err
	case m.streams:
		return z.stream(ctx, m, name)
	}
	content := m.packed.Bytes()
	if m.stored {
		content = m.raw.Bytes()
	}
	header := m.header(name)
	header.CRC32 = crc32.ChecksumIEEE(m.raw.Bytes())
	header.UncompressedSize64, header.CompressedSize64 = uint64(m.raw.Len()), uint64(len(content))
	out, err := z.zip.CreateRaw(header)
	if err == nil {
		_, err = out.Write(content)
	}
	return err
}

// stream writes a large object into the zip while it is read.
func (z *zipping) stream(ctx context.Context, m *member, name string) error {
	out, err := z.zip.CreateHeader(m.header(name))
	if err != nil {
		return err
	}
	rest := readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, err := m.body.Read(p)
		if err != nil && !errors.Is(err, io.EOF) {
			err = fmt.Errorf("read %s: %w", m.key, err)
		}
		return n, err
	})
	n, err := io.CopyBuffer(out, io.MultiReader(&m.raw, rest), z.buffer)
	if err == nil && n != m.body.Size {
		err = m.short(n)
	}
	return err
}

// readerFunc makes a reader of a function.
type readerFunc func(p []byte) (int, error)

// Read calls the function.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// The version of the format that a reader has to know, and the mark of Unix in the
// version of whoever wrote it.
const zipVersion = 20

// header describes an object. Its time is that of the object, in UTC, so that the same object
// gives the same bytes wherever it is written.
func (m *member) header(name string) *zip.FileHeader {
	h := &zip.FileHeader{Name: name, Method: zip.Deflate, ReaderVersion: zipVersion}
	if m.stored {
		h.Method = zip.Store
	}
	h.SetMode(0o644)
	h.CreatorVersion |= zipVersion
	at, first := m.body.Modified.UTC(), time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC) // that a zip can tell
	if at.After(first) {
		first = at
	}
	h.SetModTime(first)      //nolint:staticcheck // raw files are written with the times that this sets
	h.Modified = time.Time{} // or CreateHeader would add the next line once more
	h.Extra = binary.LittleEndian.AppendUint32([]byte{'U', 'T', 5, 0, 1}, uint32(at.Unix()))
	return h
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

// archiveFor is how long the address of an archive is good for.
const archiveFor = time.Hour

// ArchiveIn names a book.
type ArchiveIn struct {
	BookID string `json:"book_id"`
}

// ArchiveOut is where the zip of a book is, and what will be in it as things stand.
type ArchiveOut struct {
	Status         string    `json:"status"`
	ArchiveURL     string    `json:"archive_url"`
	ExpiresAt      time.Time `json:"expires_at"`
	FileCount      int       `json:"file_count"`
	TotalSizeBytes int64     `json:"total_size_bytes"`
	Format         string    `json:"format"`
	ValidFor       int       `json:"valid_for_seconds"`
}

// Archive gives the address of a book as a zip. The zip is made while somebody reads
// it: nothing is stored.
func (t *Tools) Archive(ctx context.Context, in ArchiveIn) (ArchiveOut, error) {
	_, files, err := t.Library.contents(ctx, in.BookID)
	if err != nil {
		return ArchiveOut{}, err
	}
	expires := t.Now().UTC().Truncate(time.Second).Add(archiveFor)
	address, err := t.Links.Archive(ctx, in.BookID, expires)
	if err != nil {
		return ArchiveOut{}, failure(ctx, err)
	}
	out := ArchiveOut{
		Status: "success", ArchiveURL: address, ExpiresAt: expires,
		FileCount: len(files), Format: "zip", ValidFor: int(archiveFor / time.Second),
	}
	for i := range files {
		out.TotalSizeBytes += files[i].Size
	}
	return out, nil
}

// contents lists all that is in a book, which is something.
func (l *Library) contents(ctx context.Context, bookID string) (home, []Object, error) {
	h, err := l.place(ctx, bookID)
	if err != nil {
		return home{}, nil, err
	}
	files, err := l.files(ctx, h, "")
	if err == nil && len(files) == 0 {
		err = l.missing(ctx, h, "")
	}
	return h, files, err
}

// WriteArchive writes a book as a zip, with paths as they are within the book. Whatever
// is stored is read once and written at once, so that a book of any size takes little
// memory. The same files give the same bytes. What is deleted meanwhile is left out. Of
// an archive that ends with an error nobody should take the part that was written. told,
// if it is not nil, is told how much of the book is written, after each file.
func (l *Library) WriteArchive(ctx context.Context, bookID string, w io.Writer, told func(files int, bytes int64)) error {
	h, files, err := l.contents(ctx, bookID)
	if err != nil {
		return err
	}
	z := newZipping(w, h.store, func(gone string) {
		l.Log.Info("a file was deleted while its book was archived", "key", gone)
	})
	return failure(ctx, z.write(ctx, files, len(h.key("")), told))
}

// Export writes a book as a zip. Of one that ends with an error nobody should keep what
// was written.
func (l *Library) Export(ctx context.Context, bookID string, w io.Writer, told func(Progress)) error {
	if err := checkID(bookID); err != nil {
		return err
	}
	_, files, err := l.contents(ctx, bookID)
	if err != nil {
		return err
	}
	at := Progress{}
	for i := range files {
		at.Total += files[i].Size
	}
	return l.WriteArchive(ctx, bookID, w, func(_ int, bytes int64) {
		if at.Done = bytes; told != nil {
			told(at)
		}
	})
}
