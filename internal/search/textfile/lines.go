package textfile

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"
)

// A Part is some lines of a text.
type Part struct {
	Content  []byte // the lines as UTF-8, with their line ends
	Encoding Encoding
	Head     []byte // the beginning of the text as UTF-8
	Lines    int    // number of lines of the text
	Partial  bool   // there was no time to count all lines: there are more than Lines
}

// Lines reads the lines first to last of a text, counted from 1, or all lines from first on if last
// is less than first. It reads the whole text to count its lines, but keeps only those it returns:
// as many as have at most maxBytes bytes in the file. Content is empty if the first of them is
// longer, or if there is none. When the deadline of ctx is near, Lines stops counting.
func Lines(ctx context.Context, source io.Reader, first, last, maxBytes int) (Part, error) {
	block := make([]byte, 64<<10)
	n, err := fill(source, block)
	head := bytes.Clone(block[:min(n, HeadSize)])
	p := Part{}
	kind, unknown := detect(head, nil)
	r := lineReader{encoding: kind, first: first, last: last, maxBytes: maxBytes}
	switch {
	case err != nil:
		return p, err
	case errors.Is(unknown, ErrBinary):
		return p, unknown
	}
	mark := kind.mark(block[:n])
	for skip := mark; n > 0; skip = 0 {
		r.add(block[skip:n])
		if p.Partial = r.complete() && isNear(ctx); p.Partial {
			break
		}
		if err := ctx.Err(); err != nil {
			return p, err
		}
		if n, err = fill(source, block); err != nil {
			return p, err
		}
	}
	if r.open && !p.Partial {
		r.lines++
	}
	if p.Encoding, err = detect(head, r.content); err != nil {
		return p, err
	}
	p.Lines = r.lines
	if p.Content, err = p.Encoding.decode(r.content); err != nil {
		return p, err
	}
	p.Head, err = p.Encoding.decode(head[mark:])
	return p, err
}

// isNear reports whether the deadline is so near that counting must stop.
func isNear(ctx context.Context) bool {
	end, ok := ctx.Deadline()
	return ok && time.Until(end) < reserve
}

// reserve is the time for what follows after a text was read.
const reserve = 100 * time.Millisecond

// fill reads until data is full or the source ends.
func fill(source io.Reader, data []byte) (int, error) {
	n, err := io.ReadFull(source, data)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n, err
}

// A lineReader collects lines of a text that is added block by block. It works on the bytes of the
// file, so that only what is returned must be decoded. All blocks but the last have an even size.
type lineReader struct {
	encoding              Encoding
	first, last, maxBytes int

	content []byte
	whole   int  // size of the whole lines in content
	lines   int  // number of lines that have ended
	open    bool // the text does not end with a line end
	full    bool // a line did not fit
}

func (r *lineReader) add(block []byte) {
	for len(block) > 0 {
		end := r.encoding.afterLine(block)
		line := block[:max(end, 0)]
		if end < 0 {
			line = block
		}
		block = block[len(line):]
		r.keep(line)
		if r.open = end < 0; !r.open {
			r.lines++
			r.whole = len(r.content)
		}
	}
}

// keep adds a part of the current line to the content, if it is wanted. It drops a line that does
// not fit, and all after it.
func (r *lineReader) keep(part []byte) {
	number := r.lines + 1
	if r.full || number < r.first || r.last >= r.first && number > r.last {
		return
	}
	if r.full = len(r.content)+len(part) > r.maxBytes; r.full {
		r.content = r.content[:r.whole]
	} else {
		r.content = append(r.content, part...)
	}
}

// complete reports whether the content will not change any more.
func (r *lineReader) complete() bool { return r.full || r.last >= r.first && r.lines >= r.last }

// afterLine returns the offset after the first line end, or -1.
func (e Encoding) afterLine(data []byte) int {
	for at := 0; ; {
		n := bytes.IndexByte(data[at:], '\n')
		if n < 0 {
			return -1
		}
		at += n
		switch {
		case e == UTF16LE && at%2 == 0 && at+1 < len(data) && data[at+1] == 0:
			return at + 2
		case e == UTF16BE && at%2 == 1 && data[at-1] == 0, e != UTF16LE && e != UTF16BE:
			return at + 1
		}
		at++
	}
}
