package corpus

import (
	"bytes"
	"io"
	"slices"
	"sync/atomic"
)

const (
	pieceSize   = 1 << 20  // what is read of a large file at once
	longestLine = 16 << 20 // the rest of a longer line is not searched
)

// pieces cut a large text into pieces of whole lines. Those from one place to another are to be searched; before and after
// them stand some more, for context.
type pieces struct {
	source  io.Reader
	stop    *atomic.Bool
	context int
	data    []byte
	from    int
	to      int
	lines   int  // of the text that are before from
	ended   bool // nothing more is to be read
	skip    bool // the rest of the line is left out
	longest int  // no more than this is kept of a line
}

// newPieces returns nil if the file is binary or cannot be read. It begins with pieces of a size, which grow with lines up
// to the longest.
func newPieces(file io.Reader, context int, stop *atomic.Bool, size, longest int) *pieces {
	head := make([]byte, headSize+longestMark)
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
	return &pieces{source: source, stop: stop, context: context, longest: longest, data: make([]byte, 0, size)}
}

// next goes on to the next piece, and returns false if there is none.
func (p *pieces) next() bool {
	p.advance()
	for {
		p.read()
		switch {
		case p.stop.Load():
			return false
		case p.ended:
			p.to = len(p.data)
			return p.to > p.from
		case p.settle(p.context):
			return true
		case cap(p.data) >= p.longest:
			if !p.settle(0) {
				p.to, p.skip = len(p.data), true
			}
			return true
		}
		p.data = append(make([]byte, 0, min(2*cap(p.data), p.longest)), p.data...)
	}
}

// advance leaves out what was searched, but for the lines that are context of what follows.
func (p *pieces) advance() {
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
	p.from, p.to = p.to-keep, p.to-keep
}

// settle finds the last line after which as many are there as context needs. It returns false if there is none.
func (p *pieces) settle(context int) bool {
	end := p.from + bytes.LastIndexByte(p.data[p.from:], '\n') + 1
	for ; context > 0 && end > p.from; context-- {
		end = p.from + bytes.LastIndexByte(p.data[p.from:end-1], '\n') + 1
	}
	p.to = end
	return end > p.from
}

// read fills the room there is.
func (p *pieces) read() {
	for p.skip && !p.ended && !p.stop.Load() {
		p.readOn()
		rest := p.data[p.from:]
		if n := bytes.IndexByte(rest, '\n'); n >= 0 {
			p.skip = false
			rest = rest[n+1:]
			p.data = p.data[:p.from+copy(p.data[p.from:], rest)]
		} else {
			p.data = p.data[:p.from]
		}
	}
	p.readOn()
}

// readOn reads, and ends before the line that has a NUL.
func (p *pieces) readOn() {
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
	raw      []byte // read and not decoded yet
	text     []byte // decoded and not given yet
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
