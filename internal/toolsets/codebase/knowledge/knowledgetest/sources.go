package knowledgetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"remit/internal/search/chunk"
	"remit/internal/toolsets/codebase/knowledge"
)

func nothing(t *testing.T, s Stores) {
	expect(t, s.Here)
	list, err := s.Here.Chunks(t.Context(), []knowledge.Ref{{Path: "a", Number: 0}})
	if len(list) > 0 || err != nil {
		t.Errorf("pieces %v, error %v", list, err)
	}
	if list, err = s.Here.Chunks(t.Context(), nil); len(list) > 0 || err != nil {
		t.Errorf("pieces %v, error %v", list, err)
	}
	g := replace(t, s.Here)
	if list, newest := load(t, s.Here, 0); len(list) > 0 || newest != g {
		t.Errorf("an empty change of generation %d: %v, newest %d", g, list, newest)
	}
}

func sourceStays(t *testing.T, s Stores) {
	whole := knowledge.Source{
		Path: "a.go", Hash: [32]byte{1, 0, 255}, Size: math.MaxInt64, Modified: noon,
		Chunks: []knowledge.Chunk{
			{Ref: knowledge.Ref{Path: "a.go"}, Key: knowledge.Key{0, 255, 7}, Chunk: chunk.Chunk{
				Source: chunk.Discovery, Type: chunk.Decision, Name: "n", Text: "t", Module: "m", Session: "s", Date: noon.AddDate(-60, 0, 0), Line: 7, End: 9,
			}},
			{Ref: knowledge.Ref{Path: "a.go", Number: 1}, Chunk: chunk.Chunk{Line: math.MaxInt32, End: math.MaxInt32}},
		},
	}
	g := replace(t, s.Here, whole, knowledge.Source{Path: "b.go"})
	expect(t, s.Here, of(g, whole), of(g, knowledge.Source{Path: "b.go"}))
}

func textsStay(t *testing.T, s Stores) {
	texts := []string{
		"", " ", "é", "e\u0301", "\xff\xfe", "\x00", "a\x00", "a\x00b", `'"\;--%_$1`, "two\nlines", "a", "A", "a/b", "a/b/c",
		strings.Repeat("é", knowledge.MaxPath/2),
	}
	var want []knowledge.Source
	for _, text := range texts {
		one := code(text, text, text)
		p := &one.Chunks[0].Chunk
		p.Source, p.Type, p.Name, p.Module, p.Session = text, text, text, text, text
		want = append(want, of(1, one))
	}
	replace(t, s.Here, want...)
	slices.SortFunc(want, func(a, b knowledge.Source) int { return strings.Compare(a.Path, b.Path) })
	expect(t, s.Here, want...)
	for _, one := range want {
		list, err := s.Here.Chunks(t.Context(), []knowledge.Ref{one.Chunks[1].Ref})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, list, one.Chunks[1:])
	}
}

// numbered: numbers set in the chunks are ignored.
func numbered(t *testing.T, s Stores) {
	want := code("a", "x", "y")
	given := code("a", "x", "y")
	given.Chunks[0].Ref, given.Chunks[1].Ref = knowledge.Ref{Path: "b", Number: 7}, knowledge.Ref{}
	g := replace(t, s.Here, given)
	expect(t, s.Here, of(g, want))
	if given.Chunks[0].Path != "b" || given.Generation != 0 {
		t.Errorf("what was given has changed: %+v", given)
	}
}

func replaced(t *testing.T, s Stores) {
	replace(t, s.Here, code("a", "1", "2", "3"), code("b", "4"))
	second := replace(t, s.Here, code("a", "5"))
	list, newest := load(t, s.Here, 0)
	equal(t, list, []knowledge.Source{of(second-1, code("b", "4")), of(second, code("a", "5"))})
	equal(t, newest, second)
	left, err := s.Here.Chunks(t.Context(), []knowledge.Ref{{Path: "a", Number: 2}, {Path: "a", Number: 0}})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, left, code("a", "5").Chunks)
}

func goneAndBack(t *testing.T, s Stores) {
	replace(t, s.Here, code("a", "1", "2"))
	ghost := code("a", "1")
	ghost.Gone = true
	g := replace(t, s.Here, ghost, gone("never"))
	ghost.Chunks = nil
	expect(t, s.Here, of(g, ghost), of(g, gone("never")))
	list, err := s.Here.Chunks(t.Context(), []knowledge.Ref{{Path: "a", Number: 0}})
	if len(list) > 0 || err != nil {
		t.Errorf("it has still %v, error %v", list, err)
	}
	back := replace(t, s.Here, code("a", "3"))
	expectSince(t, s.Here, g, of(back, code("a", "3")))
}

