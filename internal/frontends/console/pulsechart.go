package console

import (
	"fmt"
	"slices"
	"strings"

	"remit/internal/engine/audit/auditindex"
)

// spark is a line without axes: the paths of the line, of the area below it, and of a mark for each
// interval with failures, in a box of sparkWidth by sparkHeight.
type spark struct{ Line, Area, Marks string }

const (
	sparkWidth, sparkHeight = 120, 28
	sparkTop, sparkBase     = 3, 26
)

// sparkOf draws numbers, with a mark where failed is not 0.
func sparkOf(numbers, failed []int) spark {
	if len(numbers) < 2 {
		return spark{}
	}
	highest := max(slices.Max(numbers), 1)
	var line, marks strings.Builder
	for i, n := range numbers {
		x := float64(i) * sparkWidth / float64(len(numbers)-1)
		y := sparkBase - float64(n)*(sparkBase-sparkTop)/float64(highest)
		fmt.Fprintf(&line, "%s%.1f %.1f", [2]string{"M", "L"}[min(i, 1)], x, y)
		if failed != nil && failed[i] > 0 {
			fmt.Fprintf(&marks, "M%.1f %dv2", x, sparkBase)
		}
	}
	return spark{line.String(), fmt.Sprintf("%sL%d %dL0 %dZ", line.String(), sparkWidth, sparkHeight, sparkHeight), marks.String()}
}

// stackedChart shows the calls of each interval as a bar, by caller.
type stackedChart struct {
	Width    int
	Layers   []chartLayer // bottom to top
	Failed   string       // the path of the marks under intervals with failures
	Top      int          // the number at the top of the chart
	Highest  int          // the most calls in an interval
	Starts   [3]string    // how long ago it begins, its middle, and its end
	Interval string
}

// chartLayer is the calls of one caller, or of all others.
type chartLayer struct {
	Name, Colour string
	Calls        int
	Path         string
}

// Empty reports whether there are no calls.
func (c *stackedChart) Empty() bool { return c.Highest == 0 }

// Sizes of the chart, in its own units.
const (
	chartHeight = 100
	barStep     = 10
	barWidth    = 8
	// maxLayers is the number of callers that have a layer of their own.
	maxLayers = 5
)

func chartOf(p *auditindex.Pulse, window period) stackedChart {
	c := stackedChart{Width: p.Intervals * barStep, Interval: formatSpan(window.Interval), Starts: [3]string{
		formatSpan(window.Length) + " ago", formatSpan(window.Length/2) + " ago", "now",
	}}
	totals, failed := make([]int, p.Intervals), make([]int, p.Intervals)
	for i := range p.Callers {
		for at, n := range p.Callers[i].Calls {
			totals[at] += n
			failed[at] += p.Callers[i].Failed[at]
		}
	}
	if len(totals) == 0 {
		return c
	}
	c.Highest = slices.Max(totals)
	c.Top = roundUp(c.Highest)
	base := make([]int, p.Intervals)
	shown := min(len(p.Callers), maxLayers)
	for i := range shown {
		caller := &p.Callers[i]
		c.Layers = append(c.Layers, chartLayer{caller.Caller, colourOf(caller.Caller), caller.Total, c.bars(base, caller.Calls)})
	}
	if rest := p.Callers[shown:]; len(rest) > 0 {
		others, total := make([]int, p.Intervals), 0
		for i := range rest {
			total += rest[i].Total
			for at, n := range rest[i].Calls {
				others[at] += n
			}
		}
		c.Layers = append(c.Layers, chartLayer{fmt.Sprintf("%d others", len(rest)), "a0", total, c.bars(base, others)})
	}
	var marks strings.Builder
	for at, n := range failed {
		if n > 0 {
			fmt.Fprintf(&marks, "M%d %dh%dv3h-%dz", at*barStep+1, chartHeight+1, barWidth, barWidth)
		}
	}
	c.Failed = marks.String()
	return c
}

// bars returns the path of the bars of a layer, and adds them to the base of the next one.
func (c *stackedChart) bars(base, calls []int) string {
	var path strings.Builder
	unit := chartHeight / float64(c.Top)
	for at, n := range calls {
		if n == 0 {
			continue
		}
		fmt.Fprintf(&path, "M%d %.2fh%dv-%.2fh-%dz", at*barStep+1, chartHeight-float64(base[at])*unit, barWidth, float64(n)*unit, barWidth)
		base[at] += n
	}
	return path.String()
}

// roundUp returns 1, 2 or 5 times a power of ten that is not less than n, and at least 2.
func roundUp(n int) int {
	for power := 1; ; power *= 10 {
		for _, digit := range []int{1, 2, 5} {
			if digit*power >= max(n, 2) {
				return digit * power
			}
		}
	}
}

// Half returns the number in the middle of the chart.
func (c *stackedChart) Half() string {
	if c.Top%2 == 1 {
		return fmt.Sprintf("%.1f", float64(c.Top)/2)
	}
	return grouped(c.Top / 2)
}

// Words describes the chart for those who do not see it.
func (c *stackedChart) Words(label string, total int) string {
	if c.Empty() {
		return "No calls in the " + label
	}
	return fmt.Sprintf("Calls in the %s, by caller: %s in all, at most %s in %s", label, grouped(total), grouped(c.Highest), c.Interval)
}
