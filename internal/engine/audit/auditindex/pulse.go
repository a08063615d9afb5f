package auditindex

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"remit/internal/engine/audit"
)

// Window selects the calls of a pulse. Its time consists of whole intervals.
type Window struct {
	From      time.Time     // the beginning of an interval
	Interval  time.Duration // a multiple of Minute
	Intervals int
	Keep      func(*Kind) bool // selects calls; nil selects all
}

// To returns the end of the window.
func (w *Window) To() time.Time { return w.From.Add(time.Duration(w.Intervals) * w.Interval) }

// width returns the width of the slots that are read: the widest one that divides the intervals.
func (w *Window) width() time.Duration {
	if w.Interval%Quarter == 0 && w.From.Truncate(Quarter).Equal(w.From) {
		return Quarter
	}
	return Minute
}

// Pulse sums up the calls of a window by caller, by tool and by failure. All counts are exact.
type Pulse struct {
	Window
	Any      bool          // there are such calls, at any time
	Callers  []CallerPulse // most calls first
	Tools    []ToolPulse   // most calls first
	Failures []Failure     // most calls first
}

// CallerPulse counts the calls of one caller.
type CallerPulse struct {
	Caller        string
	Calls, Failed []int // by interval
	Total, Errors int
	Last          Call // the one that was recorded last, even after the window; zero if it is lost
}

// ToolPulse counts the calls of one tool and measures their durations, by the steps of a histogram.
type ToolPulse struct {
	Tool          string
	Total, Errors int
	Done          int           // with the outcome ok
	P50, P95      time.Duration // zero if nothing was measured
}

// Failure counts the failures of one tool with one outcome.
type Failure struct {
	Tool, Outcome string
	Callers       []Count // most calls first
	Calls         int
	Last          Call // the one that was recorded last, even after the window; zero if it is lost
}

// Pulse sums up the calls of a window. It reads counts that Refresh keeps, so its cost depends on
// the length of the window, not on the number of calls.
func (x *Index) Pulse(ctx context.Context, w Window) (Pulse, error) {
	p := pulse{Window: w, of: map[int64]*kindPulse{}}
	if !x.exists() {
		return Pulse{Window: w}, nil
	}
	store, err := x.Open(ctx)
	if err != nil {
		return Pulse{Window: w}, err
	}
	t := counts{store: store}
	if err := t.readKinds(ctx); err != nil {
		return Pulse{Window: w}, err
	}
	for id, kind := range t.kinds {
		if w.Keep == nil || w.Keep(&kind.Kind) {
			p.of[id] = &kindPulse{KnownKind: kind, id: id, failed: audit.IsFailure(kind.Outcome)}
		}
	}
	if err := store.Cells(ctx, w.width(), w.From, w.To(), p.add); err != nil {
		return Pulse{Window: w}, err
	}
	return p.result(ctx, &t)
}

// pulse collects the cells of a window by kind.
type pulse struct {
	Window
	of   map[int64]*kindPulse
	last *kindPulse // of the last cell: the next one is often of the same kind
}

// kindPulse counts the calls of a kind.
type kindPulse struct {
	KnownKind
	id     int64
	failed bool
	total  int
	calls  []int // by interval
	steps  histogram
}

// histogram counts calls by the step of their durations.
type histogram []int

func (h *histogram) add(step Step, calls int) {
	if missing := int(step) + 1 - len(*h); missing > 0 {
		*h = append(*h, make([]int, missing)...)
	}
	(*h)[step] += calls
}

func (p *pulse) add(c Cell) {
	kind := p.last
	if kind == nil || kind.id != c.Kind {
		kind = p.of[c.Kind]
		p.last = kind
	}
	at := int((c.At - p.From.UnixMicro()) / p.Interval.Microseconds())
	if kind == nil || at < 0 || at >= p.Intervals {
		return // a kind that was added after the kinds were read, or one that is left out
	}
	if kind.calls == nil {
		kind.calls = make([]int, p.Intervals)
	}
	kind.total += c.Calls
	kind.calls[at] += c.Calls
	if c.Step > 0 {
		kind.steps.add(c.Step, c.Calls)
	}
}