func twice(t *testing.T, s Stores) {
	g := replace(t, s.Here, code("b", "1"), code("a", "2"), code("b", "3", "4"), gone("c"), code("c", "5"))
	expect(t, s.Here, of(g, code("a", "2")), of(g, code("b", "3", "4")), of(g, code("c", "5")))
}

func tooLong(t *testing.T, s Stores) {
	longest := strings.Repeat("x", knowledge.MaxPath)
	g := replace(t, s.Here, code(longest+"y", "1"), code("beside it", "2"), code(longest, "3"))
	expect(t, s.Here, of(g, code("beside it", "2")), of(g, code(longest, "3")))
}

func since(t *testing.T, s Stores) {
	one := replace(t, s.Here, code("c", "1"), code("b", "2"))
	two := replace(t, s.Here, code("a", "3"))
	three := replace(t, s.Here, gone("b"))
	if one <= 0 || two <= one || three <= two {
		t.Errorf("generations are %d, %d, %d", one, two, three)
	}
	expect(t, s.Here, of(one, code("c", "1")), of(two, code("a", "3")), of(three, gone("b")))
	expectSince(t, s.Here, one, of(two, code("a", "3")), of(three, gone("b")))
	expectSince(t, s.Here, two, of(three, gone("b")))
	expectSince(t, s.Here, three)
}

func discoveriesFirst(t *testing.T, s Stores) {
	first := replace(t, s.Here, code("a", "1"), found("m", "2"))
	replace(t, s.Here, code("b", "3"))
	mixed := code("n", "4", "5")
	mixed.Chunks[1].Source = chunk.Discovery
	replace(t, s.Here, mixed, code("c"), gone("d"))
	list, _ := load(t, s.Here, 0)
	equal(t, paths(list), "m n a b c -d")
	list, _ = load(t, s.Here, first)
	equal(t, paths(list), "b c -d n")
	replace(t, s.Here, found("b", "6"), code("m", "7"))
	list, _ = load(t, s.Here, 0)
	equal(t, paths(list), "n b a c -d m")
}

func chunksInOrder(t *testing.T, s Stores) {
	a, b := code("a", "1", "2", "3"), found("b", "4", "5")
	replace(t, s.Here, a, b)
	replace(t, s.OtherWorkspace, code("c", "6"))
	refs := []knowledge.Ref{
		{Path: "b", Number: 1}, {Path: "a", Number: 2}, {Path: "c", Number: 0}, {Path: "a", Number: 3}, {Path: "a", Number: -1}, {Path: "a", Number: 0}, {Path: "b", Number: 1},
	}
	list, err := s.Here.Chunks(t.Context(), refs)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, list, []knowledge.Chunk{b.Chunks[1], a.Chunks[2], a.Chunks[0], b.Chunks[1]})
}

// manyParts uses more sources and chunks than any store reads at once.
func manyParts(t *testing.T, s Stores) {
	var want []knowledge.Source
	for i := range 24 {
		var batch []knowledge.Source
		for j := range 40 {
			batch = append(batch, of(int64(i+1), code(fmt.Sprintf("%03d/%02d", 100-i, j), many((i*j)%9, fmt.Sprint(i, j, " "))...)))
		}
		equal(t, replace(t, s.Here, batch...), int64(i+1))
		want = append(want, batch...)
	}
	expect(t, s.Here, want...)
	expectSince(t, s.Here, 13, want[13*40:]...)
}

func manyChunks(t *testing.T, s Stores) {
	large := code("b", many(2500, "x")...)
	g := replace(t, s.Here, code("a", "1"), large, code("c", "2"))
	expect(t, s.Here, of(g, code("a", "1")), of(g, large), of(g, code("c", "2")))
}

func eachEnds(t *testing.T, s Stores) {
	replace(t, s.Here, code("a", "1"), code("b", "1"))
	enough, calls := errors.New("enough"), 0
	newest, err := s.Here.Load(t.Context(), 0, func(knowledge.Source) error { calls++; return enough })
	if !errors.Is(err, enough) || calls != 1 || newest != 0 {
		t.Errorf("error %v after %d calls, newest %d", err, calls, newest)
	}
}

// closePaths: nothing is lost where a store ends one part and begins the next.
func closePaths(t *testing.T, s Stores) {
	var want []knowledge.Source
	for i := range 600 {
		want = append(want, of(1, code("p"+strings.Repeat("\x00", i))))
	}
	replace(t, s.Here, want...)
	expect(t, s.Here, want...)
}

