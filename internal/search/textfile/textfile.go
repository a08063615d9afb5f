// Package textfile reads text files in common encodings as UTF-8. It tells the encoding by the
// bytes alone, and refuses a file if it is in doubt.
package textfile

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// An Encoding is the name of a character encoding, as the IANA registers it.
type Encoding string

// The encodings that are recognized.
const (
	UTF8        Encoding = "utf-8"
	UTF16LE     Encoding = "utf-16le" // with a byte order mark, or mostly ASCII
	UTF16BE     Encoding = "utf-16be"
	Latin1      Encoding = "iso-8859-1"
	Windows1252 Encoding = "windows-1252"
)

var (
	// ErrBinary is returned for a file that is not text.
	ErrBinary = errors.New("the file is binary")
	// ErrMixed is returned for a text of which some parts are UTF-8 and some are not.
	ErrMixed = errors.New("some parts of the file are UTF-8 and some are not")
)

// HeadSize is how many bytes of a file tell whether it is binary: it is if they contain a NUL and
// are not UTF-16. A NUL that comes later is a character of the text.
const HeadSize = 8 << 10

// Decode returns the content of a file as UTF-8, and its encoding. Invalid UTF-16 becomes U+FFFD.
func Decode(data []byte) (text []byte, e Encoding, err error) {
	if e, err = detect(data[:min(len(data), HeadSize)], data); err != nil {
		return nil, "", err
	}
	text, err = e.decode(data[e.mark(data):])
	return text, e, err
}

// detect returns the encoding of a file that begins with head, and of which part is known.
func detect(head, part []byte) (Encoding, error) {
	switch {
	case bytes.HasPrefix(head, []byte{0xFF, 0xFE, 0, 0}): // UTF-32
		return "", ErrBinary
	case bytes.HasPrefix(head, []byte{0xFF, 0xFE}):
		return UTF16LE, nil
	case bytes.HasPrefix(head, []byte{0xFE, 0xFF}):
		return UTF16BE, nil
	case bytes.IndexByte(head, 0) >= 0:
		return withoutMark(head)
	case utf8.Valid(wholeRunes(head)) && utf8.Valid(part):
		return UTF8, nil
	}
	return singleByte(head, part)
}

// mark returns the size of the byte order mark that does not belong to the text. The one of UTF-8
// stays, because UTF-8 is returned byte for byte.
func (e Encoding) mark(data []byte) int {
	if e == UTF16LE && bytes.HasPrefix(data, []byte{0xFF, 0xFE}) || e == UTF16BE && bytes.HasPrefix(data, []byte{0xFE, 0xFF}) {
		return 2
	}
	return 0
}

// decode converts a text to UTF-8.
func (e Encoding) decode(data []byte) ([]byte, error) {
	var from encoding.Encoding
	switch e {
	case UTF16LE:
		from = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case UTF16BE:
		from = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	case Latin1, Windows1252:
		from = charmap.Windows1252 // the same for all bytes that Latin1 can have here
	default:
		return data, nil
	}
	return from.NewDecoder().Bytes(data)
}

// withoutMark returns the byte order of UTF-16 without a byte order mark, if that is certain: all
// characters are text, and at least half of them are ASCII. In the other byte order, ASCII
// characters would be characters that no text consists of.
func withoutMark(head []byte) (Encoding, error) {
	for _, e := range []Encoding{UTF16LE, UTF16BE} {
		text, err := e.decode(head[:len(head)&^3]) // a surrogate pair at the end may still be cut
		if err != nil {
			return "", err
		}
		text = bytes.TrimSuffix(text, []byte("\uFFFD"))
		all, ascii, isText := 0, 0, len(text) > 0
		for _, r := range string(text) {
			isText = isText && r != utf8.RuneError && r != 0xFFFE && (r >= 0x80 || isTextByte(byte(r)))
			all++
			if r < utf8.RuneSelf {
				ascii++
			}
		}
		if isText && 2*ascii >= all {
			return e, nil
		}
	}
	return "", ErrBinary
}

// wholeRunes returns data without a character that is cut off at its end.
func wholeRunes(data []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(data); n++ {
		if last := data[len(data)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return data[:len(data)-n]
			}
			break
		}
	}
	return data
}

// isTextByte reports whether texts contain an ASCII character: all but control characters that do
// not format text. ESC is allowed: logs have colors.
func isTextByte(b byte) bool {
	return b >= 0x20 && b != 0x7F || b >= '\t' && b <= '\r' || b == 0x1B
}

// singleByte returns the encoding of a text that is not UTF-8 and has one byte per character.
func singleByte(head, part []byte) (Encoding, error) {
	e := Latin1
	for _, data := range [][]byte{wholeRunes(head), part} {
		for len(data) > 0 {
			r, size := utf8.DecodeRune(data)
			b := data[0]
			switch data = data[size:]; {
			case size > 1:
				return "", ErrMixed
			case b == 0x81 || b == 0x8D || b == 0x8F || b == 0x90 || b == 0x9D: // undefined
				return "", ErrBinary
			case r != utf8.RuneError && b != 0 && !isTextByte(b):
				return "", ErrBinary
			case b >= 0x80 && b < 0xA0:
				e = Windows1252
			}
		}
	}
	return e, nil
}
