package cli

import (
	"io"
	"sync/atomic"
)

// checkedWriter remembers the first failed write, because most commands do not check what fmt
// returns. Without it, a list or an export that a full disk has cut off would count as a success.
type checkedWriter struct {
	io.Writer

	failed atomic.Pointer[error]
}

func (w *checkedWriter) Write(text []byte) (int, error) {
	n, err := w.Writer.Write(text)
	if err != nil && !isBrokenPipe(err) { // the reader of a pipe, such as head, may end early
		w.failed.CompareAndSwap(nil, &err)
	}
	return n, err
}

// checkOutput makes Stdout remember a failed write, and returns a function that returns it. A
// terminal stays as it is: it has no such failures, and commands look at its width.
func (p *Program) checkOutput() (failure func() error) {
	if isTerminal(p.Stdout) {
		return func() error { return nil }
	}
	out := &checkedWriter{Writer: p.Stdout}
	p.Stdout = out
	return func() error {
		if err := out.failed.Load(); err != nil {
			return *err
		}
		return nil
	}
}
