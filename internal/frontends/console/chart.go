package console

import (
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"remit/internal/engine/audit/auditindex"
)

// mostStretches is how many points a chart has if its period does not say.
const mostStretches = 60

// chart is calls and their times over time: for the picture and for the table beside it.
type chart struct {
	Source  string // where the script of the page finds the numbers
	Of      string // the tool; "" is all
	Target  time.Duration
	Buckets []auditindex.Bucket // those in which there were calls, newest first
	Stretch time.Duration
}

// Every is how long each stretch is, in words.
func (c *chart) Every() string { return spanWords(c.Stretch) }

// spanWords writes a length of time that people chose, not one that was measured.
func spanWords(d time.Duration) string {
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

// measure measures what the address of a page chooses.
func (v *visit) measure(c chosen) (auditindex.Measures, error) {
	stretches := mostStretches
	if c.Period.Stretch > 0 {
		stretches = int(c.Period.Length / c.Period.Stretch)
		c.To = c.From.Add(c.Period.Length)
	}
	m, err := v.Calls.Measure(v.r.Context(), c.Filter, stretches)
	if err != nil {
		return m, unreadable(err)
	}
	return m, nil
}

func (v *visit) chart(c chosen, buckets []auditindex.Bucket) *chart {
	made := &chart{
		Source: (&url.URL{Path: "/console/calls/series", RawQuery: v.r.URL.RawQuery}).String(),
		Of:     c.Tool, Target: v.served()[c.Tool].Target(), Stretch: c.Period.Stretch,
	}
	if len(buckets) > 1 && made.Stretch == 0 {
		made.Stretch = buckets[1].Start.Sub(buckets[0].Start).Round(time.Second)
	}
	for i := len(buckets) - 1; i >= 0; i-- {
		if buckets[i].Calls > 0 {
			made.Buckets = append(made.Buckets, buckets[i])
		}
	}
	return made
}

// points are the numbers of a chart, as its script takes them: times in milliseconds,
// nothing where there were no calls.
type points struct {
	Start  []int64    `json:"start"` // in seconds
	Calls  []int      `json:"calls"`
	Failed []int      `json:"failed"`
	P50    []*float64 `json:"p50"`
	P95    []*float64 `json:"p95"`
	P99    []*float64 `json:"p99"`
	Target float64    `json:"target"` // zero if there is none
}

// callSeries answers with the numbers of the chart.
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
	// No list is nil: the script takes none that is null.
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
		return fmt.Errorf("encode the numbers of a chart: %w", err)
	}
	v.w.Header().Set("Content-Type", "application/json")
	_, _ = v.w.Write(body) // a browser that is gone needs no answer
	return nil
}

// measured is a time for a chart; nil if there was none to measure.
func measured(took time.Duration) *float64 {
	if took == 0 {
		return nil
	}
	ms := milliseconds(took)
	return &ms
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
