package console

import (
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"remit/internal/engine/audit/auditindex"
)

// maxIntervals is the number of intervals of a chart whose period does not set their length.
const maxIntervals = 60

// chart is the number of calls and their latencies over time, for the chart and the table below it.
type chart struct {
	Source   string // the URL from which the script loads the numbers
	Of       string // the tool; "" for all
	Target   time.Duration
	Buckets  []auditindex.Bucket // the intervals with calls, newest first
	Interval time.Duration
}

// Every returns the length of an interval as text.
func (c *chart) Every() string { return formatSpan(c.Interval) }

// formatSpan formats a configured duration, in hours or minutes. See took for measured ones.
func formatSpan(d time.Duration) string {
	switch {
	case d == 0:
		return ""
	case d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d >= 10*time.Minute || d%time.Minute == 0:
		return fmt.Sprintf("%d min", d.Round(time.Minute)/time.Minute)
	default:
		return d.Round(time.Second).String()
	}
}

// measure computes the latencies of the selected calls.
func (v *visit) measure(c chosen) (auditindex.Measures, error) {
	intervals := maxIntervals
	if c.Period.Interval > 0 {
		intervals = int(c.Period.Length / c.Period.Interval)
		c.To = c.From.Add(c.Period.Length)
	}
	m, err := v.Calls.Measure(v.r.Context(), c.Filter, intervals)
	if err != nil {
		return m, unreadable(err)
	}
	return m, nil
}

func (v *visit) chart(c chosen, buckets []auditindex.Bucket) *chart {
	made := &chart{
		Source: (&url.URL{Path: "/console/calls/series", RawQuery: v.r.URL.RawQuery}).String(),
		Of:     c.Tool, Target: v.served()[c.Tool].Target(), Interval: c.Period.Interval,
	}
	if len(buckets) > 1 && made.Interval == 0 {
		made.Interval = buckets[1].Start.Sub(buckets[0].Start).Round(time.Second)
	}
	for i := len(buckets) - 1; i >= 0; i-- {
		if buckets[i].Calls > 0 {
			made.Buckets = append(made.Buckets, buckets[i])
		}
	}
	return made
}

// points are the numbers of a chart in the format that its script expects: latencies in
// milliseconds, null for intervals without calls.
type points struct {
	Start  []int64    `json:"start"` // in seconds
	Calls  []int      `json:"calls"`
	Failed []int      `json:"failed"`
	P50    []*float64 `json:"p50"`
	P95    []*float64 `json:"p95"`
	P99    []*float64 `json:"p99"`
	Target float64    `json:"target"` // 0 if there is none
}

// callSeries responds with the numbers of the chart.
func (v *visit) callSeries() error {
	c, err := v.choose(v.r.URL.Query())
	if err != nil {
		return err
	}
	_ = v.Calls.Refresh(v.r.Context()) // the page reports it
	m, err := v.measure(c)
	if err != nil {
		return err
	}
	// No list may be nil: the script does not accept null.
	p := points{
		Start: []int64{}, Calls: []int{}, Failed: []int{}, P50: []*float64{}, P95: []*float64{}, P99: []*float64{},
		Target: milliseconds(v.served()[c.Tool].Target()),
	}
	for _, b := range m.Buckets {
		p.Start = append(p.Start, b.Start.Unix())
		p.Calls = append(p.Calls, b.Calls)
		p.Failed = append(p.Failed, b.Failures)
		p.P50 = append(p.P50, measured(b.P50))
		p.P95 = append(p.P95, measured(b.P95))
		p.P99 = append(p.P99, measured(b.P99))
	}
	body, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode chart data: %w", err)
	}
	v.w.Header().Set("Content-Type", "application/json")
	_, _ = v.w.Write(body) // an error means that the browser has disconnected
	return nil
}

// measured returns a latency in milliseconds, or nil if nothing was measured.
func measured(took time.Duration) *float64 {
	if took == 0 {
		return nil
	}
	ms := milliseconds(took)
	return &ms
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
