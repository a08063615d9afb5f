package textfile

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
)

// utf16 encodes a text in both byte orders, without a byte order mark.
func utf16(t testing.TB, text string) (little, big string) {
	t.Helper()
	little, err := unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	big, err = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	return little, big
}

func TestDecode(t *testing.T) {
	little, big := utf16(t, "Grüße 😀\r\nsecond\n")
	chinese, _ := utf16(t, "世界和平")
	long := strings.Repeat("text\n", 2000) // longer than the head
	for _, tc := range []struct {
		name, data string
		want       string
		encoding   Encoding
		err        error
	}{
		{"empty", "", "", UTF8, nil},
		{"ASCII", "abc\n", "abc\n", UTF8, nil},
		{"UTF-8", "Grüße 😀\n", "Grüße 😀\n", UTF8, nil},
		{"a mark of UTF-8 stays", "\xef\xbb\xbfabc", "\ufeffabc", UTF8, nil},
		{"little endian with a mark", "\xff\xfe" + little, "Grüße 😀\r\nsecond\n", UTF16LE, nil},
		{"big endian with a mark", "\xfe\xff" + big, "Grüße 😀\r\nsecond\n", UTF16BE, nil},
		{"little endian without", little, "Grüße 😀\r\nsecond\n", UTF16LE, nil},
		{"big endian without", big, "Grüße 😀\r\nsecond\n", UTF16BE, nil},
		{"Chinese with a mark", "\xff\xfe" + chinese, "世界和平", UTF16LE, nil},
		{"half a pair", "\xff\xfea\x00\x00\xd8", "a\ufffd", UTF16LE, nil},
		{"an odd byte", "\xff\xfea\x00b", "a\ufffd", UTF16LE, nil},
		{"UTF-32", "\xff\xfe\x00\x00a\x00\x00\x00", "", "", ErrBinary},
		{"zeros", "a\x00b", "", "", ErrBinary},
		{"a program", "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x3e\x00", "", "", ErrBinary},
		{"Latin-1", "Gr\xfc\xdfe\n", "Grüße\n", Latin1, nil},
		{"Windows-1252", "\x84Gr\xfc\xdfe\x93 5 \x80", "„Grüße“ 5 €", Windows1252, nil},
		{"an undefined byte", "Gr\xfc\x81", "", "", ErrBinary},
		{"a control character", "Gr\xfc\x02", "", "", ErrBinary},
		{"colors of a log", "\x1b[31mGr\xfc\xdfe\x1b[0m", "\x1b[31mGrüße\x1b[0m", Latin1, nil},
		{"UTF-8 with a broken byte", "Grüße \xff", "", "", ErrMixed},
		{"a late NUL", long + "\x00\n", long + "\x00\n", UTF8, nil},
		{"a late NUL in Latin-1", long + "\xfc\x00\n", long + "ü\x00\n", Latin1, nil},
		{"a late broken byte", "ü" + long + "\xff", "", "", ErrMixed},
		{"a character across the head", strings.Repeat("x", HeadSize-1) + "ü", strings.Repeat("x", HeadSize-1) + "ü", UTF8, nil},
	} {
		text, encoding, err := Decode([]byte(tc.data))
		if string(text) != tc.want || encoding != tc.encoding || !errors.Is(err, tc.err) || (err == nil) != (tc.err == nil) {
			t.Errorf("%s: %.40q, %s, %v; want %.40q, %s, %v", tc.name, text, encoding, err, tc.want, tc.encoding, tc.err)
		}
	}
}

