package text

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestPrefilter puts a literal at every place of texts that are full of similar text.
func TestPrefilter(t *testing.T) {
	for _, c := range []struct{ literal, filler string }{
		{"q", "aQ"},
		{"xy", "xxyX"},
		{"lesson", "lessOn Lessen esson lesso"},
		{"zab", "zazbzaazb"},
		{"abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxy"},
		{"\xe4\xb8\x96", "\xe4\xb8\x97\xe5"},
	} {
		for _, fold := range []bool{false, true} {
			s := newPrefilter([]Literal{{Text: c.literal, Fold: fold}})
			spelling, filler := c.literal, strings.Repeat(c.filler, 100)[:120]
			if fold {
				spelling = strings.ToUpper(c.literal)
				filler = strings.NewReplacer("Q", "p", "X", "w", "O", "u").Replace(filler)
				filler = strings.ReplaceAll(filler, c.literal, "")
			}
			for place := range len(filler) {
				data := []byte(filler[:place] + spelling + filler[place:])
				if got, want := s.next(data, 0, nil) >= 0, true; got != want {
					t.Fatalf("%q in %q, fold %v: %v, want %v", c.literal, data, fold, got, want)
				}
				if got := s.next([]byte(filler), 0, nil); got >= 0 && !strings.Contains(filler, spelling) {
					t.Fatalf("%q in %q, fold %v: at %d, but it is not there", c.literal, filler, fold, got)
				}
			}
		}
	}
}

// byWindow is the oracle of a prefilter: it returns the first place of a line that contains any of
// the literals.
func byWindow(literals []Literal, data string) int {
	fold := strings.NewReplacer("\u212a", "k", "\u017f", "s")
	at := 0
	for line := range strings.Lines(data) {
		for _, l := range literals {
			if l.Fold && strings.Contains(lower(fold.Replace(line)), l.Text) || strings.Contains(line, l.Text) {
				return at
			}
		}
		at += len(line)
	}
	return -1
}

func TestPrefilterOfMany(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var literals []Literal
		for _, word := range rapid.SliceOfN(words(), 1, maxLiterals).Draw(t, "literals") {
			l := Literal{Text: word}
			if !strings.ContainsFunc(word, func(r rune) bool { return r > 127 }) && rapid.Bool().Draw(t, "fold") {
				l = Literal{Text: lower(word), Fold: true}
			}
			literals = append(literals, l)
		}
		s := newPrefilter(literals)
		if s == nil {
			t.Skip("a literal of k and s alone")
		}
		data := texts().Draw(t, "data") + rapid.StringOfN(rapid.SampledFrom([]rune("xyz\n")), 0, 200, -1).Draw(t, "more")
		want := byWindow(literals, data)
		got := map[string]int{"next": s.next([]byte(data), 0, nil), "crawl": s.scanBytes([]byte(data), 0, len(data))}
		if len(literals) == 1 && !literals[0].Fold {
			s.plain = []byte(literals[0].Text)
			got["plain"] = s.next([]byte(data), 0, nil)
		}
		for name, place := range got {
			if place >= 0 {
				place = lineStart([]byte(data), 0, place)
			}
			if place != want {
				t.Fatalf("%s of %+v in %q: in the line at %d, want %d", name, literals, data, place, want)
			}
		}
	})
}

// TestPrefilterAtTheEnd searches for literals that are cut off by the end of the text.
func TestPrefilterAtTheEnd(t *testing.T) {
	s := newPrefilter([]Literal{{Text: "end"}, {Text: "nd"}})
	for size := range 200 {
		data := bytes.Repeat([]byte("."), size)
		if at := s.next(data[:size:size], 0, nil); at >= 0 {
			t.Fatalf("in %d dots: %d", size, at)
		}
		whole := fmt.Append(data, "end")
		if at := s.next(whole[:size+2], 0, nil); at >= 0 {
			t.Fatalf("found at %d a literal that the end of %d bytes cuts off", at, size+2)
		}
		if at := s.next(whole, 0, nil); at < size {
			t.Fatalf("at %d, want %d", at, size)
		}
	}
}
