package corpus

import (
	"bytes"
	"errors"
	"io"

	"remit/internal/search/tree"
)

const (
	wholeSize   = 128 << 10 // larger files are read in full only if they do not begin like a binary
	maxTextSize = 64 << 20  // larger files are never kept in memory
	maxScratch  = 4 << 20   // a larger file that is not kept is read in chunks
)

// read reads a file into the buffer that alloc returns for its size, unless the file is larger than
// limit or begins like a binary. If the kind is unread, the caller must classify the data. If there
// is no data then, the file was too large or alloc returned nil.
func (c *Corpus) read(f *tree.File, limit int64, alloc func(size int) []byte) (data []byte, is kind) {
	var size int64
	data, err := c.tree.Read(f, func(n int64) []byte {
		if size = n; n > wholeSize {
			return nil
		}
		return alloc(int(n) + 1)
	})
	switch {
	case err != nil:
		return nil, unreadable
	case size <= wholeSize:
		return data, unread
	case size > limit:
		return nil, unread
	}
	return c.readLarge(f, int(size), alloc)
}

// readLarge reads the beginning of a file first.
func (c *Corpus) readLarge(f *tree.File, size int, alloc func(size int) []byte) (data []byte, is kind) {
	file, err := c.tree.Open(f)
	if err != nil {
		return nil, unreadable
	}
	defer file.Close()
	var head [headSize]byte
	n, err := fill(file, head[:])
	if err != nil {
		return nil, unreadable
	}
	if begunBinary(head[:n]) {
		return nil, binary
	}
	data = alloc(max(size+1, n))
	if data == nil {
		return nil, unread
	}
	copy(data, head[:n])
	more, err := fill(file, data[n:])
	if err != nil {
		return nil, unreadable
	}
	return data[:n+more], unread
}

// begunBinary reports whether a file with this beginning is binary.
func begunBinary(head []byte) bool {
	e, _ := detect(head)
	return e == plain && bytes.IndexByte(head, 0) >= 0
}

// fill reads until data is full or the file ends.
func fill(r io.Reader, data []byte) (int, error) {
	n, err := io.ReadFull(r, data)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n, err
}

// decoded returns the searchable text of a file's content.
func decoded(data []byte) ([]byte, kind) {
	e, mark := detect(data)
	data = data[mark:]
	if e != plain {
		data, _ = e.decode(nil, data, true)
	}
	return classify(data)
}

// load reads the file of a doc into memory if its text fits into the budget.
func (c *Corpus) load(d *doc, l *allocator) {
	if d.kind == link {
		return
	}
	data, is := c.read(d.file, maxTextSize, func(size int) []byte {
		if !c.fits(int64(size), l) {
			return nil
		}
		return l.alloc(size)
	})
	d.kind = is
	if data == nil {
		return
	}
	text, is := decoded(data)
	d.kind = is
	if len(text) == 0 {
		return
	}
	if &text[0] == &data[len(data)-len(text)] || &text[0] == &data[0] {
		d.arena = l.keep(len(data))
	} else {
		space := l.alloc(len(text))
		copy(space, text)
		text, d.arena = space, l.keep(len(space))
	}
	d.base, d.length = &text[0], uint32(len(text))
}

// fits reports whether size more bytes are within the budget for texts.
func (c *Corpus) fits(size int64, l *allocator) bool {
	return l.has(size) || c.textBytes.Load()+l.arenaSize(size) <= c.textShare()
}

// textShare returns the share of the budget that texts may use.
func (c *Corpus) textShare() int64 { return c.o.Budget / 4 * 3 }

// A scratch is a buffer that is reused for one file after another.
type scratch struct{ memory *arena }

func (s *scratch) alloc(size int) []byte {
	if s.memory == nil || len(s.memory.data) < size {
		s.close()
		s.memory = newArena(max(size, smallArena), false)
	}
	return s.memory.data[:size]
}

func (s *scratch) close() {
	if s.memory != nil {
		s.memory.release()
	}
	s.memory = nil
}

// searchOnDisk searches a doc whose text is not in memory.
//
// The tree records when each file was last read, to detect later changes. That record belongs to
// the readers that fill the view. A search discards what it reads, so it must not make the view's
// texts or trigrams look newer than they are. It therefore reads through a tree.File of its own.
func (w *worker) searchOnDisk(j *job) {
	w.file = &tree.File{Path: j.file.Path}
	var limit int64 = maxScratch
	if w.query.Pattern.Multiline {
		limit = maxTextSize
	}
	data, is := w.corpus.read(w.file, limit, w.scratch.alloc)
	if is == unread && data == nil {
		w.searchLarge(j)
		return
	}
	var text []byte
	if is == unread {
		text, is = decoded(data)
	}
	w.adjustFileCount(j.doc, is == textual)
	if is == unreadable {
		w.unitResult.unreadable = append(w.unitResult.unreadable, j.file.Path)
	}
	if is == textual {
		w.searchText(j, text, textRange{})
	}
}

// adjustFileCount corrects the number of searched files once it is known whether a doc is a text.
func (w *worker) adjustFileCount(d *doc, isText bool) {
	switch {
	case isText && d.kind != textual:
		w.unitResult.files++
	case !isText && d.kind == textual:
		w.unitResult.files--
	}
}

// searchLarge searches a doc chunk by chunk.
func (w *worker) searchLarge(j *job) {
	if w.query.Pattern.Multiline {
		w.markMissed(j.doc)
		w.unitResult.tooLarge = true
		return
	}
	f, err := w.corpus.tree.Open(w.file)
	if err != nil {
		w.adjustFileCount(j.doc, false)
		w.unitResult.unreadable = append(w.unitResult.unreadable, j.file.Path)
		return
	}
	defer f.Close()
	p := newChunkReader(f, w.query.Context, &w.stop, chunkSize, maxLineLength)
	w.adjustFileCount(j.doc, p != nil)
	if p == nil {
		return
	}
	found, whole := 0, true
	for whole && (w.query.PerFile == 0 || found < w.query.PerFile) && p.next() {
		var count int
		count, whole = w.searchText(j, p.data, textRange{lines: p.lines, offset: p.offset, before: p.from, end: p.to, found: found})
		found += count
	}
	if whole && w.stop.Load() {
		w.markMissed(j.doc)
	}
}