// overtaken: a source replaced by one with the same number of chunks while it is loaded is not
// mixed with the old one.
func overtaken(t *testing.T, s Stores) {
	var before, after []knowledge.Source
	for i := range 6 {
		before = append(before, code(strconv.Itoa(i), many(600, "old ")...))
		after = append(after, code(strconv.Itoa(i), many(600, "new ")...))
	}
	g := replace(t, s.Here, before...)
	given := map[string]bool{}
	newest, err := s.Here.Load(t.Context(), 0, func(one knowledge.Source) error {
		if len(given) == 0 {
			replace(t, s.OtherProcess, after...)
		}
		given[one.Path] = true
		if one.Generation != g {
			t.Errorf("%s is of generation %d, after the newest", one.Path, one.Generation)
		}
		return whole(one)
	})
	if err != nil || newest != g || len(given) == 0 {
		t.Errorf("newest %d, want %d; %d given, error %v", newest, g, len(given), err)
	}
	list, _ := load(t, s.Here, newest)
	equal(t, paths(list), "0 1 2 3 4 5")
}

// eachUses: a store that held a connection or a lock during the load would deadlock.
func eachUses(t *testing.T, s Stores) {
	for i := range 40 {
		replace(t, s.Here, code(strconv.Itoa(i), "x"))
	}
	var inner func(depth int) error
	inner = func(depth int) error {
		if depth == 0 {
			return nil
		}
		done := errors.New("once is enough")
		_, err := s.Here.Load(t.Context(), 0, func(one knowledge.Source) error {
			if _, err := s.Here.Replace(t.Context(), []knowledge.Source{code("new", one.Path)}); err != nil {
				return err
			}
			return errors.Join(inner(depth-1), done)
		})
		if !errors.Is(err, done) {
			return fmt.Errorf("at depth %d: %w", depth, err)
		}
		return nil
	}
	if err := inner(20); err != nil {
		t.Error(err)
	}
}

func otherDatabase(t *testing.T, s Stores) {
	g := replace(t, s.Here, code("a", "1"))
	for _, store := range []knowledge.Store{s.Here, s.OtherWorkspace} {
		_, err := store.Load(t.Context(), g+1, func(knowledge.Source) error { t.Error("it gives something"); return nil })
		if !errors.Is(err, knowledge.ErrOutdated) {
			t.Errorf("a generation that never was: error %v", err)
		}
	}
}

func cancelled(t *testing.T, s Stores) {
	g := replace(t, s.Here, code("a", "1"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, replaceErr := s.Here.Replace(ctx, []knowledge.Source{code("a", "2")})
	_, loadErr := s.Here.Load(ctx, 0, func(knowledge.Source) error { return nil })
	_, chunksErr := s.Here.Chunks(ctx, []knowledge.Ref{{Path: "a"}})
	_, vectorsErr := s.Here.Vectors(ctx, "m", []knowledge.Key{keyOf("1")})
	_, sweepErr := s.Here.Sweep(ctx, []string{"m"}, 0)
	_, leaseErr := s.Here.Lease(ctx, "x", noon.Add(time.Minute), noon)
	putErr := s.Here.PutVectors(ctx, "m", map[knowledge.Key][]float32{keyOf("1"): {1}})
	for i, err := range []error{replaceErr, loadErr, chunksErr, vectorsErr, sweepErr, leaseErr, putErr} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("call %d: error %v, want context.Canceled", i, err)
		}
	}
	expect(t, s.Here, of(g, code("a", "1")))
	expectVectors(t, s.Here, "m", nil, "1")
}

func workspaces(t *testing.T, s Stores) {
	g := replace(t, s.Here, code("a", "1"), code("b", "2"))
	equal(t, replace(t, s.OtherWorkspace, code("a", "3")), int64(1))
	equal(t, replace(t, s.OtherWorkspace, gone("b")), int64(2))
	expect(t, s.Here, of(g, code("a", "1")), of(g, code("b", "2")))
	expect(t, s.OtherWorkspace, of(1, code("a", "3")), of(2, gone("b")))
}

func processes(t *testing.T, s Stores) {
	g := replace(t, s.Here, code("a", "1"))
	expect(t, s.OtherProcess, of(g, code("a", "1")))
	g2 := replace(t, s.OtherProcess, code("b", "2"))
	expectSince(t, s.Here, g, of(g2, code("b", "2")))
}
