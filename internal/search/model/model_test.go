package model

import (
	"crypto/sha256"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// sample returns a small model: words with directions of their own, one twice as heavy. The tests
// of tools/trainembed/internal/table write it.
func sample(t testing.TB) (*Model, string) {
	t.Helper()
	table, err := os.ReadFile("testdata/sample.bin")
	if err != nil {
		t.Fatal(err)
	}
	m, err := Parse(string(table))
	if err != nil {
		t.Fatal(err)
	}
	return m, string(table)
}

func TestEmbed(t *testing.T) {
	m, _ := sample(t)
	for _, tc := range []struct {
		name, text string
		want       []float64 // before normalization
	}{
		{"nothing", "", []float64{0, 0, 0, 0}},
		{"nothing known", "zzz 漢 42", []float64{0, 0, 0, 0}},
		{"one word", "Cache", []float64{1, 0, 0, 0}},
		{"another form", "caching", []float64{1, 0, 0, 0}},
		{"order does not count", "request cache", []float64{1, 1, 0, 0}},
		{"weights", "heavy cache", []float64{1, 0, 0, -2}},
		{"repetition is dampened", "cache cache cache request", []float64{1 + math.Log(3), 1, 0, 0}},
		{"identifiers", "HTTPRequest", []float64{0, 1, 1, 0}},
		{"pieces", "httprequest", []float64{0, 1, 8. / 11, 0}},
		{"pieces among letters", "xhttpy", []float64{0, 0, 1, 0}},
		{"too short for a piece", "htt", []float64{0, 0, 0, 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var length float64
			for _, x := range tc.want {
				length += x * x
			}
			got := m.Embed(tc.text)
			for i, x := range tc.want {
				if want := x / max(math.Sqrt(length), 1e-9); math.Abs(float64(got[i])-want) > .01 {
					t.Fatalf("got %.3f, want %.3f at %d", got, want, i)
				}
			}
		})
	}
}

func TestKnows(t *testing.T) {
	m, _ := sample(t)
	for text, want := range map[string]bool{
		"cache": true, "Caches": true, "HTTPRequest": true, "zzz, 42 and a cache": true, "httpx": false, "httprequest zzz": false, "": false,
	} {
		if m.HasKnownWord(text) != want {
			t.Errorf("%q: Knows is not %v", text, want)
		}
	}
}

func TestLocal(t *testing.T) {
	m, err := Local()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(local[sizesAt:]))
	if local[len(magic):sizesAt] != string(sum[:digestSize]) || !strings.HasPrefix(m.ID(), "remit-static-1-") {
		t.Errorf("%s does not match its digest", m.ID())
	}
	near := dot(m.Embed("delete a file"), m.Embed("remove the document from disk"))
	far := dot(m.Embed("delete a file"), m.Embed("the user's password was wrong"))
	if near <= far {
		t.Errorf("similar %.3f, different %.3f", near, far)
	}
}

func TestConcurrent(t *testing.T) {
	m, _ := sample(t)
	want := m.Embed("cache request http")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				if got := m.Embed("cache request http"); !slices.Equal(got, want) {
					t.Errorf("got %v, want %v", got, want)
				}
			}
		})
	}
	all.Wait()
}

func TestParseInvalid(t *testing.T) {
	_, table := sample(t)
	change := func(at int, to byte) string { return table[:at] + string([]byte{to}) + table[at+1:] }
	heavy := strings.LastIndex(table, "heavy") - entryHeader
	for name, bad := range map[string]string{
		"empty":            "",
		"short":            table[:headerSize-1],
		"cut":              table[:len(table)-1],
		"longer":           table + "x",
		"other magic":      change(0, 'R'),
		"dim of zero":      change(sizesAt, 0),
		"dim not by eight": change(sizesAt, 12),
		"too many rows":    change(sizesAt+6, 2),
		"no power of two":  change(sizesAt+8, 3),
		"length of a word": change(heavy, 99),
		"row beyond":       change(heavy+2, 5),
		"bucket beyond":    change(headerSize+5*(8+2)+4, 255),
	} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzParse(f *testing.F) {
	_, table := sample(f)
	f.Add(table, "cache httprequest")
	f.Add(table[:headerSize], "")
	f.Fuzz(func(t *testing.T, table, text string) {
		m, err := Parse(table)
		if err != nil {
			return
		}
		if got := m.Embed(text); len(got) != m.Dim() {
			t.Errorf("%d numbers, want %d", len(got), m.Dim())
		}
	})
}

func FuzzEmbed(f *testing.F) {
	m, err := Local()
	if err != nil {
		f.Fatal(err)
	}
	f.Add("parseHTTPRequest2 localstorage Crème 漢字")
	f.Fuzz(func(t *testing.T, text string) {
		got := m.Embed(text)
		if length := dot(got, got); length != 0 && math.Abs(length-1) > 1e-5 {
			t.Errorf("a vector of length %v", length)
		}
	})
}

func dot(a, b []float32) float64 {
	var sum float64
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func BenchmarkEmbed(b *testing.B) {
	m, err := Local()
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat("Two tabs refreshing the token at once invalidated each other; a mutex around the call fixed it. ", 3) +
		"parseHTTPRequest reads the header first, then the body, and answers with an error that names the field which was wrong, so that people can correct what they sent to us"
	b.ReportAllocs()
	for b.Loop() {
		m.Embed(text)
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(local); err != nil {
			b.Fatal(err)
		}
	}
}