// result sums up the kinds. It looks up the last call of each caller and failure.
func (p *pulse) result(ctx context.Context, t *counts) (Pulse, error) {
	callers, tools, failures := map[string]*CallerPulse{}, map[string]*toolSteps{}, map[[2]string]*failureKinds{}
	lastOf := map[string]*kindPulse{} // by caller
	for _, kind := range p.of {
		if kind.total == 0 {
			continue
		}
		c := entry(callers, kind.Caller, func() *CallerPulse {
			return &CallerPulse{Caller: kind.Caller, Calls: make([]int, p.Intervals), Failed: make([]int, p.Intervals)}
		})
		c.Total += kind.total
		addTo(c.Calls, kind.calls)
		if lastOf[c.Caller] == nil || lastOf[c.Caller].Last.less(kind.Last) {
			lastOf[c.Caller] = kind
		}
		tool := entry(tools, kind.Tool, func() *toolSteps {
			return &toolSteps{ToolPulse: ToolPulse{Tool: kind.Tool}}
		})
		tool.add(kind)
		if kind.failed {
			c.Errors += kind.total
			addTo(c.Failed, kind.calls)
			f := entry(failures, [2]string{kind.Tool, kind.Outcome}, func() *failureKinds { return &failureKinds{} })
			f.kinds = append(f.kinds, kind)
		}
	}
	made := Pulse{Window: p.Window, Any: len(p.of) > 0}
	for _, c := range callers {
		var err error
		if c.Last, err = t.last(ctx, lastOf[c.Caller]); err != nil {
			return made, err
		}
		made.Callers = append(made.Callers, *c)
	}
	for _, f := range failures {
		failure, err := f.result(ctx, t)
		if err != nil {
			return made, err
		}
		made.Failures = append(made.Failures, failure)
	}
	for _, tool := range tools {
		made.Tools = append(made.Tools, tool.result())
	}
	made.sort()
	return made, nil
}

func (p *Pulse) sort() {
	slices.SortFunc(p.Callers, func(a, b CallerPulse) int {
		return cmp.Or(b.Total-a.Total, strings.Compare(a.Caller, b.Caller))
	})
	slices.SortFunc(p.Tools, func(a, b ToolPulse) int { return cmp.Or(b.Total-a.Total, strings.Compare(a.Tool, b.Tool)) })
	slices.SortFunc(p.Failures, func(a, b Failure) int {
		return cmp.Or(b.Calls-a.Calls, strings.Compare(a.Tool, b.Tool), strings.Compare(a.Outcome, b.Outcome))
	})
}

// entry returns the value of a key, which it makes if there is none.
func entry[K comparable, V any](of map[K]*V, key K, create func() *V) *V {
	if of[key] == nil {
		of[key] = create()
	}
	return of[key]
}

func addTo(sums, numbers []int) {
	for i, n := range numbers {
		sums[i] += n
	}
}

// toolSteps is a tool with the histogram of its durations.
type toolSteps struct {
	ToolPulse
	steps histogram
}

func (s *toolSteps) add(kind *kindPulse) {
	s.Total += kind.total
	switch {
	case kind.failed:
		s.Errors += kind.total
	case kind.Outcome == "ok":
		s.Done += kind.total
	}
	for step, n := range kind.steps {
		s.steps.add(Step(step), n)
	}
}

func (s *toolSteps) result() ToolPulse {
	measured := 0
	for _, n := range s.steps {
		measured += n
	}
	at := func(percent int) time.Duration {
		seen, rank := 0, (measured*percent+99)/100
		for step, n := range s.steps {
			if seen += n; seen >= rank {
				return Step(step).Middle()
			}
		}
		return 0
	}
	s.P50, s.P95 = at(50), at(95)
	return s.ToolPulse
}

// failureKinds are the kinds of a failure, one for each caller and front end.
type failureKinds struct{ kinds []*kindPulse }

func (f *failureKinds) result(ctx context.Context, t *counts) (made Failure, err error) {
	callers, last := map[string]int{}, f.kinds[0]
	for _, kind := range f.kinds {
		made.Calls += kind.total
		callers[kind.Caller] += kind.total
		if last.Last.less(kind.Last) {
			last = kind
		}
	}
	made.Tool, made.Outcome, made.Callers = last.Tool, last.Outcome, Ranked(callers)
	made.Last, err = t.last(ctx, last)
	return made, err
}

// last returns the last call of a kind; the zero Call if it was deleted since.
func (t *counts) last(ctx context.Context, kind *kindPulse) (Call, error) {
	q := Query{Kinds: []int64{kind.id}, After: kind.Last, Before: kind.Last, Limit: 1}
	q.After.Offset--
	q.Before.Offset++
	calls, err := t.page(ctx, q)
	if err != nil || len(calls) == 0 {
		return Call{}, err
	}
	return calls[0], nil
}
