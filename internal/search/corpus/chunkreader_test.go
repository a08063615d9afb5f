package corpus

import (
	"bytes"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// inChunks returns the lines to search of all chunks, and checks their places and their context.
func inChunks(t *testing.T, content string, context, size, maxLine int) (lines []string, ok bool) {
	t.Helper()
	var stop atomic.Bool
	p := newChunkReader(iotest.OneByteReader(strings.NewReader(content)), context, &stop, size, maxLine)
	if p == nil {
		return nil, false
	}
	for p.next() {
		if p.lines != len(lines) {
			t.Fatalf("got %d lines before, want %d", len(lines), p.lines)
		}
		if p.from > 0 && p.data[p.from-1] != '\n' {
			t.Fatalf("%q is not a line", p.data[p.from:])
		}
		for line := range bytes.Lines(p.data[p.from:p.to]) {
			lines = append(lines, strings.TrimSuffix(string(line), "\n"))
		}
		before := bytes.Count(p.data[:p.from], []byte{'\n'})
		if maxLine > len(content) && before < min(context, p.lines) {
			t.Fatalf("%d lines of context are before line %d", before, p.lines+1)
		}
		after := bytes.Count(p.data[p.to:], []byte{'\n'})
		if maxLine > len(content) && !p.ended && after < context {
			t.Fatalf("%d lines of context are after", after)
		}
	}
	return lines, true
}

// wanted returns the lines that inChunks should return.
func wanted(content string) (lines []string, ok bool) {
	e, mark := detect([]byte(content))
	text := []byte(content)[mark:]
	if e != plain {
		text, _ = e.decode(nil, text, true)
	}
	if zero := bytes.IndexByte(text, 0); zero >= 0 {
		if zero < headSize {
			return nil, false
		}
		text = text[:bytes.LastIndexByte(text[:zero], '\n')+1]
	}
	for line := range bytes.Lines(text) {
		lines = append(lines, strings.TrimSuffix(string(line), "\n"))
	}
	return lines, true
}

func compareChunks(t *testing.T, content string, context, size int) {
	t.Helper()
	got, gotOK := inChunks(t, content, context, size, 1<<20)
	want, wantOK := wanted(content)
	if gotOK != wantOK {
		t.Fatalf("text: %v, wanted %v", gotOK, wantOK)
	}
	same(t, "pieces", got, want)
}

// TestChunkReader checks that a text in chunks has the same lines as the text.
func TestChunkReader(t *testing.T) {
	little, big := utf16("one\ntwo ö \U0001f600\n\nlast")
	for _, content := range []string{
		"", "\n", "one", "one\n", "one\ntwo", "one\r\ntwo\r\n\r\n", strings.Repeat("a line\n", 3000), strings.Repeat("x", 5000) + "\nlast",
		"\xef\xbb\xbfone\ntwo", "\xff\xfe" + little, "\xfe\xff" + big, "\xff\xfe" + little + "x", "one\x00\n",
		strings.Repeat("a line\n", 3000) + "here \x00 it ends\nno more", strings.Repeat("a line\n", 1172) + "\x00",
	} {
		for _, context := range []int{0, 1, 3} {
			for _, size := range []int{16, 64, 1000} {
				compareChunks(t, content, context, size)
			}
		}
	}
}

// TestMaxLineLength checks that only the beginning of a line that is too long is searched, and that
// it counts as one line.
func TestMaxLineLength(t *testing.T) {
	content := "one\n" + strings.Repeat("x", 1000) + "\nthree\n" + strings.Repeat("y", 500)
	for _, context := range []int{0, 2} {
		got, _ := inChunks(t, content, context, 32, 64)
		if len(got) != 4 || got[0] != "one" || got[2] != "three" || !strings.HasPrefix(got[1], "xxxxxxxx") || len(got[1]) > 200 || !strings.HasPrefix(got[3], "yyy") {
			t.Errorf("%q", got)
		}
	}
}

// FuzzChunkReader checks that the lines of the chunks are those of the content, whatever the
// content and the chunk size.
func FuzzChunkReader(f *testing.F) {
	f.Add("one\ntwo\nthree", uint8(1), uint8(10))
	f.Add("\xff\xfeo\x00n\x00\n\x00\x00\xd8", uint8(2), uint8(1))
	f.Add(strings.Repeat("a\n", 5000)+"\x00", uint8(0), uint8(200))
	f.Fuzz(func(t *testing.T, content string, context, size uint8) {
		compareChunks(t, content, int(context%5), 8+int(size))
	})
}

// FuzzTexts checks that classifying and decoding never fail, and that decoding gives valid UTF-8.
func FuzzTexts(f *testing.F) {
	f.Add("\xff\xfea\x00\x00\xd8\x01", 5)
	f.Add("text\x00", 1)
	f.Fuzz(func(t *testing.T, content string, at int) {
		text, is := decoded([]byte(content))
		if is != textual && is != binary || is == binary && text != nil {
			t.Fatal(is, text)
		}
		part, isCut := window([]byte(content), max(0, min(at, len(content))))
		delivered, cutMore := validate(string(part))
		isWhole := !isCut && !cutMore && utf8.ValidString(content)
		if len(delivered) > maxLineBytes || delivered != strings.ToValidUTF8(delivered, "?") || isWhole && delivered != content {
			t.Fatalf("%q of %q", delivered, content)
		}
	})
}
