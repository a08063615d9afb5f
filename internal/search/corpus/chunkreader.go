package corpus

import (
	"bytes"
	"io"
	"slices"
	"sync/atomic"
)

const (
	chunkSize     = 1 << 20  // bytes read of a large file at a time
	maxLineLength = 16 << 20 // the rest of a longer line is not searched
)

// A chunkReader splits a large text into chunks of whole lines. The lines from offset from to
// offset to are to be searched; the lines before and after them are context.
type chunkReader struct {
	source  io.Reader
	stop    *atomic.Bool
	context int
	data    []byte
	from    int
	to      int
	lines   int   // number of lines of the text before from
	offset  int64 // offset of data in the text
	ended   bool  // there is nothing more to read
	skip    bool  // the rest of the current line is skipped
	maxLine int   // maximum length kept of a line
}

// newChunkReader returns nil if the file is binary or cannot be read. The chunks begin with the
// given size and grow to hold a long line, up to the maximum.
func newChunkReader(file io.Reader, context int, stop *atomic.Bool, size, maxLine int) *chunkReader {
	head := make([]byte, headSize+maxMarkSize)
	n, err := fill(file, head)
	if err != nil {
		return nil
	}
	e, mark := detect(head[:n])
	head = head[mark:n]
	source := file
	if e != plain {
		source = &decoder{encoding: e, source: io.MultiReader(bytes.NewReader(head), file)}
		head = make([]byte, headSize)
		n, err = fill(source, head)
		head = head[:n]
	}
	if err != nil || bytes.IndexByte(head[:min(len(head), headSize)], 0) >= 0 {
		return nil
	}
	source = io.MultiReader(bytes.NewReader(head), source)
	return &chunkReader{source: source, stop: stop, context: context, maxLine: maxLine, data: make([]byte, 0, size)}
}

// next advances to the next chunk. It returns false if there is none.
func (p *chunkReader) next() bool {
	p.advance()
	for {
		p.read()
		switch {
		case p.stop.Load():
			return false
		case p.ended:
			p.to = len(p.data)
			return p.to > p.from
		case p.findEnd(p.context):
			return true
		case cap(p.data) >= p.maxLine:
			if !p.findEnd(0) {
				p.to, p.skip = len(p.data), true
			}
			return true
		}
		p.data = append(make([]byte, 0, min(2*cap(p.data), p.maxLine)), p.data...)
	}
}

// advance drops what was searched, except for the lines that are context of the next chunk.
func (p *chunkReader) advance() {
	p.lines += bytes.Count(p.data[p.from:p.to], []byte{'\n'})
	if p.skip {
		p.lines++
	}
	keep := p.to
	for range p.context {
		if keep == 0 || p.skip {
			break
		}
		keep = bytes.LastIndexByte(p.data[:keep-1], '\n') + 1
	}
	p.data = p.data[:copy(p.data, p.data[keep:])]
	p.offset += int64(keep)
	p.from, p.to = p.to-keep, p.to-keep
}

// findEnd finds the last line that is followed by enough lines of context. It returns false if
// there is none.
func (p *chunkReader) findEnd(context int) bool {
	end := p.from + bytes.LastIndexByte(p.data[p.from:], '\n') + 1
	for ; context > 0 && end > p.from; context-- {
		end = p.from + bytes.LastIndexByte(p.data[p.from:end-1], '\n') + 1
	}
	p.to = end
	return end > p.from
}

// read fills the free space of the buffer.
func (p *chunkReader) read() {
	for p.skip && !p.ended && !p.stop.Load() {
		p.readOn()
		rest := p.data[p.from:]
		if n := bytes.IndexByte(rest, '\n'); n >= 0 {
			p.skip = false
			rest = rest[n+1:]
			p.offset += int64(n + 1)
			p.data = p.data[:p.from+copy(p.data[p.from:], rest)]
		} else {
			p.offset += int64(len(rest))
			p.data = p.data[:p.from]
		}
	}
	p.readOn()
}

// readOn reads more data. It ends the text before the line that contains a NUL.
func (p *chunkReader) readOn() {
	if p.ended || len(p.data) == cap(p.data) {
		return
	}
	old := len(p.data)
	n, err := io.ReadFull(p.source, p.data[old:cap(p.data)])
	p.data = p.data[:old+n]
	p.ended = err != nil
	if zero := bytes.IndexByte(p.data[old:], 0); zero >= 0 {
		p.data = p.data[:p.from+bytes.LastIndexByte(p.data[p.from:old+zero], '\n')+1]
		p.ended = true
	}
}

// A decoder reads UTF-16 as UTF-8.
type decoder struct {
	encoding encoding
	source   io.Reader
	raw      []byte // read but not decoded yet
	text     []byte // decoded but not returned yet
	err      error
}

func (d *decoder) Read(b []byte) (int, error) {
	for len(d.text) == 0 && d.err == nil {
		raw := slices.Grow(d.raw, readAhead)
		n, err := d.source.Read(raw[len(raw):cap(raw)])
		raw = raw[:len(raw)+n]
		d.err = err
		var rest []byte
		d.text, rest = d.encoding.decode(d.text[:0], raw, err != nil)
		d.raw = raw[:copy(raw, rest)]
	}
	n := copy(b, d.text)
	d.text = d.text[n:]
	if n == 0 && len(b) > 0 {
		return 0, d.err
	}
	return n, nil
}
