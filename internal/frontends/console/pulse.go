package console

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"remit/internal/engine/approval"
	"remit/internal/engine/audit"
	"remit/internal/engine/audit/auditindex"
	"remit/internal/visible"
)

// Limits of the lists on the overview. The page reserves their height, so that nothing moves when
// an entry is added.
const (
	maxPulseAgents   = 6
	maxPulseRequests = 4
	maxPulseFailures = 5
	maxPulseTools    = 5

	// activeFor is how long after its last call an agent counts as active.
	activeFor = 5 * time.Minute
	// pulseAge is how long a pulse stays recent enough if neither calls nor requests changed.
	pulseAge = 10 * time.Second
)

// pulseView is what the overview shows of the calls and requests of a window.
type pulseView struct {
	At      time.Time
	Window  period
	Status  auditindex.Status
	Unused  bool // nobody has called a tool yet, and nothing waits
	Waiting waitingView

	// Agents that called in the last minutes; valid tokens; agents whose last call failed.
	Active, Tokens, Failing int
	PerMinute               int // calls in the last whole minute
	Total, Errors           int // in the window
	AllCalls, Failed        spark
	Agents                  []pulseAgent
	MoreAgents              int
	Chart                   stackedChart
	Tools                   []toolRow
	Measured, Slow          int // tools with a target that were called, and those over it
	Failures                []failureRow
	MoreFailures            int
	Grown                   []growthRow
}

// FailedPercent returns the share of failed calls.
func (p *pulseView) FailedPercent() float64 {
	return 100 * float64(p.Errors) / float64(max(p.Total, 1))
}

// Worst returns the most frequent failure; nil if there is none.
func (p *pulseView) Worst() *failureRow {
	if len(p.Failures) == 0 {
		return nil
	}
	return &p.Failures[0]
}

// Address returns the address of the part that updates itself.
func (p *pulseView) Address() string { return pulsePath + "?window=" + p.Window.Key }

// waitingView sums up the waiting requests.
type waitingView struct {
	Count    string
	Any      bool
	Groups   int
	Oldest   time.Time
	Expiring int // requests that expire soon
	Rows     []requestRow
	ByAgent  map[string]int
	oldestOf map[string]time.Time
}

// pulseAgent is one agent on the overview.
type pulseAgent struct {
	agentRow
	Shown, Client string
	State, Tone   string
	Waiting       int
	Oldest        time.Time // of its requests
	Tool          string    // of its last call
	Last          time.Time
	Spark         spark
	Failed        int
}

// toolRow is the latency of one tool against the target of its contract.
type toolRow struct {
	auditindex.ToolPulse
	Name             string
	Target, Deadline time.Duration
	Tone             string
	Half, Most, Aim  float64 // lengths in the bullet
}

// failureRow is the failures of one tool with one outcome.
type failureRow struct {
	auditindex.Failure
	Href    string
	Callers string
}

// pulseCache keeps the last pulse of each window, so that many open pages cost as much as one.
type pulseCache struct {
	mu   sync.Mutex
	made map[string]cachedPulse // by the key of the window
}

type cachedPulse struct {
	calls, approvals string // the marks of the state that it was made from
	view             *pulseView
}

// pulse returns what the overview shows of a window, in a state. Other requests wait while it is
// made.
func (v *visit) pulse(window period, now state) (*pulseView, error) {
	v.pulses.mu.Lock()
	defer v.pulses.mu.Unlock()
	last := v.pulses.made[window.Key]
	if last.view != nil && last.calls == now.Calls && last.approvals == now.Approvals && v.Now().Sub(last.view.At).Abs() < pulseAge {
		return last.view, nil
	}
	view, err := v.makePulse(window)
	if err != nil {
		return nil, err
	}
	if v.pulses.made == nil {
		v.pulses.made = map[string]cachedPulse{}
	}
	v.pulses.made[window.Key] = cachedPulse{now.Calls, now.Approvals, view}
	return view, nil
}

func (v *visit) makePulse(window period) (p *pulseView, err error) {
	ctx := v.r.Context()
	p = &pulseView{At: v.Now(), Window: window}
	if p.Waiting, err = v.waitingView(ctx); err != nil {
		return nil, err
	}
	if p.Tokens, err = v.validTokens(ctx); err != nil {
		return nil, err
	}
	var calls auditindex.Pulse
	if v.Calls != nil {
		recent := pulseWindow(windows()[0], p.At) // by the minute
		now, err := v.Calls.Pulse(ctx, recent)
		if calls = now; err == nil && window.Key != windows()[0].Key {
			calls, err = v.Calls.Pulse(ctx, pulseWindow(window, p.At))
		}
		if err != nil {
			return nil, unreadable(err)
		}
		p.Status = v.Calls.Status()
		p.addNow(&now)
	}
	p.Unused = !calls.Any && !p.Waiting.Any && !p.Status.Loading
	p.addAgents(&calls)
	p.addTools(&calls, v.served())
	p.addFailures(&calls)
	p.Chart = chartOf(&calls, window)
	p.Grown = v.growth(ctx, &calls)
	return p, nil
}

