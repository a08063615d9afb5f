package train

import (
	"fmt"
	"iter"
	"math"
	"runtime"
	"strings"
	"testing"

	"remit/internal/search/model"
	"remit/tools/trainembed/internal/pairs"
)

// tiny returns options for a very short training.
func tiny() Options {
	o := Defaults()
	o.Dim, o.Rows, o.Own, o.Sources, o.Batch, o.Group, o.Epochs, o.Rate = 16, 300, 3, 1, 128, 16, 8, .02
	return o
}

// topics returns pairs that share no word: each topic has different words for questions and
// answers.
func topics(n int) []pairs.Pair {
	r := seeded(7)
	list := make([]pairs.Pair, n)
	for i := range list {
		topic := r.below(20)
		list[i] = pairs.Pair{
			Kind: []string{"go", "doc"}[i%2], Source: fmt.Sprint("source", i%5),
			A: fmt.Sprintf("%s %s noise%s", word('q', topic, r.below(4)), word('q', topic, r.below(4)), word('n', r.below(20), 0)),
			B: fmt.Sprintf("%s %s %s", word('a', topic, r.below(4)), word('a', topic, r.below(4)), word('n', r.below(20), 0)),
		}
	}
	return list
}

func word(kind rune, topic, variant int) string {
	return strings.Repeat(string(kind), 2) + string(rune('a'+topic)) + string(rune('k'+variant))
}

func sequence(list []pairs.Pair) iter.Seq2[pairs.Pair, error] {
	return func(yield func(pairs.Pair, error) bool) {
		for _, p := range list {
			if !yield(p, nil) {
				return
			}
		}
	}
}

func noGlove(func(string) bool) (map[string][]float32, error) {
	return map[string][]float32{"qqak": make([]float32, gloveDim)}, nil
}

func trainTiny(t *testing.T, list []pairs.Pair, o Options) string {
	t.Helper()
	table, err := Table(t.Context(), sequence(list), noGlove, o)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestTableLearns: the words of a question get vectors near those of its answers.
func TestTableLearns(t *testing.T) {
	m, err := model.Parse(trainTiny(t, topics(4000), tiny()))
	if err != nil {
		t.Fatal(err)
	}
	right := 0
	for topic := range 20 {
		question := m.Embed(word('q', topic, 0) + " " + word('q', topic, 1))
		best, found := -2.0, -1
		for other := range 20 {
			if s := similarity(question, m.Embed(word('a', other, 2)+" "+word('a', other, 3))); s > best {
				best, found = s, other
			}
		}
		if found == topic {
			right++
		}
	}
	if right < 19 {
		t.Errorf("%d of 20 questions found their answers", right)
	}
}

func similarity(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// TestTableIsTheSame: neither the number of processors nor a second run changes a byte. The seed
// does.
func TestTableIsTheSame(t *testing.T) {
	list, o := topics(2000), tiny()
	o.Epochs = 2
	want := trainTiny(t, list, o)
	before := runtime.GOMAXPROCS(1)
	one := trainTiny(t, list, o)
	runtime.GOMAXPROCS(3)
	three := trainTiny(t, list, o)
	runtime.GOMAXPROCS(before)
	if one != want || three != want {
		t.Error("the table depends on the number of processors")
	}
	o.Seed++
	if trainTiny(t, list, o) == want {
		t.Error("the table does not depend on the seed")
	}
}

// TestTableIsThisOne checks the exact bytes, to find machines that round differently.
func TestTableIsThisOne(t *testing.T) {
	o := tiny()
	o.Epochs = 1
	m, err := model.Parse(trainTiny(t, topics(1000), o))
	if err != nil {
		t.Fatal(err)
	}
	if want := "remit-static-1-949919fb"; m.ID() != want {
		t.Errorf("got %s, want %s: if the recipe has changed, the committed table has to be made anew", m.ID(), want)
	}
}

// TestContrast compares the gradients with numerical differences of the loss.
func TestContrast(t *testing.T) {
	const batch, dim = 128, 16
	r := seeded(5)
	a, b := make([]float32, batch*dim), make([]float32, batch*dim)
	for i := range a {
		a[i], b[i] = float32(r.normal()/8), float32(r.normal()/8)
	}
	twins := [][2]int{{3, 5}, {5, 3}}
	da, db := make([]float32, batch*dim), make([]float32, batch*dim)
	c := newContrast(batch, dim, 5)
	loss := func() float64 {
		return c.run(a, b, make([]float32, batch*dim), make([]float32, batch*dim), twins)
	}
	c.run(a, b, da, db, twins)
	for _, side := range []struct{ x, d []float32 }{{a, da}, {b, db}} {
		for _, i := range []int{0, 17, 3*dim + 2, 5 * dim, batch*dim - 1} {
			const little = 1e-2
			was := side.x[i]
			side.x[i] = was + little
			up := loss()
			side.x[i] = was - little
			down := loss()
			side.x[i] = was
			want := (up - down) / (2 * little)
			got := float64(side.d[i]) * 5 / 2 / batch
			if math.Abs(got-want) > 1e-4+.02*math.Abs(want) {
				t.Errorf("gradient %v, want %v at %d", got, want, i)
			}
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for name, spoil := range map[string]func(*Options){
		"dim":     func(o *Options) { o.Dim = 20 },
		"rows":    func(o *Options) { o.Rows = 1 << 17 },
		"batch":   func(o *Options) { o.Batch = 100 },
		"group":   func(o *Options) { o.Group = 48 },
		"dropout": func(o *Options) { o.Dropout = 1 },
		"scale":   func(o *Options) { o.Scale = 50 },
		"few":     func(o *Options) { o.Batch = 1024 },
	} {
		o := tiny()
		spoil(&o)
		if _, err := Table(t.Context(), sequence(topics(200)), noGlove, o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestProgress(t *testing.T) {
	var said strings.Builder
	o := tiny()
	o.Log = &said
	trainTiny(t, topics(2000), o)
	if got := said.String(); !strings.Contains(got, "step 100 of ") || !strings.Contains(got, "pairs/s") {
		t.Errorf("said %q", got)
	}
}
