package knowledgetest

import (
	"fmt"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"remit/internal/toolsets/codebase/knowledge"
)

func put(t *testing.T, s knowledge.Store, model string, vector []float32, texts ...string) {
	t.Helper()
	all := map[knowledge.Key][]float32{}
	for _, text := range texts {
		all[keyOf(text)] = vector
	}
	if err := s.PutVectors(t.Context(), model, all); err != nil {
		t.Fatal(err)
	}
}

// expectVectors checks which of the texts have a vector: those in want.
func expectVectors(t *testing.T, s knowledge.Store, model string, want map[string][]float32, texts ...string) {
	t.Helper()
	var keys []knowledge.Key
	for _, text := range texts {
		keys = append(keys, keyOf(text))
	}
	byKey := map[knowledge.Key][]float32{}
	for text, vector := range want {
		byKey[keyOf(text)] = vector
	}
	got, err := s.Vectors(t.Context(), model, keys)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, got, byKey)
}

func vectors(t *testing.T, s Stores) {
	expectVectors(t, s.Here, "m", nil)
	expectVectors(t, s.Here, "m", nil, "a")
	put(t, s.Here, "m", nil)
	edges := []float32{0, -0.5, 1, math.MaxFloat32, -math.SmallestNonzeroFloat32}
	put(t, s.Here, "m", edges, "a", "b")
	put(t, s.Here, "other", []float32{7}, "a", "c")
	for _, store := range []knowledge.Store{s.Here, s.OtherProcess, s.OtherWorkspace} {
		expectVectors(t, store, "m", map[string][]float32{"a": edges, "b": edges}, "a", "b", "c", "a")
		expectVectors(t, store, "other", map[string][]float32{"c": {7}}, "b", "c")
		expectVectors(t, store, "M", nil, "a", "b", "c")
	}
	put(t, s.OtherWorkspace, "m", []float32{2, 3}, "a")
	expectVectors(t, s.Here, "m", map[string][]float32{"a": {2, 3}, "b": edges}, "a", "b")
}

func manyVectors(t *testing.T, s Stores) {
	want, all := map[string][]float32{}, map[knowledge.Key][]float32{}
	texts := many(1000, "text ")
	for i, text := range texts {
		if i%3 > 0 {
			want[text] = []float32{float32(i), 1}
			all[keyOf(text)] = want[text]
		}
	}
	if err := s.Here.PutVectors(t.Context(), "m", all); err != nil {
		t.Fatal(err)
	}
	expectVectors(t, s.Here, "m", want, texts...)
}

func vectorsAtOnce(t *testing.T, s Stores) {
	texts := many(40, "text ")
	var wg sync.WaitGroup
	for w, store := range []knowledge.Store{s.Here, s.OtherProcess, s.OtherWorkspace, s.Here} {
		wg.Go(func() {
			for range 10 {
				put(t, store, "m", []float32{1, 2}, texts[w*5:w*5+25]...)
			}
		})
	}
	wg.Wait()
	want := map[string][]float32{}
	for _, text := range texts {
		want[text] = []float32{1, 2}
	}
	expectVectors(t, s.Here, "m", want, texts...)
}

func damaged(t *testing.T, s Stores) {
	replace(t, s.Here, code("a", "x", "y"))
	for _, how := range []Damage{Cut, Torn, Empty, NaN} {
		put(t, s.Here, "m", []float32{1, 2, 3}, "x", "y")
		s.Damage(t, how)
		expectVectors(t, s.Here, "m", nil, "x", "y")
		put(t, s.Here, "m", []float32{4, 5, 6}, "x")
		expectVectors(t, s.Here, "m", map[string][]float32{"x": {4, 5, 6}}, "x", "y")
	}
	put(t, s.Here, "m", []float32{}, "x")
	expectVectors(t, s.Here, "m", nil, "x")
}

func sweepOf(t *testing.T, s knowledge.Store, want int64, models ...string) {
	t.Helper()
	if n, err := s.Sweep(t.Context(), models, 0); n != want || err != nil {
		t.Errorf("%d vectors went, want %d (error %v)", n, want, err)
	}
}

