package corpus

import (
	"bytes"
	varint "encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"remit/internal/search/text"
)

// TestTrigrams checks that every text that contains a literal is a candidate, and that most others
// are not.
func TestTrigrams(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	texts := make([][]byte, 200)
	b := newGramBuilder(newClassTable())
	defer b.close()
	for i := range texts {
		texts[i] = make([]byte, random.IntN(2000))
		for k := range texts[i] {
			texts[i][k] = "abcdefghijklmnopqrstuvwxyzABCDEFGH \n_.0123456789\xc3\xa9\xe4\xb8\x96\xff"[random.IntN(54)]
		}
		if i%7 == 0 {
			texts[i] = append(texts[i], "this is common"...)
		}
		b.add(texts[i])
	}
	x := b.finish()
	defer x.release()
	if x.covered != len(texts) {
		t.Fatalf("%d texts are indexed", x.covered)
	}
	kept, searched := 0, 0
	for range 500 {
		from := texts[random.IntN(len(texts))]
		if len(from) < 10 {
			continue
		}
		at := random.IntN(len(from) - 8)
		literal := string(from[at : at+3+random.IntN(5)])
		some, ok := x.candidates(newTrigramQuery(newClassTable(), []text.Literal{{Text: literal}}))
		if !ok {
			continue
		}
		searched++
		kept += len(some)
		for i, content := range texts {
			if bytes.Contains(content, []byte(literal)) && !slices.Contains(some, uint32(i)) {
				t.Fatalf("text %d has %q but is not a candidate", i, literal)
			}
		}
	}
	if searched < 300 || kept > searched*len(texts)/4 {
		t.Errorf("%d searches left %d candidates of %d texts", searched, kept, len(texts))
	}
}

// TestTrigramQuery checks which literals trigrams can narrow.
func TestTrigramQuery(t *testing.T) {
	for _, tc := range []struct {
		needs        []text.Literal
		alternatives int
		foldTexts    bool
	}{
		{nil, 0, false},
		{[]text.Literal{{Text: "ab"}}, 0, false},
		{[]text.Literal{{Text: "abc"}, {Text: "ab"}}, 0, false},
		{[]text.Literal{{Text: "abc"}, {Text: "def"}}, 2, false},
		{[]text.Literal{{Text: "ask"}}, 1, false},
		{[]text.Literal{{Text: "abc"}, {Text: "ask", Fold: true}}, 2, true},
	} {
		d := newTrigramQuery(newClassTable(), tc.needs)
		if d == nil {
			d = &trigramQuery{}
		}
		if len(d.alternatives) != tc.alternatives || d.foldTexts != tc.foldTexts {
			t.Errorf("%v: %+v", tc.needs, d)
		}
	}
}

// TestNumbers checks that lists are decoded as they were encoded.
func TestNumbers(t *testing.T) {
	var b []byte
	want := []uint32{0, 1, 2, 127, 128, 129, 255, 300, 16383, 16384, 16600, 1 << 20, 1<<20 + 1, 1 << 28, 1<<32 - 2}
	before := ^uint32(0)
	for _, n := range want {
		room := make([]byte, 5)
		size := varint.PutUvarint(room, uint64(n-before))
		if size != int(sizeOf(n-before)) {
			t.Errorf("%d takes %d bytes, not %d", n-before, size, sizeOf(n-before))
		}
		b, before = append(b, room[:size]...), n
	}
	if got := numbersOf(b); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if got := intersect([]uint32{1, 3, 128, 300, 301, 1 << 28, 1<<32 - 1}, b); fmt.Sprint(got) != "[1 128 300 268435456]" {
		t.Errorf("%v", got)
	}
	if got := union([]uint32{1, 3, 5}, []uint32{2, 3, 9}); fmt.Sprint(got) != "[1 2 3 5 9]" {
		t.Errorf("%v", got)
	}
}