// waitingView reads the waiting requests, without arguments.
func (v *visit) waitingView(ctx context.Context) (w waitingView, err error) {
	store, err := v.openApprovals(ctx)
	if err != nil {
		return w, err
	}
	now := v.Now()
	all, err := store.List(ctx, approval.ListOptions{Limit: maxCounted, Brief: true, Now: now})
	if err != nil {
		return w, err
	}
	w.Count, w.Any = state{Waiting: len(all), Approvals: "read"}.Count(), len(all) > 0
	w.ByAgent, w.oldestOf = map[string]int{}, map[string]time.Time{}
	groups := map[[2]string]bool{}
	for _, r := range slices.Backward(all) { // oldest first
		if w.Oldest.IsZero() {
			w.Oldest = r.CreatedAt
		}
		if w.ByAgent[r.Principal] == 0 {
			w.oldestOf[r.Principal] = r.CreatedAt
		}
		w.ByAgent[r.Principal]++
		groups[[2]string{r.Principal, r.Tool}] = true
		row := rowOf(r, now)
		if row.Urgent {
			w.Expiring++
		}
		if len(w.Rows) < maxPulseRequests {
			if tool := v.toolOf(r); tool != nil {
				row.Destructive = tool.Hints.Destructive
			}
			w.Rows = append(w.Rows, row)
		}
	}
	w.Groups = len(groups)
	return w, nil
}

// validTokens counts the tokens with which agents may call.
func (v *visit) validTokens(ctx context.Context) (n int, err error) {
	tokens, err := v.Tokens.List(ctx)
	for _, t := range tokens {
		if t.Live(v.Now()) {
			n++
		}
	}
	return n, err
}

// addNow adds what happened in the last minutes.
func (p *pulseView) addNow(now *auditindex.Pulse) {
	whole := now.Intervals - 2 // the last minute is not over
	for i := range now.Callers {
		c := &now.Callers[i]
		p.PerMinute += c.Calls[whole]
		if !c.Last.Time.IsZero() && p.At.Sub(c.Last.Time) < activeFor {
			p.Active++
			if audit.IsFailure(c.Last.Outcome) {
				p.Failing++
			}
		}
	}
}

// addAgents adds the agents that called in the window or wait for an answer.
func (p *pulseView) addAgents(calls *auditindex.Pulse) {
	all, failed := make([]int, max(calls.Intervals, 1)), make([]int, max(calls.Intervals, 1))
	var rows []pulseAgent
	called := map[string]bool{}
	for i := range calls.Callers {
		c := &calls.Callers[i]
		called[c.Caller] = true
		for at := range c.Calls {
			all[at] += c.Calls[at]
			failed[at] += c.Failed[at]
		}
		p.Total += c.Total
		p.Errors += c.Errors
		rows = append(rows, p.pulseAgent(c))
	}
	for name := range p.Waiting.ByAgent {
		if !called[name] {
			rows = append(rows, p.pulseAgent(&auditindex.CallerPulse{Caller: name, Calls: make([]int, len(all)), Failed: make([]int, len(all))}))
		}
	}
	slices.SortStableFunc(rows, func(a, b pulseAgent) int {
		return cmp.Or(min(b.Waiting, 1)-min(a.Waiting, 1), b.Calls-a.Calls, strings.Compare(a.Name, b.Name))
	})
	p.AllCalls, p.Failed = sparkOf(all, nil), sparkOf(failed, nil)
	p.Agents, p.MoreAgents = rows[:min(len(rows), maxPulseAgents)], max(0, len(rows)-maxPulseAgents)
}

func (p *pulseView) pulseAgent(c *auditindex.CallerPulse) pulseAgent {
	r := pulseAgent{
		agentRow: agentRow{c.Caller, c.Total}, Shown: clip(cmp.Or(visible.Line(c.Caller), "anonymous"), 40), Waiting: p.Waiting.ByAgent[c.Caller],
		Oldest: p.Waiting.oldestOf[c.Caller], Tool: visible.Line(c.Last.Tool), Last: c.Last.Time, Spark: sparkOf(c.Calls, c.Failed),
		Failed: c.Errors,
	}
	if c.Last.Frontend != "" {
		r.Client = clip(strings.TrimPrefix(visible.Line(c.Last.Client)+", ", ", ")+visible.Line(c.Last.Frontend), 40)
	}
	recent := !c.Last.Time.IsZero() && p.At.Sub(c.Last.Time) < activeFor
	switch {
	case r.Waiting > 0:
		r.State, r.Tone = "waits for you", "wait"
	case recent && audit.IsFailure(c.Last.Outcome):
		r.State, r.Tone = "failing", "bad"
	case recent:
		r.State, r.Tone = "active", "good"
	default:
		r.State = "idle"
	}
	return r
}