// compareLines compares some lines of a file with those of the whole decoded text.
func compareLines(t testing.TB, data string, first, limit int) {
	t.Helper()
	got, err := Lines(t.Context(), iotest.OneByteReader(strings.NewReader(data)), first, first+limit-1, 1<<20)
	whole, encoding, wrong := Decode([]byte(data))
	if wrong != nil || err != nil {
		if wrong == nil && !errors.Is(err, ErrMixed) { // the head alone may be in doubt
			t.Fatalf("%.40q: %v", data, err)
		}
		return
	}
	all := strings.SplitAfter(string(whole), "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	from, to := min(first-1, len(all)), len(all)
	if limit > 0 {
		to = min(from+limit, to)
	}
	if want := strings.Join(all[from:to], ""); string(got.Content) != want || got.Lines != len(all) || got.Partial {
		t.Errorf("%.40q (%s) from %d, limit %d: %.40q of %d lines, want %.40q of %d", data, encoding, first, limit, got.Content, got.Lines, want, len(all))
	}
}

func TestLines(t *testing.T) {
	little, big := utf16(t, "one\ntwo Ċ\r\n\u0a0a\n\nlast")
	long := strings.Repeat("y", 200<<10) // longer than a block
	for _, data := range []string{
		"one\ntwo\nthree\n", "one\ntwo\nthree", "\n\n\n", "a\r\nb\r\n", long + "\n" + long + "\nend", "x", "", "\xef\xbb\xbfa\nb",
		"Gr\xfc\xdfe\nzwei\n\x80", little, big, "\xff\xfe" + little, "\xfe\xff" + big, "\xff\xfe" + little + "x",
	} {
		for _, first := range []int{1, 2, 3, 5, 7} {
			for _, limit := range []int{0, 1, 2} {
				compareLines(t, data, first, limit)
			}
		}
	}
}

// TestLinesAreBounded checks that a range ends with the last line that fits.
func TestLinesAreBounded(t *testing.T) {
	line := strings.Repeat("z", 99) + "\n"
	const size = 1 << 20
	p, err := Lines(t.Context(), strings.NewReader(strings.Repeat(line, 3*size/100)), 2, 0, size)
	if n := len(p.Content); err != nil || n > size || n < size-100 || n%100 != 0 || p.Lines != 3*size/100 {
		t.Errorf("%d bytes, %d lines, %v", n, p.Lines, err)
	}
	p, err = Lines(t.Context(), strings.NewReader(strings.Repeat("z", size+1)+"\nb\n"), 1, 0, size)
	if err != nil || len(p.Content) > 0 || p.Lines != 2 {
		t.Errorf("%d bytes, %d lines, %v", len(p.Content), p.Lines, err)
	}
}

// TestLinesStopCounting checks that lines are not counted to the end if there is no time.
func TestLinesStopCounting(t *testing.T) {
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(time.Hour))
	defer cancel()
	data := strings.Repeat("a line\n", 100_000)
	if p, err := Lines(ctx, strings.NewReader(data), 1, 1, 1<<20); err != nil || p.Partial || p.Lines != 100_000 {
		t.Errorf("with time: %d lines, partial %v, %v", p.Lines, p.Partial, err)
	}
	p, err := Lines(nearDeadline{t.Context()}, strings.NewReader(data), 2, 3, 1<<20)
	if err != nil || string(p.Content) != "a line\na line\n" || !p.Partial || p.Lines < 3 || p.Lines >= 100_000 {
		t.Errorf("without time: %q, %d lines, partial %v, %v", p.Content, p.Lines, p.Partial, err)
	}
}

// nearDeadline is a context whose deadline is near, but does not pass.
type nearDeadline struct{ context.Context }

func (nearDeadline) Deadline() (time.Time, bool) { return time.Now(), true }

// FuzzDecode checks that decoding gives valid UTF-8 except for errors, and that lines of the file
// are those of the decoded text.
func FuzzDecode(f *testing.F) {
	little, big := utf16(f, "one\ntwo Ċ\r\n\u0a0a\n")
	for _, seed := range []string{"", "a\nb", "Gr\xfc\xdfe\n", "\x80", little, big, "\xff\xfe" + little + "\x00\xd8", "\xfe\xff" + big + "x", "a\x00b"} {
		f.Add(seed, 1, 1)
	}
	f.Fuzz(func(t *testing.T, data string, first, limit int) {
		text, encoding, err := Decode([]byte(data))
		if err == nil && (!utf8.Valid(text) || encoding == "") || err != nil && (text != nil || encoding != "") {
			t.Fatalf("%q: %q, %s, %v", data, text, encoding, err)
		}
		compareLines(t, data, 1+max(0, first%9), max(0, limit%9))
	})
}
