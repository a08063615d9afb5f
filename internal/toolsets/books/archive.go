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
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/flate"

	"remit/internal/contract/jsontree"
	"remit/internal/toolsets/books/bookimport"
)

// Memory limits while an archive is written.
const (
	filesAhead = 8 // files opened ahead of their turn, for stores with a high latency
	// Bytes of each file compressed ahead of its turn; a larger one is streamed.
	maxHeld    = 2 << 20
	sampleSize = 256 << 10 // bytes of a larger file used to decide whether to compress it
)

// level is the compression level above which time rises faster than size falls.
const level = 5

// zipping writes objects into a zip. Goroutines read and compress several objects at a time; one
// goroutine writes them in order.
type zipping struct {
	store       Store
	zip         *zip.Writer
	gone        func(key string)   // called for an object that was deleted meanwhile
	compressors chan *flate.Writer // one per core; nil stands for one that is not created yet
	free        chan *buffers      // for reuse
	buffer      []byte             // for streaming
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

// write writes a zip of the objects. It cuts the first prefix bytes off their keys.
func (z *zipping) write(ctx context.Context, objects []Object, prefix int, report func(files int, bytes int64)) error {
	ctx, cancel := context.WithCancel(ctx)
	queue := make(chan chan *member, filesAhead-1) // and one is being written
	z.readers.Go(func() { z.openAll(ctx, objects, queue) })
	defer z.readers.Wait()
	defer func() { // close what was opened and is not needed
		cancel()
		for slot := range queue {
			(<-slot).close()
		}
	}()
	var files int
	var size int64
	for slot := range queue {
		m := <-slot
		if errors.Is(m.err, ErrNotFound) {
			z.gone(m.key)
			continue
		}
		if err := z.add(ctx, m, m.key[prefix:]); err != nil {
			return err
		}
		files, size = files+1, size+m.body.Size
		if report != nil {
			report(files, size)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return z.zip.Close()
}

// openAll opens objects in order, a few ahead of their turn.
func (z *zipping) openAll(ctx context.Context, objects []Object, queue chan<- chan *member) {
	defer close(queue)
	for i := range objects {
		slot := make(chan *member, 1)
		select {
		case queue <- slot:
			z.readers.Go(func() { slot <- z.open(ctx, objects[i].Key) })
		case <-ctx.Done():
			return
		}
	}
}

// member is an object on its way into the zip.
type member struct {
	key     string
	body    *Body
	streams bool  // most of the body is not read yet
	stored  bool  // it is not compressed
	err     error // why it cannot be read
	*buffers
}

// buffers holds the content that was read, raw and compressed.
type buffers struct{ raw, packed bytes.Buffer }

// close closes the body if it is open.
func (m *member) close() {
	if m.streams {
		_ = m.body.Close() // closing a reader loses nothing
	}
}

// open opens an object, reads it and compresses it.
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

// read reads and compresses an object. Of an object that is large or not worth compressing, it
// reads only the beginning, which shows whether the rest is worth compressing.
func (z *zipping) read(m *member) error {
	m.stored = isCompressed(m.key)
	m.streams = m.body.Size > maxHeld || m.body.Size > sampleSize && m.stored
	first := int64(sampleSize)
	if !m.streams {
		first = m.body.Size + 1
		defer func() { _ = m.body.Close() }() // closing a reader loses nothing
	}
	m.raw.Grow(int(first) + bytes.MinRead) // avoids a reallocation
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
		c, _ = flate.NewWriter(nil, level) // fails only for an invalid level
	}
	c.Reset(&m.packed)
	_, _ = c.Write(m.raw.Bytes()) // writing to a buffer cannot fail
	_ = c.Close()
	z.compressors <- c
	m.stored = m.packed.Len() > m.raw.Len()-m.raw.Len()/32
	return nil
}

// short returns the error for an object that ended early: a lost connection may look like the end.
func (m *member) short(n int64) error {
	return fmt.Errorf("read %s: it ended after %d of %d bytes", m.key, n, m.body.Size)
}

// add writes an object into the zip under a name.
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

// readerFunc is a function that implements io.Reader.
type readerFunc func(p []byte) (int, error)

// Read calls f.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// zipVersion is the version of the format that a reader needs, and, with the mark of Unix, the
// version of the writer.
const zipVersion = 20

// header returns the zip header of an object. It uses the object's modification time in UTC, so
// that the same object yields the same bytes everywhere.
func (m *member) header(name string) *zip.FileHeader {
	h := &zip.FileHeader{Name: name, Method: zip.Deflate, ReaderVersion: zipVersion}
	if m.stored {
		h.Method = zip.Store
	}
	h.SetMode(0o644)
	h.CreatorVersion |= zipVersion
	// The earliest time that a zip can represent.
	at, first := m.body.Modified.UTC(), time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)
	if at.After(first) {
		first = at
	}
	h.SetModTime(first)      //nolint:staticcheck // it sets the times with which raw files are written
	h.Modified = time.Time{} // otherwise CreateHeader would add the next line again
	h.Extra = binary.LittleEndian.AppendUint32([]byte{'U', 'T', 5, 0, 1}, uint32(at.Unix()))
	return h
}

// isCompressed reports by its name whether a file is compressed already.
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

// ArchiveIn is the input of get_book_archive.
type ArchiveIn struct {
	BookID string `json:"book_id"`
}

// ArchiveOut is the output of get_book_archive: the zip's URL and its contents at the moment.
type ArchiveOut struct {
	Status         string    `json:"status"`
	ArchiveURL     string    `json:"archive_url"`
	ExpiresAt      time.Time `json:"expires_at"`
	FileCount      int       `json:"file_count"`
	TotalSizeBytes int64     `json:"total_size_bytes"`
	Format         string    `json:"format"`
	ValidFor       int       `json:"valid_for_seconds"`

	note string
}

// Metadata says how long the URL really lives.
func (out ArchiveOut) Metadata() jsontree.Value { return noted(out.note) }

// Archive returns a URL that serves a book as a zip. The zip is created while a client downloads
// it: nothing is stored.
func (t *Tools) Archive(ctx context.Context, in ArchiveIn) (ArchiveOut, error) {
	_, files, err := t.Library.archived(ctx, in.BookID)
	if err != nil {
		return ArchiveOut{}, err
	}
	link, err := t.Links.Archive(ctx, in.BookID)
	if err != nil {
		return ArchiveOut{}, failure(ctx, err)
	}
	out := ArchiveOut{
		Status: "success", ArchiveURL: link.URL, ExpiresAt: link.Expires,
		FileCount: len(files), Format: "zip", ValidFor: link.Seconds(), note: t.linkNote(),
	}
	for i := range files {
		out.TotalSizeBytes += files[i].Size
	}
	return out, nil
}

// archived lists the files of a book that belong into its archive.
func (l *Library) archived(ctx context.Context, bookID string) (location, []Object, error) {
	h, files, err := l.contents(ctx, bookID)
	return h, slices.DeleteFunc(files, func(o Object) bool {
		_, path, _ := splitKey(o.Key)
		return !isArchived(path)
	}), err
}

// isArchived reports whether a file is one of the four kinds of content: lessons, summaries, assets
// and the metadata of the book.
func isArchived(at string) bool {
	switch folder, _, _ := strings.Cut(at, "/"); folder {
	case "lessons":
		return strings.HasSuffix(at, ".md")
	case "chapters":
		return path.Base(at) == summaryFile
	case "assets":
		return true
	}
	return at == bookFile
}

// contents lists all files of a book. It returns an error if there is no such book.
func (l *Library) contents(ctx context.Context, bookID string) (location, []Object, error) {
	h, err := l.locate(ctx, bookID)
	if err != nil {
		return location{}, nil, err
	}
	files, err := l.files(ctx, h, "")
	if err == nil && len(files) == 0 {
		err = l.checkExists(ctx, h)
	}
	return h, files, err
}

// WriteArchive writes the contents of a book as a zip with paths relative to the book. It streams,
// so that a book of any size takes little memory. The same files yield the same bytes. Files
// deleted meanwhile are left out. If it returns an error, the output is incomplete and must be
// discarded. WriteArchive calls report, if it is not nil, after each file with the totals so far.
func (l *Library) WriteArchive(ctx context.Context, bookID string, w io.Writer, report func(files int, bytes int64)) error {
	h, files, err := l.archived(ctx, bookID)
	if err != nil {
		return err
	}
	return l.writeZip(ctx, h, files, w, report)
}

// writeZip writes files of a book as a zip.
func (l *Library) writeZip(ctx context.Context, h location, files []Object, w io.Writer, report func(files int, bytes int64)) error {
	z := newZipping(w, h.store, func(gone string) {
		l.Log.Info("a file was deleted during the archiving of its book", "key", gone)
	})
	if err := z.zip.SetComment(bookimport.Comment(cleanTitle(h.book.Title))); err != nil {
		return failure(ctx, err)
	}
	return failure(ctx, z.write(ctx, files, len(h.key("")), report))
}

// Export writes a book as a zip, with its title in the comment of the zip. If it returns an error,
// the output is incomplete and must be discarded.
func (l *Library) Export(ctx context.Context, bookID string, w io.Writer, report func(Progress)) error {
	if err := checkID(bookID); err != nil {
		return err
	}
	h, files, err := l.contents(ctx, bookID)
	if err != nil {
		return err
	}
	at := Progress{}
	for i := range files {
		at.Total += files[i].Size
	}
	return l.writeZip(ctx, h, files, w, func(_ int, bytes int64) {
		if at.Done = bytes; report != nil {
			report(at)
		}
	})
}