func sweep(t *testing.T, s Stores) {
	sweepOf(t, s.Here, 0)
	sweepOf(t, s.Here, 0, "m")
	one := []float32{1}
	replace(t, s.Here, code("a", "used", "soon gone"))
	replace(t, s.OtherWorkspace, code("a", "used elsewhere"))
	put(t, s.Here, "m", one, "used", "soon gone", "used elsewhere", "unused")
	s.Age(t, 59*time.Minute)
	sweepOf(t, s.Here, 0, "m") // it is too young
	s.Age(t, 2*time.Minute)
	put(t, s.Here, "m", one, "young")
	sweepOf(t, s.Here, 1, "m")
	expectVectors(t, s.Here, "m", map[string][]float32{"used": one, "soon gone": one, "used elsewhere": one, "young": one}, "used", "soon gone", "used elsewhere", "unused", "young")
	replace(t, s.Here, code("a", "used"))
	replace(t, s.OtherWorkspace, gone("a"))
	sweepOf(t, s.Here, 2, "m")
	expectVectors(t, s.Here, "m", map[string][]float32{"used": one, "young": one}, "used", "soon gone", "used elsewhere", "unused", "young")
}

func sweepMany(t *testing.T, s Stores) {
	texts := many(3000, "text ")
	var used []string
	want := map[string][]float32{}
	for i, text := range texts {
		if i%10 == 0 {
			used = append(used, text)
			want[text] = []float32{1}
		}
	}
	put(t, s.Here, "m", []float32{1}, texts...)
	replace(t, s.Here, code("a", used...))
	s.Age(t, 2*time.Hour)
	sweepOf(t, s.Here, 2700, "m")
	expectVectors(t, s.Here, "m", want, texts...)
	sweepOf(t, s.Here, 0, "m")
}

// sweepModels: a sweep keeps the models it names, and removes nothing that others want.
func sweepModels(t *testing.T, s Stores) {
	one := []float32{1}
	day := 24 * time.Hour
	replace(t, s.Here, code("a", "x", "y"))
	for _, model := range []string{"old", "new", "theirs"} {
		put(t, s.Here, model, one, "x")
	}
	put(t, s.OtherWorkspace, "theirs", one, "y")
	s.Age(t, knowledge.ModelRetention-day)
	sweepOf(t, s.Here, 0, "new", "local")
	sweepOf(t, s.OtherProcess, 0, "local")
	sweepOf(t, s.OtherWorkspace, 0, "theirs", "theirs")
	s.Age(t, 2*day)
	put(t, s.Here, "old", one, "y") // a young vector stays, wanted or not
	sweepOf(t, s.Here, 1, "local")
	expectVectors(t, s.Here, "old", map[string][]float32{"y": one}, "x", "y")
	expectVectors(t, s.Here, "new", map[string][]float32{"x": one}, "x")
	expectVectors(t, s.Here, "theirs", map[string][]float32{"x": one, "y": one}, "x", "y")
	s.Age(t, knowledge.ModelRetention)
	sweepOf(t, s.OtherWorkspace, 2, "theirs")
	expectVectors(t, s.Here, "old", nil, "y")
	expectVectors(t, s.Here, "new", nil, "x")
	s.Age(t, knowledge.ModelRetention+day)
	sweepOf(t, s.Here, 2)
}

// sweepSeldom: a sweep that comes too soon does nothing, unless it is of other models or of another
// workspace.
func sweepSeldom(t *testing.T, s Stores) {
	for _, c := range []struct {
		store  knowledge.Store
		every  time.Duration
		models []string
		want   int64
	}{
		{s.OtherProcess, 3 * time.Hour, []string{"m"}, 0},
		{s.OtherProcess, 3 * time.Hour, []string{"m", "n"}, 1},
		{s.OtherWorkspace, 3 * time.Hour, []string{"m"}, 1},
		{s.OtherProcess, time.Hour, []string{"m"}, 1},
	} {
		put(t, s.Here, "m", []float32{1}, "unused")
		sweepOf(t, s.Here, 0, "m") // it is young
		s.Age(t, 2*time.Hour)
		if n, err := c.store.Sweep(t.Context(), c.models, c.every); n != c.want || err != nil {
			t.Errorf("%v, %s: %d vectors went, want %d (error %v)", c.models, c.every, n, c.want, err)
		}
	}
}

