package eval

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestNDCGAndRecall(t *testing.T) {
	eleven := strings.Fields("1 2 3 4 5 6 7 8 9 10 11")
	for _, c := range []struct {
		name         string
		ids          []string
		answers      map[string]float64
		ndcg, recall float64
	}{
		{"nothing", nil, map[string]float64{"a": 1}, 0, 0},
		{"first", []string{"a"}, map[string]float64{"a": 1}, 1, 1},
		{"second", []string{"b", "a"}, map[string]float64{"a": 1}, 1 / math.Log2(3), 1},
		{"tenth", eleven, map[string]float64{"10": 1}, 1 / math.Log2(11), 1},
		{"eleventh", eleven, map[string]float64{"11": 1}, 0, 0},
		{"one of two", []string{"a"}, map[string]float64{"a": 1, "b": 1}, 1 / (1 + 1/math.Log2(3)), 0.5},
		{"grades the wrong way round", []string{"a", "b"}, map[string]float64{"a": 1, "b": 3}, (1 + 3/math.Log2(3)) / (3 + 1/math.Log2(3)), 1},
		{"no answers", []string{"a"}, nil, 0, 0},
	} {
		if got := ndcg(c.ids, c.answers); math.Abs(got-c.ndcg) > 1e-9 {
			t.Errorf("%s: nDCG %v, want %v", c.name, got, c.ndcg)
		}
		if got := recall(c.ids, c.answers); math.Abs(got-c.recall) > 1e-9 {
			t.Errorf("%s: recall %v, want %v", c.name, got, c.recall)
		}
	}
}

// TestMeasure has one question that only words answer, and one that only meaning answers.
func TestMeasure(t *testing.T) {
	set := &Set{
		Documents: []Document{{"a", "apples"}, {"b", "pears"}, {"c", "ships"}},
		Questions: []Question{{"1", "apples", map[string]float64{"a": 1}}, {"2", "boats", map[string]float64{"c": 1}}},
	}
	meaning := map[string][]float32{"ships": {1, 0}, "boats": {1, 0}, "pears": {0, 1}}
	var reported []int
	got, err := Measure(context.Background(), set, func(text string) []float32 { return meaning[text] }, 2, func(done, total int) {
		reported = append(reported, done, total)
	})
	want := []Score{{"bm25", 0.5, 0.5, 2}, {"model", 0.5, 0.5, 2}, {"hybrid", 1, 1, 2}}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if want := []int{1, 5, 2, 5, 3, 5, 4, 5, 5, 5}; !cmp.Equal(reported, want) {
		t.Errorf("reported %v, want %v", reported, want)
	}
	got, err = Measure(context.Background(), set, nil, 0, nil)
	if err != nil || len(got) != 1 || got[0].Method != "bm25" {
		t.Errorf("without a model: %v, %v", got, err)
	}
}

func TestMeasureStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	set := &Set{Documents: []Document{{"a", "x"}}, Questions: []Question{{"1", "x", map[string]float64{"a": 1}}}}
	_, err := Measure(ctx, set, func(string) []float32 { return nil }, 2, func(int, int) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func BenchmarkMeasure(b *testing.B) {
	set := &Set{}
	for i := range 10_000 {
		id := fmt.Sprint(i)
		set.Documents = append(set.Documents, Document{id, strings.Repeat("some words of document "+id+" ", 20)})
		if i%10 == 0 {
			set.Questions = append(set.Questions, Question{id, "document " + id, map[string]float64{id: 1}})
		}
	}
	vector := make([]float32, 256)
	for i := range vector {
		vector[i] = float32(i%7 - 3)
	}
	for b.Loop() {
		if _, err := Measure(context.Background(), set, func(string) []float32 { return vector }, 256, nil); err != nil {
			b.Fatal(err)
		}
	}
}
