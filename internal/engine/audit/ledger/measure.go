package ledger

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Times are how long calls took: half of them at most P50, and so on. They are exact,
// and of all calls that were measured, refused ones too; zero if none was.
type Times struct{ P50, P95, P99 time.Duration }

// Tool is what the calls of one tool came to.
type Tool struct {
	Tool     string
	Calls    int
	Failures int
	Limited  int            // refused by a rate limit
	Kinds    map[string]int // by the kind of failure
	Times
}

// Count is how many calls there are of something.
type Count struct {
	Name  string
	Calls int
}

// Bucket is what a stretch of time came to.
type Bucket struct {
	Start    time.Time
	Calls    int
	Failures int
	Times
}

// Tools sums up the calls tool by tool, most called first.
func (l *Ledger) Tools(f Filter) []Tool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	w := l.compile(&f)
	if w.none {
		return nil
	}
	failed := l.failures()
	tools := make([]Tool, len(l.words.texts))
	s := newSample(l.total())
	l.each(&w, func(e *entry) {
		t := &tools[e.tool]
		t.Calls++
		if failed[e.outcome] {
			t.fail(l.words.texts[e.outcome])
		}
		s.add(int(e.tool), e.micros)
	})
	times := s.times(len(tools))
	var list []Tool
	for i := range tools {
		if tools[i].Calls > 0 {
			tools[i].Tool, tools[i].Times = l.words.texts[i], times[i]
			list = append(list, tools[i])
		}
	}
	slices.SortFunc(list, func(a, b Tool) int { return cmp.Or(b.Calls-a.Calls, strings.Compare(a.Tool, b.Tool)) })
	return list
}

func (t *Tool) fail(kind string) {
	if t.Kinds == nil {
		t.Kinds = map[string]int{}
	}
	t.Failures++
	t.Kinds[kind]++
	if kind == "limited" {
		t.Limited++
	}
}

// Names are what calls can be chosen by, most frequent first.
type Names struct{ Tools, Callers, Faces, Outcomes []Count }

// Names counts the calls by each of their words.
func (l *Ledger) Names(f Filter) Names {
	l.mu.RLock()
	defer l.mu.RUnlock()
	w := l.compile(&f)
	if w.none {
		return Names{}
	}
	size := len(l.words.texts)
	tools, callers, faces, outcomes := make([]int, size), make([]int, size), make([]int, size), make([]int, size)
	l.each(&w, func(e *entry) {
		tools[e.tool]++
		callers[e.caller]++
		faces[e.face]++
		outcomes[e.outcome]++
	})
	return Names{l.counts(tools), l.counts(callers), l.counts(faces), l.counts(outcomes)}
}

func (l *Ledger) counts(calls []int) (list []Count) {
	for i, n := range calls {
		if n > 0 {
			list = append(list, Count{l.words.texts[i], n})
		}
	}
	slices.SortFunc(list, func(a, b Count) int { return cmp.Or(b.Calls-a.Calls, strings.Compare(a.Name, b.Name)) })
	return list
}

// Series cuts the time of a filter into stretches of the same length. From and To
// may be left out: then it goes from the first call that is at hand until now.
func (l *Ledger) Series(f Filter, stretches int) []Bucket {
	l.mu.RLock()
	defer l.mu.RUnlock()
	w := l.compile(&f)
	if f.To.IsZero() {
		w.to = l.Now().UnixMicro() + 1
	}
	if f.From.IsZero() {
		w.from = w.to
		all := l.compile(&Filter{})
		l.each(&all, func(e *entry) { w.from = min(w.from, e.at) })
	}
	if stretches <= 0 || w.to <= w.from {
		return nil
	}
	width := max((w.to-w.from+int64(stretches)-1)/int64(stretches), 1)
	buckets := make([]Bucket, stretches)
	for i := range buckets {
		buckets[i].Start = time.UnixMicro(w.from + int64(i)*width).UTC()
	}
	if w.none {
		return buckets
	}
	failed := l.failures()
	s := newSample(l.total())
	l.each(&w, func(e *entry) {
		i := int((e.at - w.from) / width)
		buckets[i].Calls++
		if failed[e.outcome] {
			buckets[i].Failures++
		}
		s.add(i, e.micros)
	})
	for i, times := range s.times(stretches) {
		buckets[i].Times = times
	}
	return buckets
}

// sample holds durations, each of a group.
type sample struct {
	groups []int32
	micros []int64
}

// newSample has room for as many as there may be: to grow would take half of the time.
func newSample(most int) *sample {
	return &sample{make([]int32, 0, most), make([]int64, 0, most)}
}

// add adds a duration; zero is that of what was not measured, such as signing in.
func (s *sample) add(group int, micros int64) {
	if micros == 0 {
		return
	}
	s.groups = append(s.groups, int32(group))
	s.micros = append(s.micros, micros)
}

// times measures each of n groups.
func (s *sample) times(n int) []Times {
	ends := make([]int, n+1)
	for _, g := range s.groups {
		ends[g+1]++
	}
	for g := range n {
		ends[g+1] += ends[g]
	}
	sorted, next := make([]int64, len(s.micros)), slices.Clone(ends)
	for i, g := range s.groups {
		sorted[next[g]] = s.micros[i]
		next[g]++
	}
	times := make([]Times, n)
	for g := range times {
		times[g] = timesOf(sorted[ends[g]:ends[g+1]])
	}
	return times
}

// timesOf measures durations; it changes their order.
func timesOf(micros []int64) Times {
	if len(micros) == 0 {
		return Times{}
	}
	rank := func(percent int) int { return (len(micros)*percent + 99) / 100 }
	p99, p95, p50 := rank(99), rank(95), rank(50)
	// Each leaves what is smaller to its left, so the next looks at less.
	at := func(within, rank int) time.Duration {
		return time.Duration(nth(micros[:within], rank-1)) * time.Microsecond
	}
	t := Times{P99: at(len(micros), p99)}
	t.P95 = at(p99, p95)
	t.P50 = at(p95, p50)
	return t
}

// nth puts the number that would be at k, if all were in order, there, with no
// greater one before it and no smaller one after it. That takes a third of the time of
// putting all in order; numbers chosen to make it slow are put in order after all.
func nth(list []int64, k int) int64 {
	for rounds := 0; len(list) > 16 && rounds < 64; rounds++ {
		cut := partition(list)
		if k < cut {
			list = list[:cut]
		} else {
			list, k = list[cut:], k-cut
		}
	}
	slices.Sort(list)
	return list[k]
}

// partition cuts a list of several in two, neither empty, so that no number before the cut
// is greater than any after it.
func partition(list []int64) (cut int) {
	first, middle, last := list[0], list[len(list)/2], list[len(list)-1]
	pivot := max(min(first, middle), min(max(first, middle), last))
	i, j := 0, len(list)-1
	for {
		for list[i] < pivot {
			i++
		}
		for list[j] > pivot {
			j--
		}
		if i >= j {
			return i
		}
		list[i], list[j] = list[j], list[i]
		i++
		j--
	}
}
