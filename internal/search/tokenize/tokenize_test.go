package tokenize

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestOf(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"", ""},
		{" .,;-", ""},
		{"Hello, World!", "hello world"},
		{"parseHTTPRequest2", "parse http request 2"},
		{"snake_case-kebab.dotted/path", "snake case kebab dotted path"},
		{"HTTPServer HTTP XMLHttpRequest", "http server http xml http request"},
		{"two IDs, many URLs, URLString", "two ids many urls url string"},
		{"sha256sum utf8 i18n 3d", "sha 256 sum utf 8 i 18 n 3 d"},
		{"v1.2.3", "v 1 2 3"},
		{"don't can't it's we've they'll user's", "don can it we they user"},
		{"f('x') b'abc' 'quoted'", "f x b abc quoted"},
		{"Crème brûlée, Straße, Ørsted, Łódź", "creme brulee strasse orsted lodz"},
		{"cre\u0300me", "creme"},
		{"ÉcoleÉlève", "ecole eleve"},
		{"Москва MOSKVA", "москва moskva"},
		{"漢字 kana ひら", "漢 字 kana ひ ら"},
		{"go漢go", "go 漢 go"},
		{"a\x00b\xffc", "a b c"},
		{"ABC", "abc"},
		{"aB", "a b"},
		{"_private__field_", "private field"},
	} {
		if diff := cmp.Diff(strings.Fields(tc.want), Words(tc.text), cmp.Transformer("empty", func(s []string) []string { return append([]string{}, s...) })); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tc.text, diff)
		}
	}
}

func TestLongWordsAreCut(t *testing.T) {
	got := Words(strings.Repeat("a", 1000) + " b")
	if want := []string{strings.Repeat("a", maxWord), "b"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestInStops(t *testing.T) {
	count := 0
	for range All("one two three") {
		if count++; count == 2 {
			break
		}
	}
	if count != 2 {
		t.Errorf("%d words after a break at 2", count)
	}
}

// TestStem checks that the forms of a word have the same stem, and that other words have another
// one.
func TestStem(t *testing.T) {
	for _, forms := range []string{
		"query queries querying queried", "cache caches cached caching", "process processes processing processed",
		"run runs running", "class classes", "box boxes", "size sizes sized sizing", "copy copies copied copying",
		"embed embeds embedded embedding embeddings", "queue queues queued queueing", "key keys", "array arrays",
		"tree trees", "need needs needed", "delete deletes deleted deleting deletion", "connect connects connection connections",
		"authenticate authentication authenticated", "quick quickly", "simple simply", "possible possibly", "complete completely completed",
		"use uses used", "family families", "apply applies applied applying", "supply supplies", "match matches matched matching",
		"string strings", "status statuses", "retry retries retrying", "base bases based", "call calls called calling",
	} {
		words := strings.Fields(forms)
		for _, w := range words[1:] {
			if Stem(w) != Stem(words[0]) {
				t.Errorf("%s has the stem %s, %s has %s", words[0], Stem(words[0]), w, Stem(w))
			}
		}
	}
	for _, w := range strings.Fields("redis this status css embed string need go is x9s") {
		if Stem(w) != w {
			t.Errorf("%s has the stem %s", w, Stem(w))
		}
	}
	seen := map[string]string{}
	for _, w := range strings.Fields("string spring thing bring need nee this thus status state is as busy use user bed embedded sing redis css") {
		if s := Stem(w); seen[s] != "" {
			t.Errorf("%s and %s have the stem %s", seen[s], w, s)
		} else {
			seen[s] = w
		}
	}
}

func FuzzOf(f *testing.F) {
	for _, seed := range []string{"parseHTTPRequest2", "don't", "Crème", "漢字", "\xff\xfe", "URLs IDs", "a\u0300"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, word := range Words(text) {
			checkWord(t, word)
		}
	})
}

func checkWord(t *testing.T, word string) {
	t.Helper()
	if word == "" || len(word) > maxWord+utf8.UTFMax {
		t.Errorf("a word of %d bytes", len(word))
	}
	stem := Stem(word)
	if !strings.HasPrefix(word, stem) || stem == "" || string(Stem([]byte(word))) != stem {
		t.Errorf("%q has the stem %q", word, stem)
	}
	for _, again := range Words(word) {
		if !utf8.ValidString(again) {
			t.Errorf("%q is not UTF-8", again)
		}
	}
}

func BenchmarkIn(b *testing.B) {
	text := strings.Repeat("func (s *Server) parseHTTPRequest2(ctx context.Context) error { // reads the next request, caching what it has seen\n", 500)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		n := 0
		for word := range All(text) {
			n += len(Stem(word))
		}
	}
}
