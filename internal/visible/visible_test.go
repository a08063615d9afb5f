package visible_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"remit/internal/visible"
)

func TestTextAndLine(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, want, line string }{
		"letters":            {text: `Grüße, 漢字, कि, "x" \n`, want: `Grüße, 漢字, कि, "x" \n`},
		"line breaks":        {text: "a\n\tb", want: "a\n\tb", line: `a\n\tb`},
		"carriage return":    {text: "good\rbad\r\n", want: "good\\rbad\\r\n", line: `good\rbad\r\n`},
		"CSI":                {text: "\x1b[2J\x1b[8mx", want: `\x1b[2J\x1b[8mx`},
		"OSC 8":              {text: "\x1b]8;;http://evil\x1b\\x\x1b]8;;\a", want: `\x1b]8;;http://evil\x1b\x\x1b]8;;\a`},
		"OSC 52":             {text: "\x1b]52;c;cm0gLXJm\x07", want: `\x1b]52;c;cm0gLXJm\a`},
		"other C0":           {text: "\x00\b\v\f\x1f", want: `\x00\b\v\f\x1f`},
		"delete":             {text: "a\x7f", want: `a\u007f`},
		"C1":                 {text: "\u0080\u0085\u009b31m\u009d", want: `\u0080\u0085\u009b31m\u009d`},
		"C1 as a byte":       {text: "\x9b31m", want: `\x9b31m`},
		"not UTF-8":          {text: "a\xff\xc3", want: `a\xff\xc3`},
		"a half pair":        {text: "\xed\xa0\x80", want: `\xed\xa0\x80`},
		"directions":         {text: "\u202egnp\u2066\u2069\u200f\u061c", want: `\u202egnp\u2066\u2069\u200f\u061c`},
		"no width":           {text: "a\u200bb\u200c\u200d\u2060\ufeff\u00ad", want: `a\u200bb\u200c\u200d\u2060\ufeff\u00ad`},
		"line separators":    {text: "\u2028\u2029", want: `\u2028\u2029`},
		"private use":        {text: "\ue000\U000f0000", want: `\ue000\udb80\udc00`},
		"unassigned":         {text: "\u0378\U000e0fff", want: `\u0378\udb43\udfff`},
		"tags":               {text: "\U000e0041", want: `\udb40\udc41`},
		"blank letters":      {text: "\u115f\u1160\u3164\uffa0\u2800", want: `\u115f\u1160\u3164\uffa0\u2800`},
		"Mongolian":          {text: "\u180b\u180c\u180d\u180e\u180f", want: `\u180b\u180c\u180d\u180e\u180f`},
		"more that is blank": {text: "a\u034f\u17b4\ufe00\U000e0100", want: `a\u034f\u17b4\ufe00\udb40\udd00`},
		"emoji":              {text: "⚠\ufe0f ❤\ufe0e 1\ufe0f\u20e3 😀", want: "⚠\ufe0f ❤\ufe0e 1\ufe0f\u20e3 😀"},
		"not an emoji":       {text: "a\ufe0f ⚠\ufe0f\ufe0f \ufe0f", want: `a\ufe0f ⚠` + "\ufe0f" + `\ufe0f \ufe0f`},
		"four marks":         {text: "a" + strings.Repeat("\u0301", 4) + "b\u0301", want: "a" + strings.Repeat("\u0301", 4) + "b\u0301"},
		"seven marks":        {text: "a" + strings.Repeat("\u0301", 7), want: "a" + strings.Repeat("\u0301", 4) + strings.Repeat(`\u0301`, 3)},
		"the letter itself":  {text: "\ufffd", want: "\ufffd"},
		"nothing":            {},
	} {
		if tc.line == "" {
			tc.line = tc.want
		}
		if got := visible.Text(tc.text); got != tc.want {
			t.Errorf("%s: text %q, want %q", name, got, tc.want)
		}
		if got := visible.Line(tc.text); got != tc.line {
			t.Errorf("%s: line %q, want %q", name, got, tc.line)
		}
	}
}

func TestIndex(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": -1, "añ字": -1, "añ\u202e": 3, "a\tb": 1, "\nb": 0, "b\xff": 1} {
		if got := visible.Index(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// TestWriter checks that a write reports the size of what it was given, and errors of the terminal.
func TestWriter(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := &visible.Writer{Terminal: &out}
	if n, err := w.Write([]byte("a\x1b[2Jb\n")); n != 7 || err != nil || out.String() != `a\x1b[2Jb`+"\n" {
		t.Errorf("%d, %v, %q", n, err, &out)
	}
	gone := errors.New("gone")
	if n, err := (&visible.Writer{Terminal: broken{gone}}).Write([]byte("a")); n != 0 || !errors.Is(err, gone) {
		t.Errorf("%d, %v", n, err)
	}
}

type broken struct{ error }

func (b broken) Write([]byte) (int, error) { return 0, b.error }

// FuzzVisible checks that the result has no hidden character, that visible text does not change,
// that a second pass changes nothing, and that JSON keeps its meaning.
func FuzzVisible(f *testing.F) {
	for _, seed := range []string{
		"", "plain\n\t", "\x1b]8;;x\a", "\u009b2J\x9b", "\u202e\u200b\u2066", "\u3164\u2800\u115f", "\U000e0041\ue000\u0378",
		"a" + strings.Repeat("\u0301", 9), "⚠\ufe0f1\ufe0f\u20e3\ufe0f", "\xff\ufe0f", `{"a":"` + "\u202e\x7f\U000e0041" + `\\"}`, "[\"\\\\\u200b\"]\r\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, escape := range map[string]func(string) string{"text": visible.Text, "line": visible.Line} {
			got := escape(text)
			checkShown(t, got, name == "text")
			if again := escape(got); again != got {
				t.Errorf("%s: %q becomes %q", name, got, again)
			}
		}
		if line := visible.Line(text); (visible.Index(text) < 0) != (line == text) || visible.Index(line) >= 0 {
			t.Errorf("%q: the index is %d, the line %q", text, visible.Index(text), line)
		}
		var before, after any
		if !utf8.ValidString(text) || strings.Contains(text, "\r") || json.Unmarshal([]byte(text), &before) != nil {
			return
		}
		if err := json.Unmarshal([]byte(visible.Text(text)), &after); err != nil || !reflect.DeepEqual(before, after) {
			t.Errorf("%q becomes %q: %v", text, visible.Text(text), err)
		}
	})
}

// checkShown finds hidden characters by the general categories of Unicode, unlike the code.
func checkShown(t *testing.T, text string, breaks bool) {
	t.Helper()
	marks := 0
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		if marks++; !unicode.In(r, unicode.Mn, unicode.Me) {
			marks = 0
		}
		switch {
		case breaks && (r == '\n' || r == '\t'):
		case r == utf8.RuneError && size == 1, unicode.In(r, unicode.C, unicode.Zl, unicode.Zp),
			!unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z),
			strings.ContainsRune("\u115f\u1160\u3164\uffa0\u2800\u180b\u180c\u180d\u180e\u180f", r), marks > 4:
			t.Fatalf("%q has %U", text, r)
		}
	}
}

// BenchmarkText measures lines of a program, and of a language beyond ASCII.
func BenchmarkText(b *testing.B) {
	for name, line := range map[string]string{
		"ascii": "\tif err := root.ExecuteContextC(ctx); err != nil { // as always\n", "han": strings.Repeat("漢字", 10) + "\n",
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				visible.Text(line)
			}
		})
	}
}
