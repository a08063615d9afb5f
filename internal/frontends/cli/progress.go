package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"remit/internal/engine/approval"
	"remit/internal/toolsets/books"
)

// Progress tells how far something is that takes its time.
type Progress struct {
	Done, Total int64  // bytes, or whatever Unit says; a Total of 0 is not known
	Unit        string // empty: bytes
	Name        string // what it is at
}

// bar shows a person how far something is. It appears only on a terminal, and only if
// there is time to look at it.
type bar struct {
	out   io.Writer
	what  string
	room  int // columns; 0 shows nothing
	now   func() time.Time
	begun time.Time
	drawn time.Time // zero until it is shown
}

const (
	barAfter = 500 * time.Millisecond // what is over by then needs none
	barEvery = 100 * time.Millisecond
)

// bar begins a bar on stderr.
func (p *Program) bar(what string) *bar {
	return &bar{out: p.Stderr, what: what, room: widthOf(p.Stderr), now: time.Now, begun: time.Now()}
}

// tell shows how far it is.
func (b *bar) tell(at Progress) {
	now := b.now()
	if b.room == 0 || now.Sub(b.begun) < barAfter || now.Sub(b.drawn) < barEvery {
		return
	}
	b.drawn = now
	line := cut(b.line(at, now.Sub(b.begun)), b.room-1) // the last column would begin a new line
	fmt.Fprint(b.out, "\r"+line+strings.Repeat(" ", max(b.room-1-columns(line), 0)))
}

// tellBytes shows how far something is with a book.
func (b *bar) tellBytes(at books.Progress) {
	b.tell(Progress{Done: at.Done, Total: at.Total, Name: at.Name})
}

// end takes the bar away.
func (b *bar) end() {
	if !b.drawn.IsZero() {
		fmt.Fprint(b.out, "\r"+strings.Repeat(" ", b.room-1)+"\r")
	}
}

// line is what the bar says.
func (b *bar) line(at Progress, took time.Duration) string {
	name := approval.Plain(at.Name)
	if at.Total <= 0 {
		return fmt.Sprintf("%s  %s  %s", b.what, at.amount(at.Done), name)
	}
	done := float64(min(at.Done, at.Total)) / float64(at.Total)
	const cells = 20
	full := int(done * cells)
	left := ""
	if done > 0 && done < 1 {
		left = "  " + remaining(time.Duration(float64(took)/done)-took)
	}
	return fmt.Sprintf("%s  [%s%s] %3.0f %%  %s of %s%s  %s", b.what, strings.Repeat("#", full), strings.Repeat(".", cells-full),
		100*done, at.amount(at.Done), at.amount(at.Total), left, name)
}

// amount writes so much of what is counted.
func (at Progress) amount(n int64) string {
	if at.Unit == "" {
		return size(n)
	}
	return fmt.Sprintf("%d %s", n, at.Unit)
}

// remaining says how long something will take, as exactly as anybody knows.
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

// size writes a number of bytes as people do.
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

// progressLines tells where nobody sees a bar how far something is: a line every few seconds.
type progressLines struct {
	out    io.Writer
	silent bool
	said   time.Time
}

const lineEvery = 2 * time.Second

func (l *progressLines) tell(p Progress) {
	if l.silent || p.Total == 0 || time.Since(l.said) < lineEvery {
		return
	}
	l.said = time.Now()
	fmt.Fprintf(l.out, "remit: indexing: %d of %d %s\n", p.Done, p.Total, p.Unit)
}
