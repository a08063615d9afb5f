package corpus

import (
	"bytes"
	"unicode/utf8"
)

// kind is the kind of a file's content.
type kind uint8

const (
	unread     kind = iota // not read yet, or read anew by every search
	textual                // searched
	binary                 // not searched
	unreadable             // cannot be opened, or is not a regular file
	link                   // a symbolic link, which is listed but never read
	removed                // the file is gone; only in lists of changes
)

const (
	headSize  = 8 << 10  // a NUL within this many bytes makes a file binary
	readAhead = 64 << 10 // ripgrep's buffer size

	maxMarkSize = 3 // maximum size of a byte order mark
)

// An encoding is the character encoding of a file.
type encoding uint8

const (
	plain        encoding = iota // used as is: UTF-8 or any other
	littleEndian                 // UTF-16
	bigEndian                    // UTF-16
)

// detect determines the encoding by the byte order mark, and returns the size of the mark.
func detect(data []byte) (e encoding, mark int) {
	switch {
	case bytes.HasPrefix(data, []byte{0xEF, 0xBB, 0xBF}):
		return plain, 3
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}):
		return littleEndian, 2
	case bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		return bigEndian, 2
	}
	return plain, 0
}

// classify returns the kind of a text and the part of it to search. A text without a NUL is
// searched completely, a text with a NUL in the first headSize bytes not at all, and any other text
// up to where ripgrep stops.
func classify(text []byte) ([]byte, kind) {
	zero := bytes.IndexByte(text, 0)
	if zero < 0 {
		return text, textual
	}
	if zero < headSize {
		return nil, binary
	}
	text = text[:beforeZero(text, zero)]
	if len(text) == 0 {
		return nil, binary
	}
	return text, textual
}

// beforeZero returns how much of a text with a NUL ripgrep searches: it reads block by block,
// searches whole lines, and stops with the block before the one that contains the NUL.
func beforeZero(text []byte, zero int) int {
	lines, room := 0, readAhead // end of the searched lines, and size of the buffer after them
	for read := 0; ; {
		end := lines + room
		if zero < end {
			return lines
		}
		if n := bytes.LastIndexByte(text[read:end], '\n'); n >= 0 {
			lines = read + n + 1
		} else {
			room *= 3 // make room for a longer line
		}
		read = end
	}
}

// decode appends UTF-16 as UTF-8 to b. Invalid characters become U+FFFD. So does an odd byte at the
// end if last is set; otherwise it is returned in rest.
func (e encoding) decode(b, data []byte, last bool) (text []byte, rest []byte) {
	for len(data) >= 2 {
		r, size := e.character(data)
		if size > len(data) && !last {
			break
		}
		b = utf8.AppendRune(b, r)
		data = data[min(size, len(data)):]
	}
	if last && len(data) > 0 {
		return utf8.AppendRune(b, utf8.RuneError), nil
	}
	return b, data
}

// character returns the first character of data and its size. A size beyond the data means that the
// second half of a surrogate pair is missing.
func (e encoding) character(data []byte) (rune, int) {
	first := e.unit(data)
	if first < 0xD800 || first >= 0xE000 {
		return first, 2
	}
	if first >= 0xDC00 {
		return utf8.RuneError, 2
	}
	if len(data) < 4 {
		return utf8.RuneError, 4
	}
	second := e.unit(data[2:])
	if second < 0xDC00 || second >= 0xE000 {
		return utf8.RuneError, 2
	}
	return (first-0xD800)<<10 + (second - 0xDC00) + 0x10000, 4
}

func (e encoding) unit(data []byte) rune {
	if e == bigEndian {
		return rune(data[0])<<8 | rune(data[1])
	}
	return rune(data[1])<<8 | rune(data[0])
}
