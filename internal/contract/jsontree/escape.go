package jsontree

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf8"
	"unsafe"
)

// AppendString writes a JSON string. Only what JSON demands is escaped; bytes
// that are not UTF-8 become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	return AppendText(dst, unsafe.Slice(unsafe.StringData(s), len(s))) // which is only read
}

// AppendText is AppendString for the bytes of a text, which it does not copy first.
func AppendText(dst, text []byte) []byte {
	dst = append(slices.Grow(dst, len(text)+room), '"')
	doubtful := uint64(highBits) // bytes beyond ASCII, until they are known to be UTF-8
	for len(text) >= wordSize {
		word := binary.LittleEndian.Uint64(text)
		end := len(dst)
		dst = dst[:end+wordSize] // to write all and keep some is faster than to write some
		binary.LittleEndian.PutUint64(dst[end:], word)
		marks := escaped(word) | word&doubtful
		if marks == 0 {
			text = text[wordSize:]
			continue
		}
		plain := bits.TrailingZeros64(marks) / 8
		dst, text = dst[:end+plain], text[plain:]
		if text[0] >= utf8.RuneSelf {
			text, doubtful = characters(text), 0
		} else {
			dst, text = appendEscape(dst, text[0]), text[1:]
		}
		if cap(dst)-len(dst) < len(text)+room {
			dst = slices.Grow(dst, len(text)+room)
		}
	}
	if doubtful != 0 {
		text = characters(text)
	}
	for _, c := range text {
		if c < ' ' || c == '"' || c == '\\' {
			dst = appendEscape(dst, c)
		} else {
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// characters gives a text with U+FFFD for each byte that is not UTF-8.
func characters(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	return []byte(string([]rune(string(text))))
}

const (
	room     = 8 // what stays free behind a text: for an escape and both quotes
	wordSize = 8
	each     = 0x0101010101010101
	highBits = 0x80 * each
)

// escaped marks the first byte of a word that must be escaped, by its high bit, and
// perhaps bytes after it. There is no mark if no byte must be.
func escaped(word uint64) uint64 {
	quote, backslash := word^'"'*each, word^'\\'*each
	control := (word - ' '*each) &^ word
	return (control | (quote-each)&^quote | (backslash-each)&^backslash) & highBits
}

// letters stand after a backslash for what they escape.
var letters = [256]byte{'"': '"', '\\': '\\', '\n': 'n', '\r': 'r', '\t': 't'}

func appendEscape(dst []byte, c byte) []byte {
	const hexDigits = "0123456789abcdef"
	if letter := letters[c]; letter != 0 {
		return append(dst, '\\', letter)
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}
