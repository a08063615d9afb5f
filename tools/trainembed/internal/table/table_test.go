package table

import (
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"remit/internal/search/model"
	"remit/internal/search/tokenize"
)

// sample returns a small table: words with different directions, one with twice the weight.
func sample(t *testing.T) string {
	t.Helper()
	lexicon, err := NewLexicon([]Key{
		{"cache", 0, 60},
		{"cach", 0, 0},
		{"request", 1, 60},
		{"http", 2, 50},
		{"heavy", 3, 70},
		{"café", 4, 0},
	})
	if err != nil {
		t.Fatal(err)
	}
	vectors := make([]float32, 5*8)
	for row := range 5 {
		vectors[row*8+row] = 1
	}
	vectors[3*8+3] = -2
	table, err := lexicon.Encode(vectors, 8)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestSample: the table in the tests of package model equals what this package writes. To write it
// again after a change of the format, set WRITE_SAMPLE=1.
func TestSample(t *testing.T) {
	const file = "../../../../internal/search/model/testdata/sample.bin"
	if os.Getenv("WRITE_SAMPLE") == "1" {
		if err := os.WriteFile(file, []byte(sample(t)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	read, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if sample(t) != string(read) {
		t.Errorf("%s is another table than %q", file, sample(t))
	}
}

func TestGenuine(t *testing.T) {
	table := sample(t)
	last := len(table) - 1
	for text, want := range map[string]bool{table: true, table[:last] + "x": false, table[:len(magic)]: false, "": false} {
		if Genuine(text) != want {
			t.Errorf("Genuine(%q) is not %v", text, want)
		}
	}
}

func TestOutOfBounds(t *testing.T) {
	for _, k := range []Key{{Word: "a", Row: -1}, {Word: "a", Row: maxRows}, {Word: strings.Repeat("a", 256)}} {
		if _, err := NewLexicon([]Key{k}); err == nil {
			t.Errorf("a lexicon holds %.10q in row %d", k.Word, k.Row)
		}
	}
	lexicon, err := NewLexicon([]Key{{Word: "a", Row: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ numbers, dim int }{"no dimensions": {0, 0}, "half a row": {20, 8}, "too few rows": {8, 8}, "too many": {8 * (maxRows + 1), 8}} {
		if _, err := lexicon.Encode(make([]float32, tc.numbers), tc.dim); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestLongText: a text whose weights exceed a lane is still summed correctly.
func TestLongText(t *testing.T) {
	lexicon, _ := NewLexicon(manyWords(3000))
	vectors := make([]float32, 3000*8)
	for row := range 3000 {
		vectors[row*8] = 1
		vectors[row*8+1] = -1
	}
	table, err := lexicon.Encode(vectors, 8)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := model.Parse(table)
	var text strings.Builder
	for _, k := range manyWords(3000) {
		text.WriteString(k.Word + " ")
	}
	got := m.Embed(text.String())
	if want := float32(math.Sqrt(.5)); math.Abs(float64(got[0]-want)) > 1e-6 || got[1] != -got[0] || got[2] != 0 {
		t.Errorf("got %v", got)
	}
}

func manyWords(n int) []Key {
	keys := make([]Key, n)
	for i := range keys {
		keys[i] = Key{Word: strings.Map(func(r rune) rune { return r - '0' + 'a' }, strings.Repeat("9", i%7+1)+strconv.Itoa(i)), Row: i}
	}
	slices.SortFunc(keys, func(a, b Key) int { return strings.Compare(a.Word, b.Word) })
	return slices.CompactFunc(keys, func(a, b Key) bool { return a.Word == b.Word })
}

// TestManyRows: the last row of the largest table has the right weight.
func TestManyRows(t *testing.T) {
	const rows, dim = 1 << 16, 8
	keys, vectors := make([]Key, rows), make([]float32, rows*dim)
	for row := range keys {
		keys[row] = Key{Word: "w" + strings.Repeat("x", row>>12) + string(rune('a'+row&15)) + string(rune('a'+row>>4&15)) + string(rune('a'+row>>8&15)), Row: row}
		vectors[row*dim+row%dim] = float32(row%5 + 1)
	}
	lexicon, err := NewLexicon(keys)
	if err != nil {
		t.Fatal(err)
	}
	table, err := lexicon.Encode(vectors, dim)
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.Parse(table)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []int{0, 1<<15 - 1, 1 << 15, 1<<15 + 7, rows - 2, rows - 1} {
		v := m.Embed(keys[row].Word + " " + keys[3].Word) // weight 4, in direction 3
		if got, want := float64(v[row%dim]/v[3]), float64(row%5+1)/4; row%dim != 3 && math.Abs(got-want) > .03 {
			t.Errorf("row %d weighs %.3f of row 3, not %.3f", row, got, want)
		}
	}
}

// TestLexiconIsAMap: lookup finds every word of the lexicon and no other.
func TestLexiconIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.MapOf(rapid.StringMatching(`[a-zж]{1,12}`), rapid.IntRange(0, 4095)).Draw(t, "rows")
		var keys []Key
		for word, row := range rows {
			keys = append(keys, Key{Word: word, Row: row})
		}
		l, err := NewLexicon(keys)
		if err != nil {
			t.Fatal(err)
		}
		for word, row := range rows {
			if got := l.Tokens(nil, word, 1); len(got) != 1 || int(got[0].Row) != row || got[0].Factor != model.UnitFactor {
				t.Fatalf("%q is in row %d, found %v", word, row, got)
			}
		}
		other := rapid.StringMatching(`[a-zж]{1,12}`).Draw(t, "other")
		_, known := rows[other]
		_, stem := rows[tokenize.Stem(other)]
		if found := l.HasKnownWord(other); found != (known || stem) {
			t.Fatalf("%q was found: %v", other, found)
		}
	})
}
