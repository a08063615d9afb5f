package corpus

import (
	"bytes"
	"unicode/utf8"
)

// kind is what is known of the content of a file.
type kind uint8

const (
	unread     kind = iota // nobody has looked yet, or it is looked at in every search
	textual                // it is searched
	binary                 // it is not
	unreadable             // it could not be opened, or is no regular file
	link                   // a symbolic link, which is listed but never read
	removed                // the file is gone; only in lists of changes
)

const (
	headSize  = 8 << 10  // a NUL within so many bytes makes a file binary
	readAhead = 64 << 10 // what ripgrep reads at a time

	longestMark = 3 // bytes of a byte order mark
)

// An encoding is how the bytes of a file stand for characters.
type encoding uint8

const (
	plain        encoding = iota // as they are: UTF-8, or whatever it may be
	littleEndian                 // UTF-16
	bigEndian                    // UTF-16
)

// detect looks at the byte order mark, and returns how many bytes it takes.
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

// judge returns the part of a text that is searched: all of it, if there is no NUL in it.
func judge(text []byte) ([]byte, kind) {
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

// beforeZero returns how much of a text ripgrep searches that has a NUL: it reads piece by piece, searches whole lines, and
// ends with the piece before the one that the NUL is in.
func beforeZero(text []byte, zero int) int {
	lines, room := 0, readAhead // the lines before are searched, and so many bytes after them are read
	for read := 0; ; {
		end := lines + room
		if zero < end {
			return lines
		}
		if n := bytes.LastIndexByte(text[read:end], '\n'); n >= 0 {
			lines = read + n + 1
		} else {
			room *= 3 // for a line that is longer
		}
		read = end
	}
}

// decode appends UTF-16 as UTF-8 to b. What is no character becomes U+FFFD; an odd byte at the end does so if it is the last
// of all, and is left to the caller otherwise.
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

// character returns the character that data begins with, and its size. A size beyond the data says that its second half is missing.
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
