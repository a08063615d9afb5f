package jsontree_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"remit/internal/contract/jsontree"
)

// plainly writes a JSON string character by character. It is the reference for AppendString.
func plainly(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '"', r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r) // U+FFFD for invalid UTF-8
		}
	}
	return `"` + b.String() + `"`
}

// TestAppendString: every byte is written correctly at every position of a text.
func TestAppendString(t *testing.T) {
	for c := range 256 {
		for length := range 20 {
			for at := range length {
				text := []byte(strings.Repeat("x", length))
				text[at] = byte(c)
				if got, want := string(jsontree.AppendString([]byte("before"), string(text))), "before"+plainly(string(text)); got != want {
					t.Fatalf("%q is written as %s, want %s", text, got, want)
				}
			}
		}
	}
}

// FuzzAppendString: the output parses back to the text, and nothing is escaped without need.
func FuzzAppendString(f *testing.F) {
	for _, seed := range []string{"", "plain", "\x00\x1f !\"#[\\]\x7f", "über \u2028 日本語 😀", "\xff\xc3\xe2\x82", "\"\"\"\"\\\\\\\\", "\ufffd\xed\xa0\x80"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := string(jsontree.AppendString(nil, text))
		if want := plainly(text); got != want {
			t.Fatalf("%q is written as %s, want %s", text, got, want)
		}
		if again := string(jsontree.AppendText(nil, []byte(text))); again != got {
			t.Fatalf("the bytes of %q are written as %s", text, again)
		}
		var read string
		if err := json.Unmarshal([]byte(got), &read); err != nil || read != string([]rune(text)) {
			t.Fatalf("%s is read as %q, %v", got, read, err)
		}
	})
}

func BenchmarkAppendString(b *testing.B) {
	lesson := strings.Repeat("## A heading\n\nA sentence with `code`, a [link](other.md) and \"quotes\".\n\n", 100)
	for _, bb := range []struct{ name, text string }{
		{"word", "greeting"}, {"lesson", lesson}, {"lesson in JSON", plainly(lesson)}, {"Cyrillic", strings.Repeat("Урок о том, как читать файлы. ", 200)},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.text)))
			var out []byte
			for b.Loop() {
				out = jsontree.AppendString(out[:0], bb.text)
			}
		})
	}
}
