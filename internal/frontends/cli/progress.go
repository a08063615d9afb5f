package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"remit/internal/toolsets/books"
	"remit/internal/visible"
)

// Progress is the state of a long operation.
type Progress struct {
	Done, Total int64  // in bytes, or in Unit; a Total of 0 means unknown
	Unit        string // "" means bytes
	Name        string // the current item
}

// bar is a progress bar. It appears only on a terminal, and only if the operation takes longer than
// barAfter.
type bar struct {
	out      io.Writer
	what     string
	maxWidth int // columns of the terminal; 0 shows nothing
	now      func() time.Time
	begun    time.Time
	drawn    time.Time // zero until it is shown
}

const (
	barAfter = 500 * time.Millisecond // a shorter operation shows no bar
	barEvery = 100 * time.Millisecond
)

// bar returns a progress bar on stderr.
func (p *Program) bar(what string) *bar {
	return &bar{out: unescaped(p.Stderr), what: what, maxWidth: widthOf(p.Stderr), now: time.Now, begun: time.Now()}
}

// update shows the progress.
func (b *bar) update(at Progress) {
	now := b.now()
	if b.maxWidth == 0 || now.Sub(b.begun) < barAfter || now.Sub(b.drawn) < barEvery {
		return
	}
	b.drawn = now
	// Writing the last column would wrap.
	line := cut(visible.Line(b.line(at, now.Sub(b.begun))), b.maxWidth-1)
	fmt.Fprint(b.out, "\r"+line+strings.Repeat(" ", max(b.maxWidth-1-columns(line), 0)))
}

// updateBytes shows the progress of an operation on a book.
func (b *bar) updateBytes(at books.Progress) {
	b.update(Progress{Done: at.Done, Total: at.Total, Name: at.Name})
}

// end removes the bar.
func (b *bar) end() {
	if !b.drawn.IsZero() {
		fmt.Fprint(b.out, "\r"+strings.Repeat(" ", b.maxWidth-1)+"\r")
	}
}

// line returns the text of the bar.
func (b *bar) line(at Progress, took time.Duration) string {
	if at.Total <= 0 {
		return fmt.Sprintf("%s  %s  %s", b.what, at.amount(at.Done), at.Name)
	}
	done := float64(min(at.Done, at.Total)) / float64(at.Total)
	const cells = 20
	full := int(done * cells)
	left := ""
	if done > 0 && done < 1 {
		left = "  " + remaining(time.Duration(float64(took)/done)-took)
	}
	return fmt.Sprintf("%s  [%s%s] %3.0f %%  %s of %s%s  %s", b.what, strings.Repeat("#", full), strings.Repeat(".", cells-full),
		100*done, at.amount(at.Done), at.amount(at.Total), left, at.Name)
}

// amount formats n with the unit.
func (at Progress) amount(n int64) string {
	if at.Unit == "" {
		return size(n)
	}
	return fmt.Sprintf("%d %s", n, at.Unit)
}

// remaining formats the estimated time left, in one unit.
func remaining(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s left", max(int(d.Round(time.Second)/time.Second), 1))
	case d < time.Hour:
		return fmt.Sprintf("%d min left", int(d.Round(time.Minute)/time.Minute))
	default:
		return fmt.Sprintf("%d h left", int(d.Round(time.Hour)/time.Hour))
	}
}

// size formats a number of bytes with a decimal unit.
func size(n int64) string {
	const unit = 1000
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value := float64(n) / unit
	for _, name := range []string{"kB", "MB"} {
		if value < unit-0.05 {
			return fmt.Sprintf("%.1f %s", value, name)
		}
		value /= unit
	}
	return fmt.Sprintf("%.1f GB", value)
}

// progressLines prints the progress as a line every few seconds, where no bar can be shown.
type progressLines struct {
	out     io.Writer
	silent  bool
	printed time.Time
}

const lineEvery = 2 * time.Second

func (l *progressLines) update(p Progress) {
	if l.silent || p.Total == 0 || time.Since(l.printed) < lineEvery {
		return
	}
	l.printed = time.Now()
	fmt.Fprintf(l.out, "remit: indexing: %d of %d %s\n", p.Done, p.Total, p.Unit)
}