func sweepGone(t *testing.T, s Stores) {
	first := replace(t, s.Here, code("a", "1"), code("b", "2"), code("c", "3"))
	second := replace(t, s.Here, gone("a"))
	for i := range 300 {
		replace(t, s.OtherWorkspace, gone(strconv.Itoa(i)))
	}
	s.Age(t, 25*time.Hour)
	third := replace(t, s.Here, gone("b"))
	sweepOf(t, s.Here, 0)
	expect(t, s.Here, of(first, code("c", "3")), of(third, gone("b")))
	expectSince(t, s.Here, second, of(third, gone("b")))
	_, err := s.Here.Load(t.Context(), first, func(knowledge.Source) error { return nil })
	if err == nil {
		t.Error("a load since before it was gone does not say what it misses")
	}
	back := replace(t, s.Here, code("a", "4"))
	expectSince(t, s.Here, third, of(back, code("a", "4")))
	if list, _ := load(t, s.OtherWorkspace, 0); len(list) != 300 {
		t.Errorf("the other workspace lists %d removed sources, want 300", len(list))
	}
	sweepOf(t, s.OtherWorkspace, 0)
	if list, newest := load(t, s.OtherWorkspace, 0); len(list) != 0 || newest != 300 {
		t.Errorf("the other workspace lists %d removed sources, newest %d; want 0 and 300", len(list), newest)
	}
	expectSince(t, s.OtherWorkspace, 300)
}

// sweepMeanwhile: a chunk keeps its vector during concurrent sweeps.
func sweepMeanwhile(t *testing.T, s Stores) {
	var writers, sweeper sync.WaitGroup
	for w, store := range []knowledge.Store{s.Here, s.OtherWorkspace} {
		writers.Go(func() {
			for i := range 15 {
				texts := many(10, fmt.Sprint(w, " ", i%4, " "))
				put(t, store, "m", []float32{1}, texts...)
				if _, err := store.Replace(t.Context(), []knowledge.Source{code("a", texts...)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var done atomic.Bool
	sweeper.Go(func() {
		for !done.Load() {
			if _, err := s.OtherProcess.Sweep(t.Context(), []string{"m"}, 0); err != nil {
				t.Error(err)
			}
		}
	})
	writers.Wait()
	done.Store(true)
	sweeper.Wait()
	for w := range 2 {
		texts, want := many(10, fmt.Sprint(w, " 2 ")), map[string][]float32{}
		for _, text := range texts {
			want[text] = []float32{1}
		}
		expectVectors(t, s.Here, "m", want, texts...)
	}
}

func leases(t *testing.T, s knowledge.Store, holder string, until, now time.Time) bool {
	t.Helper()
	has, err := s.Lease(t.Context(), holder, until, now)
	if err != nil {
		t.Fatal(err)
	}
	return has
}

func lease(t *testing.T, s Stores) {
	minute := noon.Add(time.Minute)
	for i, step := range []struct {
		store      knowledge.Store
		holder     string
		until, now time.Time
		want       bool
	}{
		{s.Here, "", minute, noon, false},
		{s.Here, "a", time.Time{}, noon, false}, // there is nothing to return
		{s.Here, "a", minute, noon, true},
		{s.OtherProcess, "b", minute, noon, false},
		{s.OtherWorkspace, "b", minute, noon, true},
		{s.OtherProcess, "b", time.Time{}, noon, false}, // another process has it
		{s.OtherProcess, "b", minute, noon, false},
		{s.OtherProcess, "", minute, noon, false},
		{s.Here, "a", minute.Add(time.Minute), noon.Add(time.Second), true}, // renewed
		{s.OtherProcess, "b", minute.Add(time.Hour), minute, false},
		// It has expired.
		{s.OtherProcess, "b", minute.Add(time.Hour), minute.Add(time.Minute), true},
		{s.Here, "a", minute.Add(time.Hour), minute.Add(time.Minute), false},
		{s.OtherProcess, "b", time.Time{}, minute, false},
		{s.Here, "\xff\x00'", minute, noon, true},
		{s.Here, "\xff\x00", minute, noon, false},
	} {
		if has := leases(t, step.store, step.holder, step.until, step.now); has != step.want {
			t.Errorf("step %d: %q has it: %v", i, step.holder, has)
		}
	}
}

func leaseToOne(t *testing.T, s Stores) {
	var wg sync.WaitGroup
	var have atomic.Int32
	for w, store := range []knowledge.Store{s.Here, s.OtherProcess, s.Here, s.OtherProcess} {
		wg.Go(func() {
			if leases(t, store, strconv.Itoa(w), noon.Add(time.Minute), noon) {
				have.Add(1)
			}
		})
	}
	wg.Wait()
	equal(t, have.Load(), int32(1))
}
